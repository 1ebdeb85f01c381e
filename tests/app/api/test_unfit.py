"""Structures and cutoffs that can't be computed with are refused from Python before compiling."""

import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from support import raises

import instar
from instar.app.ase.structures import StructureError, naming_coincidences
from instar.potentials import FunctionPotential

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


def repulsion(scale, particles, systems):
    places = particles.data.positions
    return scale / jnp.linalg.norm(places[0] - places[1])[None]


ANGLE = {"type": "harmonic_angle", "terms": [{"atoms": [0, 1, 2], "k": 1.0, "theta0": 2.0}]}
TRAP = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}


@pytest.mark.parametrize("potential", [ANGLE, FunctionPotential(repulsion, 1.0, general=True)])
@pytest.mark.parametrize("made", [instar.md_state, instar.md_blocks])
def test_states_with_atoms_at_one_place_are_refused_where_forces_are_not_finite(made, potential):
    atoms = Atoms("Ar3", [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    with raises(StructureError, "Atoms 0 and 1 of structure 0 are at the same place."):
        made([atoms], potential)
    assert made([atoms], TRAP)


def test_other_failures_stay_what_they_are():
    with raises(AssertionError, "another one"), naming_coincidences([CUBE]):
        raise AssertionError("another one")
