"""OpenMM as a second opinion on bonds, angles and dihedrals; `make test-peers`."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms

import instar

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
BOX = np.array([9.0, 10.0, 11.0])
ATOMS = 60


def rows(rng, size, lows, highs):
    """Terms of ``size`` consecutive atoms of a chain, in both directions, and their parameters."""
    atoms = np.arange(ATOMS - size + 1)[:, None] + np.arange(size)
    atoms[::2] = atoms[::2, ::-1]
    return atoms, rng.uniform(lows, highs, (len(atoms), len(lows)))


def terms():
    rng = np.random.default_rng(1)
    found = {
        "harmonic_bond": rows(rng, 2, (10, 0.9), (40, 1.6)),
        "morse_bond": rows(rng, 2, (2, 1.5, 0.9), (5, 2.5, 1.6)),
        "harmonic_angle": rows(rng, 3, (1, 1.5), (5, 3.1)),
        "periodic_dihedral": rows(rng, 4, (-0.3, 1, -3), (0.3, 6, 3)),
        "rb_dihedral": rows(rng, 4, (-0.4,) * 6, (0.4,) * 6),
        "harmonic_improper": rows(rng, 4, (0.5, -3), (2, 3)),
    }
    found["periodic_dihedral"][1][:, 1] //= 1
    return found


NAMES = {
    "harmonic_bond": ("k", "r0"),
    "morse_bond": ("D", "a", "r0"),
    "harmonic_angle": ("k", "theta0"),
    "periodic_dihedral": ("k", "n", "phi0"),
    "harmonic_improper": ("k", "phi0"),
}


def entry(kind, atoms, numbers):
    def named(row):
        return {"c": row} if kind == "rb_dihedral" else dict(zip(NAMES[kind], row, strict=True))

    listed = zip(atoms.tolist(), numbers.tolist(), strict=True)
    return {"type": kind, "terms": [{"atoms": a, **named(n)} for a, n in listed]}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    subprocess.run([ROOT / "tools" / "peers", "openmm"], check=True, cwd=ROOT)
    folder = tmp_path_factory.mktemp("openmm")
    arrays = {"positions": chain(), "box": BOX}
    for kind, (atoms, numbers) in terms().items():
        arrays |= {f"{kind}_atoms": atoms, f"{kind}_parameters": numbers}
    np.savez(folder / "in.npz", **arrays)
    python = ROOT / ".venv-peers" / "openmm" / "bin" / "python"
    script = ROOT / "bench" / "peers" / "openmm_bonded.py"
    files = ["--input", folder / "in.npz", "--out", folder / "out.npz"]
    subprocess.run([python, script, *files], check=True, capture_output=True)
    return np.load(folder / "out.npz")


def chain():
    """A random walk of bonds of 1.0 to 1.9 Å, wrapped at random."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(ATOMS, 3))
    steps *= rng.uniform(1.0, 1.9, (ATOMS, 1)) / np.linalg.norm(steps, axis=1)[:, None]
    return np.cumsum(steps, axis=0) + rng.integers(-1, 2, (ATOMS, 3)) * BOX


@pytest.mark.parametrize("kind", terms())
def test_energies_and_forces_equal_those_of_openmm(kind, theirs):
    atoms = Atoms(["X"] * ATOMS, chain(), cell=BOX, pbc=True)
    ours = instar.single_point(atoms, entry(kind, *terms()[kind]))
    scale = np.abs(theirs[f"{kind}_forces"]).max()
    np.testing.assert_allclose(ours.energies[0], theirs[f"{kind}_energy"], rtol=1e-9)
    np.testing.assert_allclose(ours.forces[0], theirs[f"{kind}_forces"], atol=1e-9 * scale, rtol=0)
