"""`Total`: a sum over very many frames that does not lose what single ones add.

    y = x − c,   t = s + y,   c = (t − s) − y,   s = t

W. Kahan, Comm. ACM 8, 40 (1965). A plain sum in single precision stands still after 2²⁴ equal
frames; here the error stays that of a single addition.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, kahan_summation

__all__ = ["Total"]


@dataclass
class Total:
    """A compensated sum of arrays."""

    sum: Array
    lost: Array  # what the sum is too large by

    @staticmethod
    def zeros(shape: tuple[int, ...], dtype: Any) -> Total:
        """Nothing yet."""
        return Total(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))

    def plus(self, summand: Array, where: Array) -> Total:
        """With one more summand, in the entries that ``where`` names."""
        summed, lost = kahan_summation(self.sum, jnp.where(where, summand, 0), compensate=self.lost)
        return Total(jnp.where(where, summed, self.sum), jnp.where(where, lost, self.lost))

    def __getitem__(self, at: Any) -> Total:
        return Total(self.sum[at], self.lost[at])

    def with_row(self, row: Any, new: Total) -> Total:
        """With one row replaced."""
        return Total(self.sum.at[row].set(new.sum), self.lost.at[row].set(new.lost))

    def mean(self, count: Array) -> Array:
        """The sum over a count of the same shape; NaN where nothing was counted."""
        mean = self.sum / jnp.maximum(count, 1).astype(self.sum.dtype)
        return jnp.where(count > 0, mean, jnp.nan)

    def on_host(self) -> np.ndarray:
        """The sum in float64, with the digits that its own type has no room for."""
        return np.asarray(self.sum, np.float64) - np.asarray(self.lost, np.float64)
