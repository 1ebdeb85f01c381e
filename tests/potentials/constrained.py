"""Structures and tables for tests of constraints."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ase import Atoms

from instar.app.ase.structures import structures_of, tables
from instar.core.data import Index
from instar.core.result import as_result_function
from instar.core.typing import ParticleId
from instar.geometry import AllParticles
from instar.potentials.constraints import (
    DistanceConstraint,
    RigidWater,
)

OH, HH = 0.9572, 1.5139


CELLS = {
    "open": (np.zeros((3, 3)), False),
    "box": (np.diag([4.0, 5.0, 6.0]), True),
    "skewed": (np.array([[4.0, 0, 0], [1.5, 4.5, 0], [-1.0, 1.0, 5.0]]), True),
}


def turned(points, rng):
    return points @ np.linalg.qr(rng.normal(size=(3, 3)))[0]


def waters(count, rng, cell="box"):
    """Rigid waters anywhere, atoms wrapped one by one."""
    height = np.sqrt(OH**2 - HH**2 / 4)
    shape = np.array([[0, 0, 0], [height, HH / 2, 0], [height, -HH / 2, 0]])
    places = [turned(shape, rng) + rng.uniform(0, 6, 3) for _ in range(count)]
    vectors, periodic = CELLS[cell]
    atoms = Atoms("OH2" * count, np.concatenate(places), cell=vectors, pbc=periodic)
    if periodic:
        atoms.wrap()
    return atoms


def chain(length, rng):
    steps = rng.normal(size=(length - 1, 3))
    steps *= 1.5 / np.linalg.norm(steps, axis=1, keepdims=True)
    return Atoms(f"C{length}", np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)]))


def rows(array, count):
    return Index.integer(np.asarray(array, np.int32), n=count, label=ParticleId)


def rigid(count, offset=0, total=None):
    atoms = np.arange(3 * count).reshape(-1, 3) + offset
    total = total or 3 * count
    return RigidWater(rows(atoms, total), np.full(count, OH), np.full(count, HH))


def as_distances(water):
    bonds, lengths = water.bonds()
    count = len(water.atoms.vocabulary)
    return DistanceConstraint(rows(bonds.reshape(-1, 2), count), lengths.reshape(-1))


def linked(length, offset=0, total=None):
    pairs = np.stack([np.arange(length - 1), np.arange(1, length)], axis=1) + offset
    return DistanceConstraint(rows(pairs, total or length), np.full(length - 1, 1.5))


def state_of(structures, dtype=np.float64) -> Any:
    structures = [structures] if isinstance(structures, Atoms) else structures
    masses = np.concatenate([atoms.get_masses() for atoms in structures])
    return AllParticles.of(*tables(structures_of(structures), dtype)), jnp.asarray(masses, dtype)


def checked(function, *arguments) -> Any:
    result = jax.jit(as_result_function(function))(*arguments)
    result.raise_assertion()
    return result.value


def kick(shape, size, seed=3, dtype=np.float64):
    return jnp.asarray(np.random.default_rng(seed).normal(0, size, shape), dtype)
