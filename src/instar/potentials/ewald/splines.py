"""B-splines for particle-mesh Ewald: what charges are spread with, and what that does to a wave."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

__all__ = ["moduli_of", "multiplicity_of", "splines_of"]


def splines_of(fraction: Array, order: int) -> tuple[Array, Array]:
    """M_p and its derivative at the p points of a window along each axis, (p, particles, 3) each.

    Entry j is M_p(x + p − 1 − j), x the fraction of the way from one mesh point to the next.
    """
    zero = jnp.zeros_like(fraction)
    values = [1 - fraction, fraction]  # order 2
    slopes = [zero, zero]
    for n in range(3, order + 1):
        if n == order:
            slopes = [a - b for a, b in zip([zero, *values], [*values, zero], strict=True)]
        before, after = [*values, zero], [zero, *values]
        # M_n(u) = [u M_(n−1)(u) + (n − u) M_(n−1)(u − 1)]/(n − 1) at u = x + n − 1 − j
        values = [
            ((fraction + (n - 1 - j)) * after[j] + ((1 + j) - fraction) * before[j]) / (n - 1)
            for j in range(n)
        ]
    return jnp.stack(values), jnp.stack(slopes)


@functools.cache
def moduli_of(size: int, order: int) -> np.ndarray:
    """|b(n)|² for n = 0 … size − 1."""
    points = np.zeros(size)
    points[: order - 1] = _spline_at_integers(order)
    return 1 / np.abs(np.fft.fft(points)) ** 2


def _spline_at_integers(order: int) -> np.ndarray:
    """M_p(1) … M_p(p − 1)."""
    values = np.array([1.0])
    for n in range(3, order + 1):
        j = np.arange(1, n)
        before, after = np.append(0, values), np.append(values, 0)
        values = (j * after + (n - j) * before) / (n - 1)
    return values


def multiplicity_of(shape: tuple[int, int, int]) -> np.ndarray:
    """How often each wave of the half transform stands in the full one."""
    count = np.full(shape[2] // 2 + 1, 2.0)
    count[0] = 1
    if shape[2] % 2 == 0:
        count[-1] = 1
    return count
