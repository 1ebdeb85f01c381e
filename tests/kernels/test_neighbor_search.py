"""The kernels of the neighbor search make the arrays that the JAX code makes, to the bit."""

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbors.batches import ROWS, Particle, random_batch, tables

from instar import kernels
from instar.core.data import Table
from instar.core.typing import ParticleId
from instar.neighbors import NeighborList, Sizes

LONG = pytest.mark.long
SEEDS = st.integers(0, 2**32 - 1)
ROOM = Sizes(images=3000, neighbors=260, words=10, subdivision=2)


@jax.jit
def made(neighbors, particles, systems):
    data = particles.data
    system = data.system.update_labels(systems.vocabulary)
    return neighbors._made(data.positions, system, systems.data.cell)


def check_equal(neighbors, particles, systems, make=made):
    """What the kernels make, if it is what JAX makes: a list and what it needs."""
    found = make(neighbors, particles, systems)
    with kernels.using(False):
        expected = make(neighbors, particles, systems)
    known = jax.tree_util.tree_leaves_with_path(expected)
    for (path, right), one in zip(known, jax.tree.leaves(found), strict=True):
        np.testing.assert_array_equal(one, right, err_msg=jax.tree_util.keystr(path))
    return found


def batch(seed, dtype, straight=False, partners=0, **sizes):
    """Nine systems of all kinds, and an empty list of them, with cutoffs and skins of its own."""
    particles, systems, cutoff = random_batch(seed, straight)
    rng = np.random.default_rng(seed)
    excluded = jnp.asarray(rng.integers(0, ROWS + 10, (ROWS, partners)), jnp.int32)
    skins = rng.uniform(0, 0.5, cutoff.shape).astype(dtype)
    neighbors = NeighborList.of(
        particles,
        systems,
        cutoff.astype(dtype),
        skins,
        sizes=dataclasses.replace(ROOM, **sizes),
        excluded=excluded if partners else None,
    )
    return neighbors, particles, systems


def precision(dtype):
    return jax.enable_x64(dtype == np.float64)


@pytest.mark.parametrize(
    ("dtype", "subdivision", "straight", "partners"),
    [
        (np.float64, 2, False, 3),
        (np.float32, 2, True, 0),
        (np.float32, 0, False, 2),
        pytest.param(np.float64, 0, True, 0, marks=LONG),
        pytest.param(np.float64, 1, False, 0, marks=LONG),
        pytest.param(np.float64, 3, True, 3, marks=LONG),
        pytest.param(np.float32, 2, False, 3, marks=LONG),
        pytest.param(np.float32, 3, False, 0, marks=LONG),
    ],
)
@settings(max_examples=6)
@given(seed=SEEDS)
def test_lists_are_equal_to_the_bit(dtype, subdivision, straight, partners, seed):
    with precision(dtype):
        given = batch(seed, dtype, straight, partners, subdivision=subdivision)
        check_equal(*given)


@pytest.mark.parametrize(
    ("name", "number"), [("images", 0), ("neighbors", 1), pytest.param("words", 2, marks=LONG)]
)
def test_what_does_not_fit_is_cut_off_alike_and_its_need_is_told(name, number):
    small = {"images": 120, "neighbors": 3, "words": 1}[name]
    coarse = {"subdivision": 0} if name == "words" else {}
    with precision(np.float64):
        needs = check_equal(*batch(5, np.float64, partners=2, **coarse, **{name: small}))[1]
        whole = check_equal(*batch(5, np.float64, partners=2, **coarse))[1]
        assert needs[number] == whole[number]
        assert whole[number] > small


@pytest.mark.parametrize("where", [np.nan, np.inf])
def test_places_that_are_not_numbers_are_treated_alike(where):
    with precision(np.float64):
        neighbors, particles, systems = batch(1, np.float64)
        data = particles.data
        broken = Particle(data.positions.at[3:5, 1].set(where), data.system)
        check_equal(neighbors, Table.arange(broken, label=ParticleId), systems)


def crystal(edge, repeats, periodic):
    """Face-centred cubic: atoms on the borders of bins, and shells just at the cutoff."""
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    corners = np.stack(np.meshgrid(*[np.arange(repeats)] * 3), -1).reshape(-1, 1, 3)
    positions = edge * (basis + corners).reshape(-1, 3)
    vectors = edge * repeats * np.eye(3)[None]
    system = np.zeros(len(positions), np.int32)
    return tables(positions, system, vectors, np.full((1, 3), periodic), straight=True)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=LONG)])
@pytest.mark.parametrize("periodic", [True, pytest.param(False, marks=LONG)])
def test_crystals_whose_atoms_are_on_borders_are_divided_alike(dtype, periodic):
    with precision(dtype):
        particles, systems = crystal(4.0, 4, periodic)
        neighbors = NeighborList.of(particles, systems, 4.0, sizes=ROOM)
        for cutoff in (4.0, 8**0.5, 6.0, 24**0.5):
            cutoffs = jnp.full(1, cutoff, dtype)
            given = dataclasses.replace(neighbors, cutoff=cutoffs)
            check_equal(given, particles, systems)


@pytest.mark.parametrize("subdivision", [0, pytest.param(1, marks=LONG)])
def test_thousands_of_small_systems_are_equal_to_the_bit(subdivision):
    count, each = 2000, 5
    rng = np.random.default_rng(0)
    edges = rng.uniform(5, 9, count)
    system = rng.permutation(np.repeat(np.arange(count, dtype=np.int32), each))
    positions = rng.random((len(system), 3)) * edges[system, None]
    vectors = edges[:, None, None] * np.eye(3)
    with precision(np.float64):
        particles, systems = tables(positions, system, vectors, np.ones((count, 3), bool))
        cutoff = rng.uniform(3, 4, count)
        neighbors = NeighborList.of(particles, systems, cutoff, 0.3, subdivision=subdivision)
        needs = check_equal(neighbors, particles, systems)[1]
        assert 1 < needs[1] <= neighbors.sizes.neighbors


def test_a_batch_of_lists_is_the_lists_one_by_one():
    with precision(np.float64):
        neighbors, particles, systems = batch(2, np.float64, partners=1)
        moved = [particles.data.positions * scale for scale in (1.0, 0.99)]

        def of(positions):
            placed = Table.arange(Particle(positions, particles.data.system), label=ParticleId)
            return made(neighbors, placed, systems)

        together = jax.jit(jax.vmap(of))(jnp.stack(moved))
        for number, positions in enumerate(moved):
            for one, all_of_them in zip(
                jax.tree.leaves(of(positions)), jax.tree.leaves(together), strict=True
            ):
                np.testing.assert_array_equal(all_of_them[number], one)


def digest():
    """Of a list that is made in several shares; run on one core by a process of its own."""
    rng = np.random.default_rng(0)
    system = np.zeros(3000, np.int32)
    with precision(np.float64):
        positions = rng.random((3000, 3)) * 20
        given = tables(positions, system, 20 * np.eye(3)[None], np.ones((1, 3), bool), True)
        neighbors = NeighborList.of(*given, 2.0, 0.3)
        found = hashlib.sha256()
        for leaf in jax.tree.leaves(made(neighbors, *given)):
            found.update(np.asarray(leaf).tobytes())
        return found.hexdigest()


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="processes can't be held to a core"
)
def test_one_core_makes_what_all_of_them_make():
    tests = Path(__file__).parent.parent
    alone = (
        "import os\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "from kernels.test_neighbor_search import digest\n"
        "print(digest())"
    )
    paths = os.pathsep.join([str(tests), str(tests.parent / "tools")])
    environment = {**os.environ, "PYTHONPATH": paths}
    words = [sys.executable, "-c", alone]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == digest()
