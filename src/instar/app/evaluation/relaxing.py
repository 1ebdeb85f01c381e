"""Relaxation in flight: structures that wait, and a state that some of them are relaxed in."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.evaluation.in_flight import Room
from instar.app.evaluation.point import Point
from instar.app.evaluation.within_budget import PLENTY, estimated_need
from instar.core.data import Index, Table
from instar.core.propagator import advance
from instar.core.propagator.advance import program
from instar.core.typing import ParticleId, SystemId
from instar.dynamics.relax import Relaxation, State, start
from instar.dynamics.relax.outcomes import CONVERGED, EMPTY, FROZEN, GOING, NAMES
from instar.memory import need_of
from instar.neighbors import Sizes
from instar.neighbors.extents import extents
from instar.neighbors.sizes import estimate, image_room

__all__ = ["Ended", "Relaxing"]

_REST = 0.15
"""The part of all rows that may be at rest before those who wait are let in."""

_COPIES = 5
"""Of a state, while it is advanced: that before a chunk, one from not long ago, that of a step."""

_CHUNK = 100
"""Steps after which the host looks in any case."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """What has become of a structure."""

    positions: np.ndarray
    vectors: np.ndarray
    energy: float
    forces: np.ndarray
    virial: np.ndarray
    steps: int
    evaluations: int
    outcome: str
    suspects: tuple[int, ...]


@dataclasses.dataclass
class Relaxing:
    """Structures on the host, as columns, and how they are relaxed."""

    point: Point
    method: Relaxation
    options: dict[str, Any]  # of `start`: one value, or one per structure
    fixed: np.ndarray
    skin: float

    @property
    def atoms(self) -> np.ndarray:
        """Of each structure."""
        return self._atoms

    @property
    def images(self) -> np.ndarray:
        """Rows for images that each structure takes, about."""
        return self._images

    @functools.cached_property
    def _atoms(self) -> np.ndarray:
        return np.bincount(self._system, minlength=self.count)

    @property
    def count(self) -> int:
        """How many structures there are."""
        return len(self.point.systems)

    @functools.cached_property
    def _system(self) -> np.ndarray:
        return np.asarray(self.point.particles.data.system.indices)

    @functools.cached_property
    def _starts(self) -> np.ndarray:
        return np.cumsum(self.atoms) - self.atoms

    @functools.cached_property
    def _images(self) -> np.ndarray:
        if self.point.potential.reach is None:
            return np.zeros(self.count, np.int64)
        known = self._extents
        each = np.maximum(known.counts, np.ceil(image_room(known.images)))
        return each.astype(np.int64)

    @functools.cached_property
    def _extents(self) -> Any:
        data, cell = self.point.particles.data, self.point.systems.data.cell
        reach = np.full(self.count, float(np.max(self.point.potential.reach)) + self.skin)
        return extents(np.asarray(data.positions), self._system, cell, reach)

    def empty(self, room: Room) -> State:
        """A state with that room, and nobody in it."""
        data, cell = self.point.particles.data, self.point.systems.data.cell
        positions = np.zeros((room.atoms, 3), data.positions.dtype)
        system = np.full(room.atoms, room.systems, np.int32)
        rows = dataclasses.replace(
            data,
            positions=jnp.asarray(positions),
            system=Index.integer(system, n=room.systems, label=SystemId),
            labels=dataclasses.replace(
                data.labels, indices=jnp.zeros(room.atoms, data.labels.indices.dtype)
            ),
            charges=jnp.zeros(room.atoms, data.charges.dtype),
        )
        vectors = np.broadcast_to(np.eye(3, dtype=positions.dtype), (room.systems, 3, 3))
        none = np.zeros((room.systems, 3), bool)
        boxes = dataclasses.replace(
            cell,
            vectors=jnp.asarray(vectors),
            periodic=jnp.asarray(none),
            bounded=jnp.ones(room.systems, bool),
        )
        sizes: dict[str, Any] = {}
        if self.point.potential.reach is not None:
            known = dataclasses.replace(estimate(self._extents), images=room.images)
            sizes = {"sizes": Sizes(**dataclasses.asdict(known))}
        state = start(
            Table.arange(rows, label=ParticleId),
            Table.arange(dataclasses.replace(self.point.systems.data, cell=boxes), label=SystemId),
            self.point.potential,
            cell=self.options["cell"],
            stresses=self.options["stresses"],
            force_tolerance=1.0,
            stress_tolerance=1.0,
            skin=self.skin,
            **sizes,
        )
        return self.method.begin(state)

    def need(self, state: State, limit: int) -> int:
        """Bytes that the program for a state like this takes, its history among them.

        Where there is plenty an estimate does; else the compiler is asked.
        """
        room = None if state.neighbors is None else state.neighbors.sizes
        held = sum(leaf.nbytes for leaf in jax.tree.leaves(state) if hasattr(leaf, "nbytes"))
        evaluated = Point(state.potential, state.particles, state.systems, None)  # pyright: ignore[reportArgumentType]
        estimate = _COPIES * held + estimated_need(evaluated, room)
        if state.potential.has_known_cost and estimate <= PLENTY * limit:
            return estimate
        return need_of(program(self.method, jax.random.key(0), state).compile()).bytes

    def without_atoms(self, item: int) -> Ended:
        """A structure without atoms, which has converged as it is."""
        vectors = np.asarray(self.point.systems.data.cell.vectors)[item]
        none = np.zeros((0, 3))
        return Ended(none, vectors, 0.0, none, np.zeros((3, 3)), 0, 0, "converged", ())

    # Passengers ---------------------------------------------------------------------------

    def put(
        self, state: State, items: list[int], slots: list[int], rows: list[np.ndarray]
    ) -> State:
        """The state with these structures as they begin."""
        at = np.concatenate(rows)
        those, into = np.asarray(items), np.asarray(slots)
        own = np.concatenate([self._starts[n] + np.arange(self.atoms[n]) for n in items])
        given = self.point.particles.data
        counts = self.atoms[those]
        particles = _written(
            state.particles.data,
            at,
            {
                "positions": np.asarray(given.positions)[own],
                "forces": 0,
                "charges": np.asarray(given.charges)[own],
                "number": np.concatenate([np.arange(n) for n in counts]),
                "fixed": self.fixed[own],
                "suspect": False,
            },
        )
        particles = dataclasses.replace(
            particles,
            system=_reindexed(particles.system, at, np.repeat(into, counts)),
            labels=_reindexed(particles.labels, at, np.asarray(given.labels.indices)[own]),
        )
        cell = self.point.systems.data.cell
        box = {
            name: np.asarray(getattr(cell, name))[those]
            for name in ("vectors", "periodic", "bounded")
        }
        systems = state.systems.data
        zero = dict.fromkeys(("energy", "virial", "steps", "evaluations", "frozen_at"), 0)
        names = ("pressure", "mask", "force_tolerance", "stress_tolerance")
        systems = _written(
            dataclasses.replace(systems, cell=_written(systems.cell, into, box)),
            into,
            {
                **zero,
                **{name: self.options[name][those] for name in names},
                "reference": box["vectors"],
                "atoms": np.maximum(counts, 1),
                "most": self.options["steps"][those],
                "stream": those,
                "outcome": np.where(counts > 0, GOING, CONVERGED),
                "frozen": False,
            },
        )
        return state.with_tables({"particles": particles, "systems": systems})

    def ended(self, state: State) -> np.ndarray:
        """(slots,) which systems have an outcome."""
        known = state.systems.data
        return np.asarray(known.frozen) | (np.asarray(known.outcome) > GOING)

    def taken(self, state: State, slot: int, rows: np.ndarray) -> Ended:
        """What has become of the structure in a slot."""
        particles, known = _on_host(state)
        frozen, evaluated = bool(known["frozen"][slot]), int(known["evaluations"][slot]) > 0
        nothing = 0.0 if evaluated else np.nan  # what can't be evaluated at all has no energy
        return Ended(
            positions=particles["positions"][rows],
            vectors=known["vectors"][slot],
            energy=float(known["energy"][slot]) + nothing,
            forces=particles["forces"][rows] + nothing,
            virial=known["virial"][slot] + (nothing if self._has_virial else np.nan),
            steps=int(known["steps"][slot]),
            evaluations=int(known["evaluations"][slot]),
            outcome=NAMES[FROZEN if frozen else int(known["outcome"][slot])],
            suspects=tuple(np.flatnonzero(particles["suspect"][rows]).tolist()),
        )

    @property
    def _has_virial(self) -> bool:
        return self.options["stresses"] or self.options["cell"] != "fixed"

    def emptied(self, state: State, slots: list[int], rows: list[np.ndarray]) -> State:
        """The state without the systems in these slots."""
        if not slots:
            return state
        data = state.particles.data
        system = _reindexed(data.system, np.concatenate(rows), len(state.systems))
        into = np.asarray(slots)
        systems = _written(
            state.systems.data, into, {"outcome": EMPTY, "frozen": False, "atoms": 1}
        )
        particles = dataclasses.replace(data, system=system)
        return state.with_tables({"particles": particles, "systems": systems})

    def advanced(self, state: State, waiting: bool) -> State:
        """The state after some steps."""
        rows = len(state.particles)
        rest = np.asarray(_REST * rows if waiting else 2 * rows, state.dtype)
        state = dataclasses.replace(state, rest=jnp.asarray(rest))
        return advance(self.method, jax.random.key(0), state, _CHUNK, start=int(state.step))


def _on_host(state: State) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns that results are made of; on a CPU they are not copied."""
    particles, systems = state.particles.data, state.systems.data
    names = ("energy", "virial", "steps", "evaluations", "outcome", "frozen")
    return (
        {n: np.asarray(getattr(particles, n)) for n in ("positions", "forces", "suspect")},
        {n: np.asarray(getattr(systems, n)) for n in names}
        | {"vectors": np.asarray(systems.cell.vectors)},
    )


def _written[T](table: T, at: np.ndarray, columns: dict[str, Any]) -> T:
    """A table's data with other rows; the shapes, and so the programs, stay as they are."""
    changed: dict[str, Any] = {}
    for name, values in columns.items():
        column = np.array(getattr(table, name))
        column[at] = values
        changed[name] = jnp.asarray(column)
    return dataclasses.replace(table, **changed)  # pyright: ignore[reportArgumentType]


def _reindexed(index: Any, at: np.ndarray, values: Any) -> Any:
    entries = np.array(index.indices)
    entries[at] = values
    return dataclasses.replace(index, indices=jnp.asarray(entries))
