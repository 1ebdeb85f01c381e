"""Structures and cutoffs that can't be computed with are refused from Python before compiling."""

import numpy as np
import pytest
from ase import Atoms
from support import raises

import instar
from instar.app.ase.structures import StructureError, naming_coincidences

LJ = {"type": "lennard_jones", "parameters": {"Ar": {"epsilon": 0.0104, "sigma": 3.4}}}
CUBE = Atoms("Ar2", [[0, 0, 0], [0, 0, 4]], cell=[10] * 3, pbc=True)
THIN = Atoms("Ar", cell=[9, 0.01, 9], pbc=True)
FAR = Atoms("Ar", [[1e300, 0, 0]], cell=[9] * 3, pbc=True)
CASES = {
    "a cutoff of a micrometre": (CUBE, 1e4, "Structure 0: particles that see 1e+04 Å far"),
    "a cell that is thin": (THIN, 6.0, "Structure 0: its cell is 0.01 Å high along the vector b"),
    "an atom far away": (FAR, 6.0, "Structure 0: atom 0 is further than 1e+07 Å away"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_with_a_sentence(name):
    atoms, cutoff, said = CASES[name]
    with pytest.raises(StructureError) as caught:
        instar.single_point(atoms, {**LJ, "cutoff": cutoff})
    assert str(caught.value).startswith(said)


def test_a_cell_that_does_not_repeat_may_be_thin():
    flat = Atoms("Ar", cell=[9, 9, 0.01], pbc=[True, True, False])
    assert np.isfinite(instar.single_point(flat[:0], {**LJ, "cutoff": 3.0}).energies).all()


def test_atoms_at_one_place_are_named_where_a_check_fails():
    atoms = Atoms("Ar3", [[0, 0, 0], [0, 0, 4], [0, 0, 4]])
    said = "Atoms 1 and 2 of structure 1 are at the same place."
    with raises(StructureError, said), naming_coincidences([CUBE, atoms]):
        raise AssertionError("The energy of system 1 is not a finite number.")


def test_other_failures_stay_what_they_are():
    with raises(AssertionError, "another one"), naming_coincidences([CUBE]):
        raise AssertionError("another one")
