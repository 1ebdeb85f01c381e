"""States to look at: ragged batches with absent rows, and trajectories of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.data import Index, Table
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell


@dataclass
class Particles:
    positions: jax.Array
    velocities: jax.Array
    masses: jax.Array
    system: Index[SystemId]
    labels: Index[Label]


@dataclass
class Systems:
    cell: Cell
    frozen: jax.Array
    energy: jax.Array


@dataclass
class State:
    particles: Table[ParticleId, Particles]
    systems: Table[SystemId, Systems]


LABELS = Index.new([Label("A"), Label("B")]).vocabulary


def state(
    positions,
    vectors=(),
    *,
    velocities=None,
    masses=None,
    labels=None,
    frozen=None,
    energy=None,
    absent=0,
    dtype=None,
):
    """A batch of systems, each an array (particles, 3), followed by absent rows of NaN.

    With ``vectors`` one cell each, else a cube of 10 Å; other columns as lists like ``positions``.
    """
    dtype = dtype or jnp.zeros(()).dtype
    systems = len(positions)
    counts = [len(p) for p in positions]

    def column(values, default, fill=np.nan):
        if values is None:
            values = [default(n) for n in counts]
        joined = np.concatenate([np.asarray(v) for v in values])
        room = [(0, absent), *[(0, 0)] * (joined.ndim - 1)]
        return np.pad(joined, room, constant_values=fill)

    system = column(None, np.zeros, systems).astype(np.int32)
    system[: sum(counts)] = np.repeat(np.arange(systems, dtype=np.int32), counts)
    cell = Cell.of(
        np.asarray(vectors if len(vectors) else [10 * np.eye(3)] * systems, dtype).copy()
    )
    kinds = column(labels, np.zeros, 0).astype(np.int32)
    particles = Particles(
        jnp.asarray(column(positions, None), dtype),
        jnp.asarray(column(velocities, lambda n: np.zeros((n, 3))), dtype),
        jnp.asarray(column(masses, np.ones), dtype),
        Index.integer(system, n=systems, label=SystemId),
        Index(LABELS, jnp.asarray(kinds)),
    )
    boxes = Systems(
        Cell(cell.vectors, cell.periodic, cell.bounded),
        jnp.asarray(np.zeros(systems, bool) if frozen is None else frozen, bool),
        jnp.asarray(np.zeros(systems) if energy is None else energy, dtype),
    )
    return State(Table.arange(particles, ParticleId), Table.arange(boxes, SystemId))


def frames(states):
    """States one after the other, as one state with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def energies(state):
    return state.systems.data.energy
