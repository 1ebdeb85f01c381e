"""`State`: what relaxation moves, as tables of particles and systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import Index, Table
from instar.core.lens import lens
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field, is_traced
from instar.dynamics.relax.outcomes import EMPTY, GOING
from instar.dynamics.state import DynamicState
from instar.geometry import AllParticles, Cell
from instar.neighbors import NeighborList
from instar.potentials import Potential

__all__ = ["NEIGHBORS", "Particles", "State", "Systems"]


@dataclass
class Particles:
    """Columns of the table of particles.

    Positions are never wrapped. Rows that are no particle have a system out of bounds.
    """

    positions: Array  # (particles, 3) Å
    forces: Array  # (particles, 3) eV/Å, at the positions; zero where a particle is fixed
    charges: Array  # (particles,) e; NaN where none were given
    system: Index[SystemId]
    labels: Index[Label]
    number: Array  # (particles,) int32: which one of its system it is
    fixed: Array  # (particles,) whether it never moves
    suspect: Array  # (particles,) whether it was no longer finite when its system was frozen


@dataclass
class Systems:
    """Columns of the table of systems.

    A system whose potential was never evaluated (``evaluations`` 0) is not moved by its first step:
    it is evaluated where it is.
    """

    cell: Cell
    reference: Array  # (systems, 3, 3) Å: vectors of the cell that a deformation is counted from
    atoms: Array  # (systems,) how many, as a number with digits; 1 where there are none
    pressure: Array  # (systems,) eV/Å³
    mask: Array  # (systems, 3, 3) which components of the strain may change
    force_tolerance: Array  # (systems,) eV/Å
    stress_tolerance: Array  # (systems,) eV/Å³
    most: Array  # (systems,) uint32: steps that it may make
    stream: Array  # (systems,) uint32: names a system
    energy: Array  # (systems,) eV
    virial: Array  # (systems, 3, 3) eV; zero where neither cells move nor stresses are asked for
    steps: Array  # (systems,) uint32: steps made
    evaluations: Array  # (systems,) uint32: how often forces were worked out for it
    outcome: Array  # (systems,) int32: see `instar.dynamics.relax.outcomes`
    frozen: Array  # (systems,) whether it is no longer finite and is left as it was before
    frozen_at: Array  # (systems,) uint32: the step that could not be made


@dataclass
class State(DynamicState):
    """Systems on their way to a minimum; made by `start`, prepared by the ``begin`` of a method.

    ``step`` is the number of the next step, of all systems; each counts its own. ``optimizer``
    holds what the method keeps of each particle and each system. Steps stop once systems of so many
    atoms as ``rest`` says have ended; what has ended before it was emptied counts.
    """

    CHANGED: ClassVar[tuple[str, ...]] = ("particles", "systems", "neighbors", "optimizer", "step")
    ADVICE: ClassVar[str] = "Look for atoms that are at the same place, or far too close."

    particles: Table[ParticleId, Particles]
    systems: Table[SystemId, Systems]
    potential: Potential
    neighbors: NeighborList | None
    step: Array
    rest: Array
    optimizer: Any = None
    observed: Any = None
    cell: str = field(static=True, default="fixed")
    stresses: bool = field(static=True, default=False)

    def __repr__(self) -> str:
        known = not is_traced((self.step, self.systems.data.outcome))
        going = int(np.count_nonzero(np.asarray(self.going))) if known else "some"
        return (
            f"State of relaxation\n  systems: {len(self.systems)}, of which {going} go on\n"
            f"  particles: {len(self.particles)}, {self.dtype}\n  cell: {self.cell}"
        )

    @property
    def everyone(self) -> AllParticles:
        """The particles as bare arrays."""
        return AllParticles.of(self.particles, self.systems)

    @property
    def dtype(self) -> Any:
        """The precision."""
        return self.particles.data.positions.dtype

    @property
    def moves_cell(self) -> bool:
        """Whether cells change."""
        return self.cell != "fixed"

    @property
    def going(self) -> Array:
        """(systems,) whether a system is still on its way."""
        return (self.systems.data.outcome == GOING) & ~self.systems.data.frozen

    @property
    def enthalpy(self) -> Array:
        """E + pV (systems,) in eV: what is minimized; the energy where cells do not move."""
        known = self.systems.data
        if not self.moves_cell:
            return known.energy
        return known.energy + known.pressure * known.cell.volume

    def own(self, of_systems: Array) -> Array:
        """Values of systems, each beside its particles."""
        return self.systems.set_data(of_systems).beside(self.particles.data.system)

    def sum_over(self, of_particles: Array) -> Array:
        """Values of particles added up by system."""
        return self.particles.data.system.sum_over(of_particles).data

    def largest(self, of_particles: Array) -> Array:
        """The largest of values (particles,), none below zero, by system."""
        count = len(self.systems)
        zeros = jnp.zeros(count, of_particles.dtype)
        rows = self.particles.data.system.update_labels(self.systems.vocabulary).indices
        return zeros.at[rows].max(of_particles, mode="drop")

    def with_particles(self, **columns: Any) -> State:
        """The state with other columns of particles."""
        return self.with_columns("particles", **columns)

    def vital(self) -> dict[str, Any]:
        """Positions and forces; cells, energies and virials."""
        particles, systems = self.particles.data, self.systems.data
        return {
            "particles": (particles.positions, particles.forces),
            "systems": (systems.cell.vectors, systems.energy, systems.virial),
        }

    def stride(self, step: Any, key: Array, first: Any, last: Any) -> tuple[Any, Any]:
        """The state after one step; after it no more are made if none goes on, or enough ended."""
        first, last = (jnp.asarray(number, jnp.uint32) for number in (first, last))
        state = step(jax.random.fold_in(key, first), self)
        known, going = state.systems.data, state.going
        ended = jnp.sum(jnp.where(~going & (known.outcome != EMPTY), known.atoms, 0))
        goes_on = jnp.any(going) & (ended < state.rest)
        left = jnp.where(goes_on | jnp.isfinite(state.rest), 0, last - first - 1)
        state = dataclasses.replace(state, step=state.step + left)
        return state, jnp.where(goes_on, first + 1, last)

    @property
    def makes_strides(self) -> bool:
        """Once no system goes on, all steps that are left are one."""
        return True

    @property
    def sizes(self) -> dict[str, int]:
        """The room of the neighbor list."""
        return {} if self.neighbors is None else dataclasses.asdict(self.neighbors.sizes)

    def resized(self, sizes: Mapping[str, int]) -> State:
        """With the room that a list had."""
        if set(sizes) != set(self.sizes):
            raise ValueError("There is a neighbor list in one of the two, but not in both.")
        return (
            self if self.neighbors is None else NEIGHBORS.set(self, self.neighbors.resized(**sizes))
        )


NEIGHBORS = lens(lambda state: state.neighbors, cls=State)
