"""`AllParticles`: the particles of all systems, side by side."""

from __future__ import annotations

from typing import Any

from jax import Array

from instar.core.data import Index, Table
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry.cell import Cell

__all__ = ["AllParticles"]


@dataclass
class AllParticles:
    """The particles of all systems, side by side: what formulas read.

    A value of systems comes to their particles by a join, ``systems.set_data(values)[system]``,
    and particles are added up by ``system.sum_over(values)``. A row whose system is out of bounds
    is absent: joins fill it with zeros, and sums leave it out.
    """

    positions: Array  # (particles, 3) Å
    system: Index[SystemId]  # the system of each
    particles: Table[ParticleId, Any]  # the tables they come from
    systems: Table[SystemId, Any]

    @staticmethod
    def of(particles: Table[ParticleId, Any], systems: Table[SystemId, Any]) -> AllParticles:
        """From a table of particles and a table of systems."""
        system = particles.data.system.update_labels(systems.vocabulary)
        return AllParticles(particles.data.positions, system, particles, systems)

    @property
    def there(self) -> Array:
        """(particles,) whether the row is a particle."""
        return self.system.valid_mask

    @property
    def cell(self) -> Cell:
        """The cells of the systems."""
        return self.systems.data.cell

    @property
    def count(self) -> int:
        """How many systems there are."""
        return len(self.systems)
