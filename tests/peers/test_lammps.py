"""LAMMPS and ASE as a second opinion; `make test-peers`."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.lj import LennardJones as AseLennardJones

import instar

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
CELLS = {
    "cube": np.eye(3) * 9.0,
    "tiny": np.eye(3) * 5.0,
    "skewed": np.array([[8.0, 0, 0], [3.5, 7, 0], [-2, 3, 9]]),
    "left_handed": np.array([[1.0, 8, 1], [8, 1, 0], [0, 1, 7]]),
}


def crystal(cell):
    """Atoms on a slightly disturbed lattice of 27 sites."""
    rng = np.random.default_rng(0)
    sites = np.stack(np.meshgrid(*[np.arange(3)] * 3), -1).reshape(-1, 3) / 3
    positions = sites @ cell + rng.normal(0, 0.1, (27, 3)) + rng.integers(-2, 3, (27, 3)) @ cell
    return Atoms(["X"] * 27, positions, cell=cell, pbc=True)


def settings(truncation, sigma=1.6):
    return {
        "type": "lennard_jones",
        "cutoff": 4.0,
        "truncation": truncation,
        "parameters": {"X": {"epsilon": 0.01, "sigma": sigma}},
    }


@pytest.mark.parametrize("truncation", ["truncate", "shift", "tail"])
@pytest.mark.parametrize("name", CELLS)
def test_energy_forces_and_stress_equal_those_of_lammps(name, truncation, tmp_path):
    subprocess.run([ROOT / "tools" / "peers", "lammps"], check=True, cwd=ROOT)
    atoms = crystal(CELLS[name])
    np.savez(tmp_path / "in.npz", positions=atoms.positions, cell=CELLS[name])
    options = ["--epsilon", "0.01", "--sigma", "1.6", "--cutoff", "4.0"]
    options += ["--shift", "yes" if truncation == "shift" else "no"]
    options += ["--tail", "yes" if truncation == "tail" else "no"]
    python = ROOT / ".venv-peers" / "lammps" / "bin" / "python"
    script = ROOT / "bench" / "peers" / "lammps_point.py"
    files = ["--input", tmp_path / "in.npz", "--out", tmp_path / "out.npz"]
    subprocess.run([python, script, *files, *options], check=True, capture_output=True)
    theirs = np.load(tmp_path / "out.npz")
    ours = instar.single_point(atoms, settings(truncation))
    scale = np.abs(theirs["forces"]).max()
    np.testing.assert_allclose(ours.energies[0], theirs["energy"], rtol=1e-10)
    np.testing.assert_allclose(ours.forces[0], theirs["forces"], atol=1e-9 * scale)
    np.testing.assert_allclose(ours.stresses[0], theirs["stress"], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", CELLS)
def test_they_equal_those_of_ase(name):
    atoms = crystal(CELLS[name])
    ours = instar.single_point(atoms, settings("shift"))
    atoms.calc = AseLennardJones(sigma=1.6, epsilon=0.01, rc=4.0, smooth=False)
    scale = np.abs(atoms.get_forces()).max()
    np.testing.assert_allclose(ours.energies[0], atoms.get_potential_energy(), rtol=1e-10)
    np.testing.assert_allclose(ours.forces[0], atoms.get_forces(), atol=1e-9 * scale)
    np.testing.assert_allclose(
        ours.stresses[0], atoms.get_stress(voigt=False), rtol=1e-8, atol=1e-12
    )
