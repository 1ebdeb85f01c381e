"""`System`: particles in their systems as bare arrays, and sums over each system."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.capacity import sum_over_capacity
from instar.core.utils.jax import dataclass
from instar.geometry.cell import Cell

__all__ = ["System", "per_system"]


@dataclass
class System:
    """Particles and systems as bare arrays: what formulas read."""

    positions: Array  # (particles, 3)
    system: Array  # (particles,) int32, in bounds
    there: Array  # (particles,) whether the row is a particle
    cell: Cell
    particles: Any  # the tables they come from
    systems: Any

    @staticmethod
    def of(particles: Any, systems: Any) -> System:
        """From a table of particles and a table of systems."""
        cell = systems.data.cell
        index = particles.data.system.indices
        there = (index >= 0) & (index < cell.vectors.shape[0])
        system = jnp.where(there, index, 0).astype(jnp.int32)
        return System(particles.data.positions, system, there, cell, particles, systems)

    @property
    def count(self) -> int:
        """How many systems there are."""
        return self.cell.vectors.shape[0]


def per_system(values: Array, system: System) -> Array:
    """Sums over the particles of each system: (particles, ...) → (systems, ...).

    Particles are dealt out to a few lanes by their number, so that no partial sum is long and the
    result does not depend on room for particles.
    """
    lanes = max(16, 256 // max(1, system.count))
    there = system.there.reshape(-1, *(1,) * (values.ndim - 1))
    values = jnp.where(there, values, 0)
    if system.count == 1:  # the same sums without a scatter
        room = [(0, -values.shape[0] % lanes), *[(0, 0)] * (values.ndim - 1)]
        dealt = jnp.pad(values, room).reshape(-1, lanes, *values.shape[1:])
        return sum_over_capacity(jnp.sum(dealt, axis=0), axis=0)[None]
    lane = jnp.arange(values.shape[0], dtype=jnp.int32) % lanes
    sums = jnp.zeros((system.count, lanes, *values.shape[1:]), values.dtype)
    return sum_over_capacity(sums.at[system.system, lane].add(values), axis=1)
