"""Frameworks from CIF files; `make test-reference STRUCTURES=<folder>`."""

import os
from pathlib import Path

import ase.io
import numpy as np
import pytest
from ase.data import covalent_radii
from ase.neighborlist import primitive_neighbor_list

import instar

pytestmark = [
    pytest.mark.reference,
    pytest.mark.filterwarnings("ignore::UserWarning:ase"),  # what ASE does not read in a CIF
]

FILES = sorted(Path(os.environ["STRUCTURES"]).glob("*.cif"))
CUTOFF = 7.0
EPSILON = 0.004


def sigma(number):
    """A diameter (Å) at which the atoms of a bond do not outweigh all others."""
    return 2 * float(covalent_radii[number])


def summed(atoms):
    """The energy (eV) and the forces (eV/Å), over the pairs that ASE's own list has."""
    found = primitive_neighbor_list("ijdD", atoms.pbc, atoms.cell.array, atoms.positions, CUTOFF)
    first, second, distances, apart = found
    sizes = np.array([sigma(number) for number in atoms.numbers])
    sixth = ((sizes[first] + sizes[second]) / 2 / distances) ** 6
    slopes = 24 * EPSILON * (sixth - 2 * sixth**2) / distances
    forces = np.zeros_like(atoms.positions)
    np.add.at(forces, first, (slopes / distances)[:, None] * apart)
    return 2 * EPSILON * (sixth**2 - sixth).sum(), forces


def test_every_framework_of_the_folder_has_the_energy_and_forces_of_its_pairs():
    frameworks = [ase.io.read(path) for path in FILES]
    kinds = {symbol: number for atoms in frameworks for symbol, number in numbered(atoms)}
    potential = {
        "type": "lennard_jones",
        "cutoff": CUTOFF,
        "mixing": "lorentz_berthelot",
        "parameters": {
            symbol: {"epsilon": EPSILON, "sigma": sigma(number)} for symbol, number in kinds.items()
        },
    }
    point = instar.single_point(frameworks, potential)
    for path, atoms, energy, forces in zip(
        FILES, frameworks, point.energies, point.forces, strict=True
    ):
        right, pulls = summed(atoms)
        np.testing.assert_allclose(energy, right, rtol=1e-10, err_msg=path.name)
        scale = np.abs(pulls).max()
        np.testing.assert_allclose(forces, pulls, rtol=0, atol=1e-10 * scale, err_msg=path.name)


def numbered(atoms):
    return zip(atoms.get_chemical_symbols(), atoms.numbers, strict=True)
