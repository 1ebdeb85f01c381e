"""Random systems of a few particles in cells of every kind, as one batch of fixed size."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.point import NEIGHBORS, Point
from instar.app.potentials import build
from instar.app.structures import Batch, Particles, Systems
from instar.core.data import Index, Table
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.typing import Label, ParticleId, SystemId
from instar.geometry import Cell
from instar.neighbors import NeighborList, Sizes
from instar.potentials import evaluate
from potentials.catalog import CUTOFF, images

CLOSEST = 0.8 * 2.4


@dataclasses.dataclass
class Molecule:
    """One system in NumPy."""

    positions: np.ndarray
    labels: list
    charges: list
    vectors: np.ndarray
    periodic: np.ndarray


KINDS = ("cube", "box", "skewed", "left_handed", "tiny", "slab", "wire", "open")


def cell_of(kind, rng):
    """Vectors and periodic axes."""
    periodic = np.ones(3, bool)
    vectors = np.diag(rng.uniform(6.5, 12, 3))
    if kind == "cube":
        vectors = np.eye(3) * rng.uniform(5, 13)
    elif kind == "tiny":
        vectors = np.diag(rng.uniform(2.8, 4.5, 3)) + rng.uniform(-0.7, 0.7, (3, 3))
    elif kind in ("skewed", "left_handed"):
        vectors += np.tril(rng.uniform(-9, 9, (3, 3)), -1)
        vectors = vectors @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        if (np.linalg.det(vectors) < 0) != (kind == "left_handed"):
            vectors[[0, 1]] = vectors[[1, 0]]
    elif kind == "slab":
        periodic = np.array([True, True, False])
        vectors += np.tril(rng.uniform(-3, 3, (3, 3)), -1)
    elif kind == "wire":
        periodic = np.array([False, True, False])
    elif kind == "open":
        periodic = np.zeros(3, bool)
    return vectors, periodic


def molecule(kind, rng, count=4):
    """A few particles, none closer to another (or to its own image) than 0.8 σ."""
    while True:
        vectors, periodic = cell_of(kind, rng)
        shifts = images(vectors, periodic, CLOSEST)
        lengths = np.sort(np.linalg.norm(shifts, axis=1))
        if len(lengths) > 1 and lengths[1] < CLOSEST:
            continue
        tries = (_placed(vectors, shifts, number, rng) for number in range(count, 0, -1))
        positions = next(placed for placed in tries if placed is not None)
        number = len(positions)
        outside = rng.integers(-2, 3, (number, 3)) * periodic
        return Molecule(
            positions + outside @ vectors,
            [str(x) for x in rng.choice(["A", "B"], number)],
            [float(q) for q in rng.uniform(-1, 1, number)],
            vectors,
            periodic,
        )


def _placed(vectors, shifts, number, rng):
    placed = []
    for _ in range(200):
        if len(placed) == number:
            return np.array(placed)
        new = rng.uniform(0, 1, 3) @ vectors
        apart = new - np.array(placed).reshape(-1, 3)[:, None] - shifts
        if np.all((apart**2).sum(-1) > CLOSEST**2):
            placed.append(new)
    return np.array(placed) if len(placed) == number else None


def batch(molecules):
    """What a potential sees of them when it is made."""
    return Batch(
        np.array([len(m.labels) for m in molecules]),
        np.concatenate([m.positions for m in molecules]),
        [label for m in molecules for label in m.labels],
        np.concatenate([m.charges for m in molecules]),
        np.stack([m.vectors for m in molecules]),
        np.stack([m.periodic for m in molecules]),
    )


def point(config, molecules, dtype, rows=None, systems=None):
    """A batch with room: absent particles at the end, empty systems after them."""
    rows = rows or sum(len(m.labels) for m in molecules)
    systems = systems or len(molecules)
    positions, system = np.full((rows, 3), np.nan), np.full(rows, systems, np.int32)
    labels, charges = np.zeros(rows, np.int32), np.zeros(rows)
    vectors, periodic = np.tile(np.eye(3), (systems, 1, 1)), np.zeros((systems, 3), bool)
    at = 0
    for number, m in enumerate(molecules):
        here = slice(at, at + len(m.labels))
        positions[here], system[here], charges[here] = m.positions, number, m.charges
        labels[here] = ["AB".index(x) for x in m.labels]
        vectors[number], periodic[number] = m.vectors, m.periodic
        at += len(m.labels)
    cell = Cell.of(vectors.astype(dtype), periodic)
    cell = Cell(cell.vectors, cell.periodic, cell.bounded, orthorhombic=False)
    particles = Table.arange(
        Particles(
            jnp.asarray(positions, dtype),
            Index.integer(system, n=systems, label=SystemId),
            Index(Index.new([Label("A"), Label("B")]).vocabulary, jnp.asarray(labels)),
            jnp.asarray(charges, dtype),
        ),
        label=ParticleId,
    )
    table = Table.arange(Systems(cell), label=SystemId)
    potential = build(config).potential(batch(molecules))
    room = Sizes(images=24 * rows + 600, neighbors=160, words=2, subdivision=2)
    neighbors = NeighborList.of(particles, table, CUTOFF, sizes=room)
    return Point(potential, particles, table, neighbors)


def _updated(particles, systems, neighbors):
    return neighbors.updated(particles, systems, where=NEIGHBORS)


update = jax.jit(as_result_function(_updated))


@jax.jit
def _evaluation(potential, particles, systems, neighbors):
    return as_result_function(evaluate)(
        potential, particles, systems, neighbors, virial=True, per_particle=True
    )


def results(point):
    """What the potential gives, checks raised, buffers grown where they must."""
    neighbors, point = propagate_and_fix(
        lambda p: update(p.particles, p.systems, p.neighbors), point
    )
    result = _evaluation(point.potential, point.particles, point.systems, neighbors)
    result.raise_assertion()
    return result.value
