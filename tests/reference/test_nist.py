"""NIST's Lennard-Jones configurations; `make test-reference REFERENCE=<folder>`."""

import os
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms

import instar

pytestmark = pytest.mark.reference

NAMES = ("lj_config1", "lj_config2", "lj_config3", "lj_config4", "lj_triclinic_config3")
CASES = {
    "rc3": (3, "truncate"),
    "rc4": (4, "truncate"),
    "lfs3": (3, "force_shift"),
}


def computed(atoms, cutoff, truncation):
    config = {
        "type": "lennard_jones",
        "cutoff": cutoff,
        "truncation": truncation,
        "parameters": {"X": {"epsilon": 1, "sigma": 1}},
    }
    point = instar.single_point(atoms, config)
    return point.energies[0], -np.trace(point.stresses[0]) * atoms.get_volume()


@pytest.mark.parametrize("name", NAMES)
def test_energies_virials_and_tails_equal_those_of_the_reference(name):
    # The files are not part of this project; REFERENCE names the folder they are in.
    data = np.load(Path(os.environ["REFERENCE"]) / "nist" / f"{name}.npz")
    atoms = Atoms(["X"] * len(data["positions"]), data["positions"], cell=data["cell"], pbc=True)
    for case, (cutoff, truncation) in CASES.items():
        if f"U_{case}" not in data:
            continue
        energy, virial = computed(atoms, cutoff, truncation)
        np.testing.assert_allclose(energy, data[f"U_{case}"], rtol=1e-9)
        if f"minus_sum_r_dudr_{case}" in data:
            np.testing.assert_allclose(virial, data[f"minus_sum_r_dudr_{case}"], rtol=1e-8)
        if f"lrc_{case}" in data:
            whole, _ = computed(atoms, cutoff, "tail")
            # A difference of energies up to 24 times as large, given to ten digits.
            np.testing.assert_allclose(whole - energy, data[f"lrc_{case}"], rtol=3e-8)
