"""`State`: what molecular dynamics moves, as tables of particles and systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from jax import Array

from instar.core.data import Index, Table
from instar.core.lens import lens
from instar.core.typing import GroupId, Label, ParticleId, SystemId
from instar.core.utils.html_text import html_table
from instar.core.utils.jax import dataclass, is_traced
from instar.dynamics.state import DynamicState
from instar.geometry import AllParticles, Cell
from instar.neighbors import NeighborList
from instar.potentials import Potential
from instar.potentials.constraints import Constraints

__all__ = ["NEIGHBORS", "Particles", "State", "Systems"]


@dataclass
class Particles:
    """Columns of the table of particles.

    Positions are never wrapped, so that displacements can be read off them and molecules stay
    whole. Rows that are no particle have a system out of bounds.
    """

    positions: Array  # (particles, 3) Å
    velocities: Array  # (particles, 3) Å/time
    forces: Array  # (particles, 3) eV/Å, at the positions; zero where a particle is fixed
    masses: Array  # (particles,) amu
    charges: Array  # (particles,) e; NaN where none were given
    system: Index[SystemId]
    labels: Index[Label]
    molecule: Index[GroupId]  # what a barostat moves as one; an atom may be one on its own
    number: Array  # (particles,) int32: which one of its system it is
    fixed: Array  # (particles,) whether it never moves
    suspect: Array  # (particles,) whether it was no longer finite when its system was frozen


@dataclass
class Systems:
    """Columns of the table of systems."""

    cell: Cell
    stream: Array  # (systems,) uint32: names the random numbers of a system
    held: Array  # (systems,) whether the centre of mass is held at rest
    degrees: Array  # (systems,) degrees of freedom
    heat: Array  # (systems,) eV that thermostats and barostats have put in
    energy: Array  # (systems,) eV, potential energy; as of the last step that asked for it
    virial: Array  # (systems, 3, 3) eV, likewise
    stored: Array  # (systems,) eV that the step stores: it belongs to what is conserved
    frozen: Array  # (systems,) whether the system has exploded and is left as it was before
    frozen_at: Array  # (systems,) uint32: the step that could not be made
    thermostat: Any = None  # columns of the method's own
    barostat: Any = None


@dataclass
class State(DynamicState):
    """Systems in motion, with all that a step needs; made by `start`.

    ``step`` is the number of the next step. ``observed`` holds what is measured on the way. With a
    ``division`` steps move blocks of systems, and ``neighbors`` has a leading axis of blocks.
    """

    CHANGED: ClassVar[tuple[str, ...]] = ("particles", "systems", "neighbors", "step")
    ADVICE: ClassVar[str] = (
        "Make the time step smaller (or the time constant of a barostat larger), or relax the "
        "structure first."
    )

    particles: Table[ParticleId, Particles]
    systems: Table[SystemId, Systems]
    potential: Potential
    constraints: Constraints
    neighbors: NeighborList | None
    step: Array
    observed: Any = None
    division: Any = None

    def __repr__(self) -> str:
        lines = (f"{name}: {text}" for name, text in self._shown())
        return "\n  ".join(["State of molecular dynamics", *lines])

    def _repr_html_(self) -> str:
        return html_table("State of molecular dynamics", (), self._shown())

    def _shown(self) -> list[tuple[str, Any]]:
        """What a reader wants to know first."""
        known = not is_traced((self.step, self.systems.data.frozen))
        frozen = np.flatnonzero(self.systems.data.frozen).tolist() if known else []
        listed = "none" if self.neighbors is None else f"room for {self.neighbors.sizes.neighbors}"
        found = [
            ("systems", len(self.systems)),
            ("particles", f"{len(self.particles)}, {self.dtype}"),
            ("step", int(self.step) if known else "traced"),
            ("potential", type(self.potential).__name__),
            ("neighbors", listed),
            ("observed", ", ".join(getattr(self.observed, "observers", {})) or "nothing"),
        ]
        return [*found, ("frozen", frozen)] if frozen else found

    @property
    def everyone(self) -> AllParticles:
        """The particles as bare arrays."""
        return AllParticles.of(self.particles, self.systems)

    @property
    def dtype(self) -> Any:
        """The precision."""
        return self.particles.data.positions.dtype

    def with_particles(self, **columns: Any) -> State:
        """The state with other columns of particles."""
        return self.with_columns("particles", **columns)

    def vital(self) -> dict[str, Any]:
        """Positions, velocities, forces; the cell, and what thermostats and barostats keep."""
        particles, systems = self.particles.data, self.systems.data
        return {
            "particles": (particles.positions, particles.velocities, particles.forces),
            "systems": (systems.cell.vectors, systems.heat, systems.thermostat, systems.barostat),
        }

    def accounted(self, stored: Array) -> State:
        """With what the step stores."""
        return self.with_systems(stored=stored)

    @property
    def makes_strides(self) -> bool:
        """Whether blocks make one step after the other."""
        return self.division is not None

    def stride(self, step: Any, key: Array, first: Any, last: Any) -> tuple[Any, Any]:
        """After one step; after all of them, where blocks make one step after the other."""
        if not self.makes_strides:
            return super().stride(step, key, first, last)
        from instar.dynamics.md.divided import advanced  # which is built on states

        moved = advanced(step, key, self, first, last)
        return dataclasses.replace(moved, step=self.step + (last - first)), last

    @property
    def sizes(self) -> dict[str, int]:
        """The room of the neighbor list."""
        return {} if self.neighbors is None else dataclasses.asdict(self.neighbors.sizes)

    def resized(self, sizes: Mapping[str, int]) -> State:
        """With the room that a list had."""
        if set(sizes) != set(self.sizes):
            raise ValueError("There is a neighbor list in one of the two, but not in both.")
        if self.neighbors is None:
            return self
        return NEIGHBORS.set(self, self.neighbors.resized(**sizes))


NEIGHBORS = lens(lambda state: state.neighbors, cls=State)
