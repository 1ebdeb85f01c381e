"""LAMMPS as a second opinion on data files; `make test-peers`."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from direct_sum import pair_energies

import instar
from instar.app.config.units import UNITS

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]

COEFFICIENTS = """
Masses

1 12.011
2 14.007
3 1.008

Pair Coeffs # lj/cut/coul/cut

1 0.10 3.4
2 0.17 3.2
3 0.0 0.0

Bond Coeffs # hybrid

1 harmonic 310.0 1.45
2 morse 80.0 2.1 1.5

Angle Coeffs # hybrid

1 harmonic 55.0 111.0
2 cosine/squared 40.0 119.0

Dihedral Coeffs # hybrid

1 harmonic 1.3 1 3
2 harmonic 0.8 -1 2
3 charmm 0.7 2 35 0.0
4 opls 1.1 -0.6 0.9 0.3
5 multi/harmonic 0.5 -1.2 0.7 0.4 -0.3
6 fourier 3 0.4 1 20.0 0.3 2 180.0 0.2 3 -70.0
7 harmonic 0.6 1 0

Improper Coeffs # hybrid

1 harmonic 12.0 0.0
2 cvff 3.0 -1 2
3 cvff 2.0 1 3
"""


def chain(rng):
    """A chain of 11 atoms that zigzags, with every kind of term."""
    count = 11
    steps = np.array([[1.2, 0.9 * (-1) ** n, 0.0] for n in range(count)])
    positions = np.cumsum(steps, 0) + rng.normal(0, 0.25, (count, 3)) + 3.0
    bonds = [(n % 2 + 1, n, n + 1) for n in range(1, count)]
    angles = [(n % 2 + 1, n, n + 1, n + 2) for n in range(1, count - 1)]
    dihedrals = [(n, n, n + 1, n + 2, n + 3) for n in range(1, 8)]
    impropers = [(n, n + 1, n, n + 3, n + 2) for n in (1, 2, 3)]
    return positions, {
        "Bonds": bonds,
        "Angles": angles,
        "Dihedrals": dihedrals,
        "Impropers": impropers,
    }


def written(path, tilted):
    """A data file of the chain; some atoms are written in another image."""
    rng = np.random.default_rng(3)
    positions, terms = chain(rng)
    cell = np.array([[30.0, 0, 0], [4.0 if tilted else 0, 28, 0], [-3 if tilted else 0, 5, 27]])
    cell = cell if tilted else np.diag(np.diag(cell))
    positions[:5] -= cell[1]
    text = ["A chain", "", f"{len(positions)} atoms"]
    text += [f"{len(rows)} {name.lower()}" for name, rows in terms.items()]
    kinds = {"atom": 3, "bond": 2, "angle": 2, "dihedral": 7, "improper": 3}
    text += [f"{count} {kind} types" for kind, count in kinds.items()]
    text += [f"0 {cell[n, n]} {axis}lo {axis}hi" for n, axis in enumerate("xyz")]
    text += [f"{cell[1, 0]} {cell[2, 0]} {cell[2, 1]} xy xz yz"] if tilted else []
    text += [COEFFICIENTS, "Atoms # full", ""]
    charges = rng.normal(0, 0.3, len(positions))
    for n in rng.permutation(len(positions)):
        flags = [0, -1, 0] if n < 5 else [0, 0, 0]
        numbers = [n + 1, 1, n % 3 + 1, charges[n], *(positions[n] - flags @ cell), *flags]
        text.append(" ".join(str(value) for value in numbers))
    text += ["", "Velocities", ""]
    text += [f"{n + 1} {n * 1e-3} {-n * 2e-3} 1e-3" for n in range(len(positions))]
    for name, rows in terms.items():
        text += ["", name, ""]
        text += [" ".join(map(str, (n + 1, *row))) for n, row in enumerate(rows)]
    path.write_text("\n".join(text) + "\n")


SCRIPT = """
units real
atom_style full
box tilt large
pair_style lj/cut/coul/cut 12.0
pair_modify mix geometric
bond_style hybrid harmonic morse
angle_style hybrid harmonic cosine/squared
dihedral_style hybrid harmonic charmm opls multi/harmonic fourier
improper_style hybrid harmonic cvff
special_bonds lj 0.0 0.2 0.5 coul 0.0 0.1 0.8
atom_modify sort 0 0
read_data {path}
"""

KINDS = {
    "ebond": ("harmonic_bond", "morse_bond"),
    "eangle": ("harmonic_angle", "cosine_angle"),
    "edihed": ("periodic_dihedral", "rb_dihedral"),
    "eimp": ("harmonic_improper", "periodic_improper"),
}
PAIRS = {
    "evdwl": ("lennard_jones", "exclusions"),
    "ecoul": ("cutoff_coulomb", "exclusions"),
}
DIGITS = {"evdwl": 1e-10, "ecoul": 1e-7}  # their constant of Coulomb's law has 8 digits


@pytest.fixture(scope="module", params=[False, True], ids=["box", "tilted"])
def both(request, tmp_path_factory):
    subprocess.run([ROOT / "tools" / "peers", "lammps"], check=True, cwd=ROOT)
    folder = tmp_path_factory.mktemp("lammps")
    written(folder / "chain.data", request.param)
    (folder / "in.lammps").write_text(SCRIPT.format(path=folder / "chain.data"))
    python = ROOT / ".venv-peers" / "lammps" / "bin" / "python"
    script = ROOT / "bench" / "peers" / "lammps_topology.py"
    files = ["--script", folder / "in.lammps", "--out", folder / "out.npz"]
    subprocess.run([python, script, *files], check=True, capture_output=True)
    ours = instar.read_topology(
        folder / "chain.data",
        units="real",
        cutoff=12.0,
        special_bonds="lj 0.0 0.2 0.5 coul 0.0 0.1 0.8",
    )
    return ours, dict(np.load(folder / "out.npz"))


@pytest.mark.parametrize("name", KINDS)
def test_energies_of_each_kind_of_term_equal_those_of_lammps(both, name):
    ours, theirs = both
    entries = [entry for entry in ours.potential if entry["type"] in KINDS[name]]
    energy = instar.single_point(ours.atoms, entries).energies[0] / UNITS["kcal/mol"][0]
    np.testing.assert_allclose(energy, theirs[name], rtol=1e-10)


def test_factors_and_parameters_of_pairs_equal_those_of_lammps(both):
    ours, theirs = both
    for name, energy in zip(PAIRS, pair_energies(ours.atoms, ours.potential), strict=True):
        found = energy / UNITS["kcal/mol"][0]
        np.testing.assert_allclose(found, theirs[name], rtol=DIGITS[name])


@pytest.mark.parametrize("name", PAIRS)
def test_energies_of_pairs_equal_those_of_lammps(both, name):
    ours, theirs = both
    entries = [entry for entry in ours.potential if entry["type"] in PAIRS[name]]
    energy = instar.single_point(ours.atoms, entries).energies[0] / UNITS["kcal/mol"][0]
    np.testing.assert_allclose(energy, theirs[name], rtol=DIGITS[name])


def test_forces_equal_those_of_lammps(both):
    ours, theirs = both
    forces = instar.single_point(ours.atoms, ours.potential).forces[0] / UNITS["kcal/mol"][0]
    scale = np.abs(theirs["forces"]).max()
    np.testing.assert_allclose(forces, theirs["forces"], atol=1e-8 * scale)


def test_velocities_equal_those_of_lammps(both):
    ours, theirs = both
    velocities = ours.atoms.get_velocities() * UNITS["fs"][0]
    np.testing.assert_allclose(velocities, theirs["velocities"], rtol=1e-12)
