"""Numbers that a node holds as its parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["as_parameter"]


def as_parameter(value: Any) -> Any:
    """A floating-point array, as it is or as NumPy makes it: it may be differentiated by."""
    is_array = isinstance(value, jax.Array | np.ndarray)
    if is_array and jnp.issubdtype(value.dtype, jnp.inexact):
        return value
    return value.astype(float) if isinstance(value, jax.Array) else np.asarray(value, float)
