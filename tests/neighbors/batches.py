"""Batches of systems to list neighbors of."""

import jax
import jax.numpy as jnp
import numpy as np
from potentials.states import KINDS, cell_of

from instar.core.data import Index, Table
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell

ROWS, SYSTEMS = 60, 9


@dataclass
class Particle:
    positions: jax.Array
    system: Index[SystemId]


@dataclass
class Box:
    cell: Cell


def tables(positions, system, vectors, periodic, straight=False):
    cell = Cell.of(vectors, periodic)
    cell = Cell(cell.vectors, cell.periodic, cell.bounded, orthorhombic=straight)
    particles = Particle(
        jnp.asarray(positions), Index.integer(system, n=len(vectors), label=SystemId)
    )
    return Table.arange(particles, label=ParticleId), Table.arange(Box(cell), label=SystemId)


def random_batch(seed, straight=False):
    """Nine systems: each kind of cell, one empty, one of one particle, some far outside."""
    rng = np.random.default_rng(seed)
    kinds = ["box"] * SYSTEMS if straight else [*KINDS, "box"]
    cells = [cell_of(kind, rng) for kind in kinds]
    counts = [*rng.integers(2, 9, SYSTEMS - 2), 0, 1]
    system = np.repeat(np.arange(SYSTEMS, dtype=np.int32), counts)
    inside = [rng.random((n, 3)) @ v for n, (v, _) in zip(counts, cells, strict=True)]
    out = [rng.integers(-50, 50, (n, 3)) * p @ v for n, (v, p) in zip(counts, cells, strict=True)]
    positions = np.full((ROWS, 3), np.nan)
    positions[: len(system)] = np.concatenate(inside) + np.concatenate(out)
    system = np.append(system, np.full(ROWS - len(system), SYSTEMS, np.int32))
    vectors, periodic = (np.stack(column) for column in zip(*cells, strict=True))
    particles, systems = tables(positions, system, vectors, periodic, straight)
    return particles, systems, rng.uniform(3.0, 6.0, SYSTEMS)
