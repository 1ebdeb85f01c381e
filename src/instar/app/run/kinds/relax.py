"""Relaxation as a kind of method."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np
from ase import Atoms

from instar.app.api.md_state import fixed_atoms
from instar.app.config.methods.relax import RelaxMethod
from instar.app.evaluation.point import room_for, tabled
from instar.app.evaluation.within_budget import estimated_need
from instar.app.run.kinds.base import Kind
from instar.dynamics import Part
from instar.dynamics.relax import State, start
from instar.dynamics.relax.rows import FRAME, THERMO, frame, thermo_row
from instar.observables import Quantity

__all__ = ["RelaxationKind"]

_NO_LIMIT = 2**31 - 1
"""Steps of a system: the run itself ends, and may be made longer."""


class RelaxationKind(Kind):
    """Systems on their way to a minimum, each until it has ended."""

    METHOD, THERMO, FRAME = RelaxMethod, THERMO, FRAME
    TELLS_END = True  # what has become of systems is told by their last row

    @property
    def method(self) -> RelaxMethod:
        """What all stages have in common."""
        return cast("RelaxMethod", self.loaded.production.method)

    def check(self) -> None:
        """Constraints of structures that are not known here."""
        for number in self.loaded.different(range(len(self.loaded.structures))):
            fixed_atoms(number, self.loaded.structures[number])

    def estimate(self, systems: range) -> int:
        """A quarter of what an evaluation takes, about."""
        numbers = self.loaded.different(systems)
        some = [self.loaded.structures[number] for number in numbers]
        point = tabled(
            some,
            self.loaded.recipe,
            self.loaded.config.precision,
            potential=self.loaded.potentials.of(numbers),
        )
        atoms = self.loaded.atoms_in(systems)
        need = estimated_need(point, room_for(point, self.method.skin))
        return need * atoms // max(1, len(point.particles)) // 4

    def state(self, systems: range, blocks: int | None = None) -> State:
        """Systems as they are given; the first step evaluates them."""
        given = [self.loaded.structures[number] for number in systems]
        method, config = self.method, self.loaded.config
        point = tabled(
            given,
            self.loaded.recipe,
            config.precision,
            potential=self.loaded.potentials.of(systems),
        )
        wanted = [self.loaded.production.wanted(self.loaded.systems[n]) for n in systems]
        fixed = [fixed_atoms(n, atoms) for n, atoms in zip(systems, given, strict=True)]
        state = start(
            point.particles,
            point.systems,
            point.potential,
            cell=method.cell,
            mask=method.mask,
            pressure=np.array([one.pressure or 0.0 for one in wanted]),
            force_tolerance=method.force_tolerance,
            stress_tolerance=method.stress_tolerance,
            steps=_NO_LIMIT,
            fixed=np.concatenate([*fixed, np.zeros(0, bool)]),
            skin=method.skin,
            stresses=any(atoms.cell.rank == 3 for atoms in given),
            streams=np.array(systems),
        )
        if config.memory.neighbors is not None and state.neighbors is not None:
            room = state.neighbors.resized(neighbors=config.memory.neighbors)
            state = dataclasses.replace(state, neighbors=room)
        return state

    def steps(self, systems: range) -> tuple[Part, ...]:
        """The optimizer of each stage."""
        return tuple(cast("RelaxMethod", stage.method).step for stage in self.loaded.stages)

    def placed(self, state: State) -> State:
        """On one device."""
        return jax.device_put(state, jax.local_devices()[0])

    def structures(self, state: State, systems: range) -> list[Atoms]:
        """As they are now."""
        particles, vectors = jax.device_get((state.particles.data, state.systems.data.cell.vectors))
        ends = np.cumsum([0, *(int(self.loaded.counts[number]) for number in systems)])
        found = []
        for n, number in enumerate(systems):
            atoms = self.loaded.structures[number].copy()
            cell = np.where(atoms.cell.array.any(axis=1)[:, None], vectors[n], 0.0)
            atoms.set_cell(np.asarray(cell, float))
            atoms.arrays["positions"][:] = particles.positions[ends[n] : ends[n + 1]]
            found.append(atoms)
        return found

    def thermo_row(self) -> Callable[[Any], dict[str, Any]]:
        """Energies, forces, stresses, and what has become of systems."""
        return thermo_row

    def frame(self) -> Callable[[Any], dict[str, Any]]:
        """Cells, positions, forces, energies and stresses."""
        return frame

    @property
    def frame_columns(self) -> dict[str, Quantity]:
        """All of them."""
        return dict(FRAME)
