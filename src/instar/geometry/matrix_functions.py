"""Exponential and logarithm of small matrices near one, with the derivative of the former.

    eᵁ − 1 = U + U²/2! + U³/3! + …
    log F  = 2 (Z + Z³/3 + Z⁵/5 + …)   with   Z = (F − 1)(F + 1)⁻¹

Both take and return differences from one, so that nothing is lost to rounding where a deformation
is small. They are exact to rounding for ‖U‖ ≤ 1: cells are counted from a reference that moves
along long before.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["exponential", "exponential_derivative", "inverse", "logarithm", "product"]

_TERMS = 20
"""Of either series: 1/20! and tanh(½)⁴¹/41 are below the rounding of double precision."""


def exponential(matrix: Array) -> Array:
    """eᵁ − 1 of matrices U (..., 3, 3), by Taylor's series."""

    def longer(n: Array, total: Array) -> Array:
        order = (_TERMS - n).astype(matrix.dtype)
        return matrix + product(matrix, total) / order

    start = matrix  # U (1 + U/2 (1 + U/3 (…))), from the inside
    return lax.fori_loop(0, _TERMS - 1, longer, start)


def exponential_derivative(matrix: Array, slope: Array) -> Array:
    """Σ_jk (∂e^U/∂U)_jk slope_jk: what a slope by e^U is by U.

    The derivative of e^U along E is L(U, E), and Σ L(U, E)∘G = Σ E∘L(Uᵀ, G).
    """
    turned = jnp.swapaxes(matrix, -1, -2)
    return jax.jvp(exponential, (turned,), (slope,))[1]


def logarithm(change: Array) -> Array:
    """log F of matrices (..., 3, 3), from F − 1."""
    eye = jnp.broadcast_to(jnp.eye(3, dtype=change.dtype), change.shape)
    z = product(change, inverse(change + 2 * eye))
    square = product(z, z)

    def longer(n: Array, total: Array) -> Array:
        order = (2 * (_TERMS - n) - 1).astype(change.dtype)
        return eye / order + product(square, total)

    start = eye / (2 * _TERMS + 1)
    return 2 * product(z, lax.fori_loop(0, _TERMS, longer, start))


def product(left: Array, right: Array) -> Array:
    """Products of 3×3 matrices, term by term: the same on every device."""
    return sum(
        (left[..., :, k, None] * right[..., k, None, :] for k in range(1, 3)),
        left[..., :, 0, None] * right[..., 0, None, :],
    )


def inverse(matrix: Array) -> Array:
    """Inverses of 3×3 matrices, from their rows."""
    a, b, c = (matrix[..., k, :] for k in range(3))
    columns = jnp.stack([jnp.cross(b, c), jnp.cross(c, a), jnp.cross(a, b)], axis=-1)
    determinant = jnp.sum(a * jnp.cross(b, c), axis=-1)
    return columns / determinant[..., None, None]
