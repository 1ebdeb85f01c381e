"""`Coordinates`: what is minimized over, of particles and cells, so that methods are written once.

A method knows vectors with one part per particle (particles, 3) and, where cells move, one per
system (systems, 3, 3); every sum is over one system.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass

__all__ = ["Coordinates", "dot", "largest_part", "norm", "only", "times"]


@dataclass
class Coordinates:
    """A vector of generalized coordinates, displacements or forces."""

    particles: Array  # (particles, 3)
    cell: Array | None  # (systems, 3, 3); None where no cell moves

    def __add__(self, other: Coordinates) -> Coordinates:
        return jax.tree.map(jnp.add, self, other)

    def __sub__(self, other: Coordinates) -> Coordinates:
        return jax.tree.map(jnp.subtract, self, other)


def times(factor: Array, vector: Coordinates, state: Any) -> Coordinates:
    """Each system's part multiplied by its number (systems,)."""
    cell = None if vector.cell is None else factor[:, None, None] * vector.cell
    return Coordinates(state.own(factor)[:, None] * vector.particles, cell)


def only(chosen: Array, vector: Coordinates, other: Coordinates, state: Any) -> Coordinates:
    """The vector of chosen systems (systems,), the other one of others."""
    cell = None
    if vector.cell is not None and other.cell is not None:
        cell = jnp.where(chosen[:, None, None], vector.cell, other.cell)
    own = state.own(chosen)[:, None]
    return Coordinates(jnp.where(own, vector.particles, other.particles), cell)


def dot(one: Coordinates, other: Coordinates, state: Any) -> Array:
    """The product (systems,) of two vectors."""
    total = state.sum_over(jnp.sum(one.particles * other.particles, axis=1))
    if one.cell is not None and other.cell is not None:
        total = total + jnp.sum(one.cell * other.cell, axis=(1, 2))
    return total


def norm(vector: Coordinates, state: Any) -> Array:
    """The length (systems,) of the whole vector."""
    return jnp.sqrt(dot(vector, vector, state))


def largest_part(vector: Coordinates, state: Any) -> Array:
    """The longest part (systems,): of one particle, or of one row of the cell, as ASE counts."""
    longest = jnp.sqrt(state.largest(jnp.sum(vector.particles**2, axis=1)))
    if vector.cell is not None:
        rows = jnp.sqrt(jnp.max(jnp.sum(vector.cell**2, axis=2), axis=1))
        longest = jnp.maximum(longest, rows)
    return longest
