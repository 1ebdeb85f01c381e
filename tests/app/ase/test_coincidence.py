"""Atoms at the same place are found, whatever the cell, without memory that grows as a square."""

import tracemalloc

import numpy as np
import pytest
from ase import Atoms
from ase.neighborlist import neighbor_list
from hypothesis import given
from hypothesis import strategies as st

from instar.app.ase.structures import StructureError, naming_coincidences
from instar.app.config.files import UnmadeStructureError
from instar.app.config.structures import _check_apart as check_apart


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def cluster(atoms):
    edge = round(atoms ** (1 / 3))
    return Atoms(f"Ar{edge**3}", 4.0 * np.argwhere(np.ones((edge,) * 3)))


def failing_check(atoms):
    with naming_coincidences([atoms]):
        raise AssertionError


def named_where_a_check_fails(atoms):
    with pytest.raises((AssertionError, StructureError)):
        failing_check(atoms)


@pytest.mark.parametrize("look", [check_apart, named_where_a_check_fails])
@pytest.mark.parametrize("outlier", [False, True])
def test_structures_without_a_cell_take_memory_in_proportion(look, outlier):
    atoms = cluster(1000)
    if outlier:
        atoms.positions[-1] += 1e5
    assert peak_of(lambda: look(atoms)) < 5e6


def test_atoms_that_are_all_at_one_place_take_memory_in_proportion():
    heap = Atoms("Ar1000", np.zeros((1000, 3)))
    with pytest.raises(UnmadeStructureError, match="atoms 0 and 1 are at the same place"):
        assert peak_of(lambda: check_apart(heap)) < 5e6


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.booleans(),
)
def test_pairs_are_those_of_all_distances(seed, periodic, has_cell):
    rng = np.random.default_rng(seed)
    cell = 2 * np.eye(3) + rng.uniform(-0.5, 0.5, (3, 3))
    atoms = Atoms("Ar6", rng.uniform(-6, 6, (6, 3)), cell=cell, pbc=periodic)
    if not has_cell and not any(periodic):
        atoms.set_cell(np.zeros((3, 3)))
    atoms.positions[3] = atoms.positions[1] + rng.normal(0, 0.03, 3)
    atoms.positions[3] += (rng.integers(-2, 3, 3) * periodic) @ cell
    pairs = set(zip(*neighbor_list("ij", atoms, 0.05), strict=True))
    try:
        check_apart(atoms)
        assert not pairs
    except UnmadeStructureError as error:
        first, second = (int(word) for word in str(error).split() if word.isdigit())
        assert (first, second) in pairs
