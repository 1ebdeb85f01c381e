"""The precision of data, whatever JAX's switch says where it is used."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

__all__ = ["in_precision", "precision_of"]


def precision_of(tree: Any) -> contextlib.AbstractContextManager[Any]:
    """A context in which the numbers of a tree keep their digits: double precision is on if needed.

    Where ``jax_enable_x64`` is off, JAX cuts doubles to single precision in most operations. A
    state that has a ``dtype`` of its own is asked for that: parameters may have more digits.
    """
    leaves = jax.tree.leaves(tree, is_leaf=lambda node: hasattr(node, "dtype"))
    double = any(getattr(leaf, "dtype", None) == np.float64 for leaf in leaves)
    return jax.enable_x64(True) if double else contextlib.nullcontext()


def in_precision[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: the function works in the precision of its arguments; see `precision_of`."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with precision_of((args, kwargs)):
            return function(*args, **kwargs)

    return wrapped
