"""Cells in the formats of other programs, as those programs use them."""

import ase.io
import h5py
import MDAnalysis
import numpy as np
import pytest
from app.exports import made_run, opened
from ase import Atoms
from MDAnalysis.lib.distances import self_distance_array

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:MDAnalysis"),
]

SKEW = np.array([[9.0, 0, 0], [2.5, 8.0, 0], [-2.0, 3.0, 10.0]])


def rotation():
    matrix, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def atoms_in(cell, periodic=True, count=20):
    places = np.random.default_rng(count).uniform(size=(count, 3)) @ SKEW
    return Atoms(f"C{count}", places, cell=cell, pbc=periodic)


LONG = {
    "hexagonal": [[10, 0, 0], [-15, 15 * np.sqrt(3), 0], [0, 0, 16]],
    "very skewed": [[9, 0, 0], [22, 8, 0], [-31, 13, 10]],
}
"""Cells whose vectors are not the shortest of their lattice."""


@pytest.mark.parametrize("name", ["dcd", "xtc", "h5md", "pdb"])
@pytest.mark.parametrize("cell", LONG.values(), ids=LONG)
def test_mdanalysis_finds_the_nearest_images_of_long_vectors(tmp_path, name, cell):
    atoms = atoms_in(np.array(cell, float))
    atoms.wrap()
    done = made_run(tmp_path, [[atoms]] * 3)
    done.export(name)
    frame = opened(done, 0, name).trajectory[1]
    expected = atoms.get_all_distances(mic=True)[np.triu_indices(len(atoms), 1)]
    found = self_distance_array(frame.positions, box=frame.dimensions)
    np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize("name", ["dcd", "xtc", "h5md"])
@pytest.mark.parametrize("mirror", [1, -1], ids=["right-handed", "left-handed"])
def test_mdanalysis_finds_the_nearest_images_of_a_cell_that_lies_anyhow(tmp_path, name, mirror):
    atoms = atoms_in(mirror * SKEW @ rotation())
    done = made_run(tmp_path, [[atoms]] * 3)
    done.export(name)
    frame = opened(done, 0, name).trajectory[1]
    expected = atoms.get_all_distances(mic=True)[np.triu_indices(len(atoms), 1)]
    found = self_distance_array(frame.positions, box=frame.dimensions)
    np.testing.assert_allclose(found, expected, atol=0.02 if name == "xtc" else 1e-4)


def test_frames_of_h5md_are_copies_only_if_they_must_be_turned(tmp_path):
    done = made_run(tmp_path, [[atoms_in(SKEW), atoms_in(SKEW @ rotation())]] * 3)
    views = []
    for path in done.export("h5md"):
        with h5py.File(path) as file:
            views.append(file["particles/trajectory/position/value"].is_virtual)
    assert views == [True, False]


def test_h5md_says_along_which_vectors_a_system_repeats(tmp_path):
    boundaries = [(True, True, True), (True, True, False), (False, False, False)]
    done = made_run(tmp_path, [[atoms_in(SKEW, periodic) for periodic in boundaries]] * 3)
    found, edges = [], []
    for path in done.export("h5md"):
        with h5py.File(path) as file:
            boundary = np.asarray(file["particles/trajectory/box"].attrs["boundary"])
            found.append(tuple(boundary == "periodic"))
            edges.append("particles/trajectory/box/edges" in file)
    assert found == boundaries
    assert edges == [True, True, False]


def test_a_vector_that_is_long_enough_stays_as_it_is(tmp_path):
    slab = atoms_in(np.diag([9.0, 8.0, 45.0]), periodic=(True, True, False))
    done = made_run(tmp_path, [[slab]] * 3)
    done.export("dcd")
    universe = opened(done, 0, "dcd")
    np.testing.assert_allclose(universe.dimensions, [9, 8, 45, 90, 90, 90])


def test_structures_have_the_vectors_that_were_given(tmp_path):
    wire = atoms_in(SKEW * [[0], [0], [1]], periodic=(False, False, True))
    done = made_run(tmp_path, [[wire]] * 3)
    (path,) = done.export("extxyz")
    trajectory = done.trajectory
    for found in (
        trajectory.atoms(0),
        trajectory.history(0)[1],
        trajectory.structures(2)[0],
        ase.io.read(path),
    ):
        np.testing.assert_allclose(found.cell, wire.cell, rtol=1e-14, atol=0)
        assert found.pbc.tolist() == [False, False, True]


def test_a_pdb_may_have_more_atoms_than_numbers_for_them(tmp_path):
    places = np.random.default_rng(1).uniform(0, 300, (100_001, 3))
    done = made_run(tmp_path, [[Atoms("Na100001", places)]], steps=(100,))
    universe = MDAnalysis.Universe(*done.export("pdb"))
    np.testing.assert_allclose(universe.atoms.positions, places, atol=6e-4)
    assert set(universe.atoms.elements) == {"Na"}
