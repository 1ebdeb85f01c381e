"""Molecular dynamics as a kind of method."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, cast

import jax
import numpy as np
from ase import Atoms
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from instar.app.api.md_state import fixed_atoms, state_of
from instar.app.config.methods.md import MdMethod
from instar.app.config.stages import Stage, start_of
from instar.app.config.systems import Wanted
from instar.app.evaluation.point import room_for, tabled
from instar.app.evaluation.within_budget import estimated_need
from instar.app.run.kinds.base import Kind
from instar.dynamics import Part, md
from instar.dynamics.beginning import listed
from instar.dynamics.md.divided import Division, divided
from instar.dynamics.md.dividing import can_be_divided, fastest_blocks, packed
from instar.dynamics.md.rows import FRAME, THERMO, Frame, thermo_row
from instar.observables import Quantity
from instar.potentials.pair_kernel import has_kernels

__all__ = ["MolecularDynamics"]


class MolecularDynamics(Kind):
    """Particles that move by their forces."""

    METHOD, THERMO, FRAME = MdMethod, THERMO, FRAME

    @property
    def skin(self) -> float:
        """How far beyond the cutoff neighbors are listed (Å), in all stages."""
        return _method(self.loaded.production).skin

    def check(self) -> None:
        """Constraints of structures that are not known here."""
        for number in self.loaded.different(range(len(self.loaded.structures))):
            fixed_atoms(number, self.loaded.structures[number])

    def estimate(self, systems: range) -> int:
        """A quarter of what an evaluation takes, about: no more than a state of any method."""
        config, numbers = self.loaded.config, self.loaded.different(systems)
        some = [self.loaded.structures[number] for number in numbers]
        potential = self.loaded.potentials.of(numbers)
        point = tabled(some, self.loaded.recipe, config.precision, potential=potential)
        room = room_for(point, self.skin)
        if room is not None:
            asked = config.memory.neighbors or 0
            room = dataclasses.replace(room, neighbors=max(room.neighbors, asked))
        atoms = self.loaded.atoms_in(systems)
        return estimated_need(point, room) * atoms // max(1, len(point.particles)) // 4

    def state(self, systems: range, blocks: int | None = None) -> md.State:
        """Systems with their velocities, without forces."""
        config = self.loaded.config
        state = state_of(
            [self.loaded.structures[number] for number in systems],
            self.loaded.recipe,
            [self._first_temperature(number) for number in systems],
            config.seed,
            config.precision,
            {
                "skin": self.skin,
                "streams": np.array(systems),
                "forces": False,
            },
            potential=self.loaded.potentials.of(systems),
        )
        groups = self._groups(state, systems, blocks)
        if groups is not None:
            mesh = _mesh(math.gcd(len(groups), jax.local_device_count()))
            division = Division.of(state, groups, mesh)
            return divided(state, division, self.skin, config.memory.neighbors)
        state = self._shared(state)
        if config.memory.neighbors is not None and state.neighbors is not None:
            room = state.neighbors.resized(neighbors=config.memory.neighbors)
            state = dataclasses.replace(state, neighbors=room)
        return state

    def _shared(self, state: md.State) -> md.State:
        """With rows of the list shared by all devices, unless kernels share the cores themselves.

        One device is faster then: what is not between neighbors is done once, and nothing gathered.
        """
        alone = jax.default_backend() == "cpu" and has_kernels(state.potential, state.everyone)
        if state.neighbors is None or alone or (mesh := _mesh()) is None:
            return state
        known = (state.particles, state.systems, state.potential)
        return dataclasses.replace(state, neighbors=listed(*known, self.skin, {"mesh": mesh}))

    def _groups(
        self, state: md.State, systems: range, blocks: int | None
    ) -> list[np.ndarray] | None:
        """The systems of each block; None if they move together."""
        if blocks == 0 or not can_be_divided(state):
            return None
        counts = self.loaded.counts[systems.start : systems.stop]
        if blocks is not None:
            return packed(counts, blocks)
        return fastest_blocks(counts, jax.local_device_count())

    def blocks_of(self, state: md.State) -> int:
        """In how many blocks the systems of a state move; 0 if they move together."""
        return 0 if state.division is None else state.division.blocks

    def _first_temperature(self, system: int) -> float | None:
        """What velocities are drawn for (K); None where a structure keeps those that it has."""
        if start_of(self.loaded.data) is not None:
            return None
        return self.loaded.stages[0].wanted(self.loaded.systems[system]).temperature

    def steps(self, systems: range) -> tuple[Part, ...]:
        """The step of each stage, for the conditions of the systems during it."""
        return tuple(self._step(stage, systems) for stage in self.loaded.stages)

    def _step(self, stage: Stage, systems: range) -> Part:
        """A thermostat brings systems to their temperature where the method would not."""
        wanted = [stage.wanted(self.loaded.systems[number]) for number in systems]
        hot, pressures, last_hot, last_pressures = (
            np.array([np.nan if value is None else value for value in column])
            for column in zip(*map(_conditions, wanted), strict=True)
        )
        method = _method(stage)
        unknown = any(one.temperature is None for one in self.loaded.systems)  # not of this batch
        if stage.settles and not unknown:
            settling = method.settling(hot, self.loaded.units.reduced)
            if settling is not None:
                return settling
        return method.step(
            _followed(hot, last_hot, stage.ramp), _followed(pressures, last_pressures, stage.ramp)
        )

    def ready(self, state: md.State) -> md.State:
        """With forces."""
        return md.computed(state)

    def placed(self, state: md.State) -> md.State:
        """A list may be divided among devices; all else is on each of them."""
        neighbors = state.neighbors
        if state.division is not None:
            return state.division.placed(state)
        if neighbors is None or neighbors.mesh is None:
            return jax.device_put(state, jax.local_devices()[0])
        everywhere = jax.device_put(state, NamedSharding(neighbors.mesh, PartitionSpec()))
        return dataclasses.replace(everywhere, neighbors=neighbors.placed())

    def structures(self, state: md.State, systems: range) -> list[Atoms]:
        """With their velocities, and the cells that barostats have made of them."""
        particles, vectors = jax.device_get((state.particles.data, state.systems.data.cell.vectors))
        ends = np.cumsum([0, *(int(self.loaded.counts[number]) for number in systems)])
        found = []
        for n, number in enumerate(systems):
            rows = slice(ends[n], ends[n + 1])
            atoms = self.loaded.structures[number].copy()
            atoms.set_constraint(self.loaded.structures[number].constraints)
            cell = np.where(atoms.cell.array.any(axis=1)[:, None], vectors[n], 0.0)
            atoms.set_cell(np.asarray(cell, float))
            atoms.arrays["positions"][:] = particles.positions[rows]
            velocities = np.asarray(particles.velocities[rows], float)
            atoms.set_array("momenta", velocities * atoms.get_masses()[:, None])
            found.append(atoms)
        return found

    def thermo_row(self) -> Callable[[Any], dict[str, Any]]:
        """Energies, temperature, pressure, density."""
        return thermo_row

    def frame(self) -> Callable[[Any], dict[str, Any]]:
        """Cells and positions, velocities on request."""
        return Frame(self.loaded.config.output.velocities)

    @property
    def frame_columns(self) -> dict[str, Quantity]:
        """Without velocities, if they were not asked for."""
        without = set() if self.loaded.config.output.velocities else {"velocities"}
        return {name: known for name, known in FRAME.items() if name not in without}


def _method(stage: Stage) -> MdMethod:
    return cast("MdMethod", stage.method)


def _followed(first: np.ndarray, last: np.ndarray, over: range) -> np.ndarray | md.Ramp:
    """Conditions of systems, as a ramp over some steps where the last ones are known."""
    if np.isnan(last).all():
        return first
    return md.Ramp(first, np.where(np.isnan(last), first, last), over.start, over.stop)


def _conditions(wanted: Wanted) -> tuple[float | None, ...]:
    """Temperature (K) and pressure at first, and at last where they are ramps."""
    first = (wanted.temperature, wanted.pressure)
    return (*first, wanted.last_temperature, wanted.last_pressure)


def _mesh(most: int | None = None) -> Mesh | None:
    """The devices, or so many of them; None if it is one."""
    devices = jax.local_devices()[:most]
    return Mesh(np.array(devices), ("rows",)) if len(devices) > 1 else None
