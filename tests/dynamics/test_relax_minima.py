"""Minima that are known, from structures off their places."""

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.cluster import Icosahedron, Octahedron
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS

import instar
from instar.geometry.constants import COULOMB_CONSTANT
from instar.units import GPa

pytestmark = pytest.mark.usefixtures("quickly_compiled")

REDUCED = {
    "type": "lennard_jones",
    "cutoff": 50.0,
    "pairs": {"Ar-Ar": {"epsilon": "1 eV", "sigma": "1 angstrom"}},
}
CLUSTERS = {7: -16.505384, 13: -44.326801, 38: -173.928427, 55: -279.248470}


def rattled(atoms, size, seed=0):
    atoms.positions += np.random.default_rng(seed).normal(0, size, atoms.positions.shape)
    return atoms


def clusters():
    """Of the shapes of the best known minima, at distances of 1.1 σ."""
    angles = 2 * np.pi * np.arange(5) / 5
    ring = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1) * 0.95
    bipyramid = Atoms("Ar7", [*ring, (0, 0, 0.55), (0, 0, -0.55)])
    many = [bipyramid, Icosahedron("Ar", 2), Octahedron("Ar", 4, cutoff=1), Icosahedron("Ar", 3)]
    for atoms in many[1:]:
        nearest = np.sort(atoms.get_all_distances()[0])[1]
        atoms.positions *= 1.1 / nearest
        atoms.cell[:], atoms.pbc = 0, False
    return [rattled(atoms, 0.04, seed) for seed, atoms in enumerate(many)]


def test_lennard_jones_clusters():
    found = instar.relax(clusters(), REDUCED, force_tolerance=1e-5)
    assert found.converged.all()
    assert [len(atoms) for atoms in found.structures] == list(CLUSTERS)
    np.testing.assert_allclose(found.energies, list(CLUSTERS.values()), atol=1e-6)


ARGON = {
    "type": "lennard_jones",
    "cutoff": 8.5,
    "truncation": "shift",
    "pairs": {"Ar-Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}


def test_a_sheared_crystal_of_argon_finds_its_lattice_and_its_pressure():
    sheared = bulk("Ar", "fcc", 5.3, cubic=True).repeat(2)
    shear = np.array([[1.02, 0.03, 0], [0, 0.98, 0.02], [0.01, 0, 1.01]])
    sheared.set_cell(sheared.cell.array @ shear, scale_atoms=True)
    found = instar.relax(
        [rattled(sheared, 0.05)] * 2,
        ARGON,
        cell="full",
        pressure=["0 GPa", "1 GPa"],
        force_tolerance=1e-7,
        stress_tolerance=1e-9,
    )
    assert found.converged.all()
    free, pressed = found.structures
    np.testing.assert_allclose(free.cell.lengths() / 2, 5.2686516, atol=1e-6)
    np.testing.assert_allclose(free.cell.angles(), 90, atol=1e-5)
    assert found.energies[0] / 32 == pytest.approx(-0.077617925, abs=1e-8)
    np.testing.assert_allclose(found.stresses[1], -GPa * np.eye(3), atol=2e-9)
    assert pressed.get_volume() < 0.9 * free.get_volume()


MADELUNG = 1.747564594633


def test_rock_salt_balances_madelungs_sum():
    r, rho = 2.8, 0.3
    size = MADELUNG * COULOMB_CONSTANT * rho / (6 * r**2) * np.exp(r / rho)
    salt = [
        {
            "type": "buckingham",
            "cutoff": 4.0,
            "pairs": {
                "Na-Cl": {"A": f"{size} eV", "rho": f"{rho} angstrom", "C": 0},
                "Na-Na": {"A": 0, "rho": 1, "C": 0},
                "Cl-Cl": {"A": 0, "rho": 1, "C": 0},
            },
        },
        {"type": "coulomb", "method": "ewald", "charges": {"Na": 1, "Cl": -1}, "accuracy": 1e-10},
    ]
    crystal = rattled(bulk("NaCl", "rocksalt", a=5.8, cubic=True), 0.03)
    found = instar.relax(crystal, salt, cell="full", force_tolerance=1e-7, stress_tolerance=1e-9)
    assert found.converged.all()
    np.testing.assert_allclose(found.structures[0].cell.lengths() / 2, r, atol=1e-6)


def test_copper_of_a_calculator_has_the_minimum_that_ase_finds():
    copper = rattled(bulk("Cu", "fcc", a=3.7, cubic=True), 0.05)
    found = instar.relax(
        copper,
        instar.ase_potential(EMT()),
        cell="full",
        force_tolerance=1e-5,
        stress_tolerance=1e-6,
    )
    by_ase = copper.copy()
    by_ase.calc = EMT()
    BFGS(FrechetCellFilter(by_ase), logfile=None).run(fmax=1e-6, steps=300)
    assert found.converged.all()
    assert found.energies[0] == pytest.approx(by_ase.get_potential_energy(), abs=4e-8)
    assert found.structures[0].get_volume() == pytest.approx(by_ase.get_volume(), rel=1e-5)
