"""Distances, angles and dihedral angles from displacements (n, 3), with derivatives that are safe.

Where a direction is undefined (a length of zero, three atoms on a line) the derivative by it is
taken as zero, so that values and derivatives of any order are finite numbers.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

__all__ = ["angle", "cosine", "dihedral", "length"]

_ON_A_LINE = 64
"""Sine of an angle, in units of the precision, below which its plane is rounding error."""


def length(vector: Array) -> Array:
    """|v| (n,), with a derivative of zero where it is zero."""
    squared = jnp.sum(vector * vector, axis=-1)
    there = squared > 0
    return jnp.where(there, jnp.sqrt(jnp.where(there, squared, 1)), 0)


def angle(first: Array, second: Array) -> Array:
    """θ between two vectors, 0 … π; accurate at both ends, unlike an arc cosine.

    θ = atan2(|a × b|, a·b)
    """
    across, along = length(jnp.cross(first, second)), _dot(first, second)
    there = (across > 0) | (along != 0)
    return jnp.arctan2(across, jnp.where(there, along, 1))


def cosine(first: Array, second: Array) -> Array:
    """cos θ between two vectors.

    cos θ = a·b / |a||b|
    """
    size = length(first) * length(second)
    return jnp.where(size > 0, _dot(first, second) / jnp.where(size > 0, size, 1), 1)


def dihedral(first: Array, second: Array, third: Array) -> Array:
    """φ of three consecutive bonds, −π … π: clockwise positive, looking along the middle bond.

    φ = atan2(|b₂| b₁·(b₂ × b₃), (b₁ × b₂)·(b₂ × b₃)); cis is 0, trans is π (IUPAC)

    Where three atoms lie on a line, to rounding, φ is undefined: it is taken as 0, without slope.
    """
    before, after = jnp.cross(first, second), jnp.cross(second, third)
    across = length(second) * _dot(first, after)
    along = _dot(before, after)
    plane = _spans(before, first, second) & _spans(after, second, third)
    return jnp.arctan2(jnp.where(plane, across, 0), jnp.where(plane, along, 1))


def _dot(first: Array, second: Array) -> Array:
    return jnp.sum(first * second, axis=-1)


def _spans(product: Array, first: Array, second: Array) -> Array:
    """Whether two vectors span a plane: |a × b| > ε |a||b|."""
    smallest = (_ON_A_LINE * jnp.finfo(product.dtype).eps) ** 2
    return _dot(product, product) > smallest * _dot(first, first) * _dot(second, second)
