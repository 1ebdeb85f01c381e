"""What a check is made of: its fixed description, and the arrays that go with it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["NEVER", "Check", "Description", "describe"]

NEVER = np.int32(np.iinfo(np.int32).max)
"""The step of a loop at which a check failed that did not fail."""


@dataclasses.dataclass(frozen=True)
class Description:
    """All of a check that is known when tracing.

    Its arrays travel apart, as a flat list: the predicate, the arrays among its arguments, and
    for each loop around it, outermost first, the step at which it first failed.
    """

    message: str
    exception_type: type[Exception]
    fix_fn: Callable[[Any, Any], Any] | None
    place: str
    structure: Any
    constants: tuple[tuple[int, Any], ...]
    """Arguments that are not arrays (numbers, text), by their place among the leaves."""
    key_types: tuple[tuple[int, Any], ...]
    """Arguments that are random keys: they travel as the integers that they are made of."""
    rank: int
    """Dimensions of the predicate as it was written; those in front of them are a batch."""
    loops: tuple[str, ...] = ()

    @property
    def num_values(self) -> int:
        """How many arrays there are among the arguments."""
        return self.structure.num_leaves - len(self.constants)

    def arguments(self, values: Sequence[Any]) -> tuple[dict[str, Any], Any]:
        """``fmt_args`` and ``fix_args``, with these arrays in their places."""
        arrays, constants = iter(values), dict(self.constants)
        leaves = [
            constants[i] if i in constants else next(arrays)
            for i in range(self.structure.num_leaves)
        ]
        for i, kind in self.key_types:
            leaves[i] = jax.random.wrap_key_data(jnp.asarray(leaves[i]), impl=kind)
        return jax.tree.unflatten(self.structure, leaves)

    def when_passed(self, operands: int) -> list[Any]:
        """What its arrays hold where it was not met."""
        return [True, *[0] * self.num_values, *[NEVER] * (operands - 1 - self.num_values)]


class Check(NamedTuple):
    """A description (of one check, or of a record of several) and its arrays."""

    info: Any
    operands: Sequence[Any]

    @property
    def predicate(self) -> Any:
        """Whether it holds, by entry."""
        return self.operands[0]


def describe(
    predicate: Any,
    message: str,
    fmt_args: Mapping[str, Any] | None,
    exception_type: type[Exception],
    fix_fn: Callable[[Any, Any], Any] | None,
    fix_args: Any,
) -> Check:
    """The check of a call of ``runtime_assert``, with the caller's place."""
    predicate = jnp.asarray(predicate)
    if predicate.dtype != bool:
        raise TypeError(
            f"A predicate is boolean, not {predicate.dtype}.\nThe check says {message!r}."
        )
    leaves, structure = jax.tree.flatten((dict(fmt_args or {}), fix_args))
    constants = tuple((i, x) for i, x in enumerate(leaves) if not _is_array(x))
    keys = tuple((i, jax.random.key_impl(x)) for i, x in enumerate(leaves) if _is_key(x))
    values = [_plain(x) for x in leaves if _is_array(x)]
    info = Description(
        message=message,
        exception_type=exception_type,
        fix_fn=fix_fn,
        place=_caller(),
        structure=structure,
        constants=constants,
        key_types=keys,
        rank=predicate.ndim,
    )
    return Check(info, [predicate, *values])


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray)


def _is_key(leaf: Any) -> bool:
    return _is_array(leaf) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(array: Any) -> Any:
    """Numbers only, and without derivatives: a report has none."""
    if _is_key(array):
        return jax.random.key_data(array)
    return jax.lax.stop_gradient(jnp.asarray(array))


_LIBRARIES = (str(Path(__file__).parents[1]) + os.sep, str(Path(jax.__file__).parent) + os.sep)
_WRAPPERS = (contextlib.__file__, functools.__file__)
_CHECKERS = tuple(f"site-packages{os.sep}{name}{os.sep}" for name in ("jaxtyping", "beartype"))


def _caller() -> str:
    """The innermost line of the user's code."""
    frame = outermost = sys._getframe(2)
    while frame is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    code = (frame or outermost).f_code
    return f"{code.co_filename}:{(frame or outermost).f_lineno}, in {code.co_name}"


def _is_library(filename: str) -> bool:
    return (
        filename.startswith((*_LIBRARIES, "<@beartype"))
        or filename in _WRAPPERS
        or any(name in filename for name in _CHECKERS)
    )
