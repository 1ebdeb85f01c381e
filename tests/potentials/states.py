"""Random systems of a few particles in cells of every kind, as one batch of fixed size."""

import dataclasses
import functools
import warnings

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import Particles, Systems
from instar.app.config.potentials import recipe_of
from instar.app.evaluation.point import NEIGHBORS, Point
from instar.core.data import Index, Table
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.typing import Label, ParticleId, SystemId
from instar.geometry import Cell
from instar.neighbors import NeighborList, Sizes
from instar.potentials import Bonded, NetChargeWarning, evaluate
from instar.potentials.structures import Structures
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
    roles: np.ndarray | None = None  # of chains: the atoms that are first, second, … in them


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


def chain(kind, rng):
    """Four atoms in a row, wrapped at random; bonds of 1.0 to 1.9 Å, shorter in a tiny cell.

    No bond is close to half a lattice vector, where two images would be equally near, and no
    three atoms are close to a line.
    """
    vectors, periodic = cell_of(kind, rng)
    shifts = images(vectors, periodic, 1.0)
    lengths = np.sort(np.linalg.norm(shifts, axis=1))
    longest = min(1.9, 0.45 * lengths[1]) if len(lengths) > 1 else 1.9
    while True:
        bonds = rng.normal(size=(3, 3))
        bonds /= np.linalg.norm(bonds, axis=1)[:, None]
        if np.all(np.abs((bonds[1:] * bonds[:-1]).sum(1)) < 0.9):
            break
    bonds *= rng.uniform(longest / 1.9, longest, (3, 1))
    positions = rng.uniform(0, 1, 3) @ vectors + np.cumsum([np.zeros(3), *bonds], axis=0)
    outside = rng.integers(-2, 3, (4, 3)) * periodic
    positions += outside @ vectors
    return Molecule(positions, list("ABBA"), [0.0] * 4, vectors, periodic, np.arange(4))


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


def batch(molecules, systems):
    """What a potential sees of them when it is made; each chain is a structure.

    Others are followed by empty structures, so that there are as many as systems.
    """
    if all(m.roles is None for m in molecules):
        empty = Molecule(np.zeros((0, 3)), [], [], np.eye(3), np.zeros(3, bool))
        molecules = [*molecules, *[empty] * (systems - len(molecules))]
    pieces = [len(m.labels) // 4 if m.roles is not None else 1 for m in molecules]
    sizes = np.array([len(m.labels) for m in molecules]) // pieces
    count = int(np.sum(pieces))
    return Structures(
        np.repeat(sizes, pieces),
        np.concatenate([m.positions for m in molecules]),
        np.array([label for m in molecules for label in m.labels], str),
        np.concatenate([m.charges for m in molecules]),
        np.repeat([m.vectors for m in molecules], pieces, axis=0),
        np.repeat([m.periodic for m in molecules], pieces, axis=0),
        np.ones(count, bool),
        np.zeros(count, bool),
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NetChargeWarning)
        potential, _ = recipe_of(config).tried(batch(molecules, systems))  # as it is: no door
    assert potential is not None
    potential = with_room(potential, molecules, rows, systems)
    room = Sizes(images=24 * rows + 600, neighbors=160, words=2, subdivision=2)
    neighbors = None
    if potential.reach is not None:
        neighbors = NeighborList.of(particles, table, CUTOFF, sizes=room)
    return Point(potential, particles, table, neighbors)


def with_room(potential, molecules, rows, systems):
    """Terms between the atoms that have their roles, and room for the terms of more systems."""
    counts = np.array([len(m.labels) for m in molecules])
    starts = np.cumsum(counts) - counts
    own = [np.arange(len(m.labels)) if m.roles is None else m.roles for m in molecules]
    roles = np.concatenate([start + order for start, order in zip(starts, own, strict=True)])

    def roomy(part):
        if not isinstance(part, Bonded):
            return part
        terms = len(part.atoms)
        free = terms * 4 * systems // len(roles) - terms

        def padded(values, filling):
            room = [(0, free), *[(0, 0)] * (values.ndim - 1)]
            return np.pad(values, room, constant_values=filling)

        atoms = padded(roles[np.asarray(part.atoms.indices)], rows)
        names = [f.name for f in dataclasses.fields(part) if f.name != "atoms"]
        parameters = {name: padded(getattr(part, name), np.nan) for name in names}
        return type(part)(Index.integer(atoms, n=rows, label=ParticleId), **parameters)

    return jax.tree.map(roomy, potential, is_leaf=lambda part: isinstance(part, Bonded))


def _updated(particles, systems, neighbors):
    return neighbors.updated(particles, systems, where=NEIGHBORS)


update = jax.jit(as_result_function(_updated))


@functools.partial(jax.jit, static_argnames="virial")
def _evaluation(potential, particles, systems, neighbors, virial):
    return as_result_function(evaluate)(
        potential, particles, systems, neighbors, virial=virial, per_particle=True
    )


def results(point, virial=True):
    """What the potential gives, checks raised, buffers grown where they must."""
    neighbors = point.neighbors
    if neighbors is not None:
        neighbors, point = propagate_and_fix(
            lambda p: update(p.particles, p.systems, p.neighbors), point
        )
    result = _evaluation(point.potential, point.particles, point.systems, neighbors, virial)
    result.raise_assertion()
    return result.value
