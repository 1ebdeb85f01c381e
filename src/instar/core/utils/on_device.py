"""Arrays that the host has made, put on the device at once.

What is worked out once, before a run, is worked out by NumPy: JAX would compile a program for every
operation and shape. `jax.numpy.asarray` is such a program, too; this is none.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

__all__ = ["on_device"]


def on_device(tree: Any) -> Any:
    """The tree with its NumPy arrays, each copied, as arrays of JAX; all else is as it was."""
    return jax.tree.map(_put, tree)


def _put(leaf: Any) -> Any:
    # A copy: the device may go on to read the memory of the array that it is given.
    return jax.device_put(np.array(leaf)) if isinstance(leaf, np.ndarray | np.generic) else leaf
