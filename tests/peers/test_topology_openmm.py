"""OpenMM as a second opinion on force fields; `make test-peers`."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from direct_sum import pair_energies

import instar
from instar.app.config.units import UNITS

pytestmark = pytest.mark.peers

ROOT = Path(__file__).parents[2]
KJ = UNITS["kJ/mol"][0]
FILES = ["amber14/protein.ff14SB.xml", "amber14/tip3p.xml"]
RESIDUES = ["ACE", "ALA", "NME"]

# Each atom behind three others, with bond (Å), angle and dihedral (degrees).
DIPEPTIDE = """
0.HH31 0.CH3 0.C  1.N     1.09 109 180
0.HH32 0.CH3 0.C  1.N     1.08 110  61
0.HH33 0.CH3 0.C  1.N     1.10 108 -60
0.O    0.C   1.N  1.CA    1.23 122   3
1.H    1.N   0.C  0.CH3   1.01 119  -4
1.C    1.CA  1.N  0.C     1.52 111 -75
1.HA   1.CA  1.N  0.C     1.09 109  44
1.CB   1.CA  1.N  0.C     1.53 110 160
1.HB1  1.CB  1.CA 1.N     1.09 110  58
1.HB2  1.CB  1.CA 1.N     1.10 109 178
1.HB3  1.CB  1.CA 1.N     1.08 111 -62
2.N    1.C   1.CA 1.N     1.34 117 130
1.O    1.C   1.CA 1.N     1.23 120 -48
2.CH3  2.N   1.C  1.CA    1.45 121 177
2.H    2.N   1.C  1.CA    1.01 120  -6
2.HH31 2.CH3 2.N  1.C     1.09 109  57
2.HH32 2.CH3 2.N  1.C     1.10 110 179
2.HH33 2.CH3 2.N  1.C     1.08 108 -63
"""
START = {
    "1.CA": [2.4, 0.1, 0.0],
    "1.N": [1.3, -0.9, 0.1],
    "0.C": [0.0, -0.5, 0.0],
    "0.CH3": [-1.1, -1.5, 0.1],
}


def behind(a, b, c, values):
    """The position of an atom at these internal coordinates behind a, b and c."""
    bond, angle, dihedral = values[0], *np.radians(values[1:])
    axis = (a - b) / np.linalg.norm(a - b)
    normal = np.cross(b - c, axis)
    normal /= np.linalg.norm(normal)
    turn = np.cos(dihedral) * np.cross(normal, axis) + np.sin(dihedral) * normal
    return a + bond * (-np.cos(angle) * axis + np.sin(angle) * turn)


def dipeptide():
    """Positions (Å) of alanine dipeptide, a little out of shape."""
    found = {name: np.array(position) for name, position in START.items()}
    for line in DIPEPTIDE.strip().splitlines():
        name, one, other, third, *values = line.split()
        found[name] = behind(found[one], found[other], found[third], [float(v) for v in values])
    return found


def record(number, name, residue, position):
    """One line of a PDB file; ``residue`` is its name and number."""
    shown = f" {name:<3}" if len(name) < 4 else name
    x, y, z = position
    return (
        f"ATOM  {number:5d} {shown} {residue[0]:<3} A{residue[1]:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           {name[0]}"
    )


def written(path):
    """Alanine dipeptide and three waters."""
    atoms = [(n.split(".")[1], int(n[0]), p) for n, p in dipeptide().items()]
    atoms.sort(key=lambda atom: atom[1])
    lines = [(name, (RESIDUES[n], n + 1), position) for name, n, position in atoms]
    water = {"O": [0.0, 0, 0], "H1": [0.93, 0.1, 0.05], "H2": [-0.25, 0.94, -0.04]}
    for n, place in enumerate([[0, 5, 1], [4, 5, -1], [1, -6, 2]]):
        lines += [(name, ("HOH", n + 4), np.add(place, own)) for name, own in water.items()]
    text = [record(number + 1, *line) for number, line in enumerate(lines)]
    path.write_text("\n".join([*text[:22], "TER", *text[22:], "END", ""]))


def peer(folder, *options, pdb=None, files=FILES):
    """What OpenMM makes of a file."""
    python = ROOT / ".venv-peers" / "openmm" / "bin" / "python"
    script = ROOT / "bench" / "peers" / "openmm_topology.py"
    paths = ["--pdb", pdb or folder / "in.pdb", "--out", folder / "out.json"]
    run = [python, script, *paths, *options, "--", *files]
    subprocess.run(run, check=True, capture_output=True)
    return json.loads((folder / "out.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    subprocess.run([ROOT / "tools" / "peers", "openmm"], check=True, cwd=ROOT)
    folder = tmp_path_factory.mktemp("openmm")
    written(folder / "in.pdb")
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    return peer(folder)


@pytest.fixture(scope="module")
def ours(folder, theirs):
    path = folder / "in.pdb"
    return instar.read_topology(path, force_field=theirs["files"], rigid_water=False)


KINDS = {
    "HarmonicBondForce": ("harmonic_bond",),
    "HarmonicAngleForce": ("harmonic_angle",),
    "PeriodicTorsionForce": ("periodic_dihedral", "periodic_improper"),
}
NONBONDED = ("lennard_jones", "cutoff_coulomb", "exclusions")


@pytest.mark.parametrize("name", KINDS)
def test_energies_of_each_kind_of_term_equal_those_of_openmm(ours, theirs, name):
    entries = [entry for entry in ours.potential if entry["type"] in KINDS[name]]
    energy = instar.single_point(ours.atoms, entries).energies[0] / KJ
    np.testing.assert_allclose(energy, theirs["energies"][name], rtol=1e-9)


def test_factors_and_parameters_of_pairs_equal_those_of_openmm(ours, theirs):
    energy = sum(pair_energies(ours.atoms, ours.potential)) / KJ
    np.testing.assert_allclose(energy, theirs["energies"]["NonbondedForce"], rtol=1e-7)


def test_energies_of_pairs_equal_those_of_openmm(ours, theirs):
    entries = [entry for entry in ours.potential if entry["type"] in NONBONDED]
    energy = instar.single_point(ours.atoms, entries).energies[0] / KJ
    np.testing.assert_allclose(energy, theirs["energies"]["NonbondedForce"], rtol=1e-7)


def bonds_at_fixed_lengths(topology):
    pairs = Counter()
    for entry in topology.potential:
        for term in entry.get("terms", ()):
            if entry["type"] == "distance_constraint":
                pairs[(*term["atoms"], round(term["r0"], 8))] += 1
            if entry["type"] == "rigid_water":
                oxygen, one, other = term["atoms"]
                pairs[(oxygen, one, round(term["oh"], 8))] += 1
                pairs[(oxygen, other, round(term["oh"], 8))] += 1
                pairs[(one, other, round(term["hh"], 8))] += 1
    return pairs


@pytest.mark.parametrize("constraints", [None, "hbonds", "allbonds"])
def test_constraints_and_what_remains_equal_those_of_openmm(folder, constraints):
    options = ["--rigid-water", *(["--constraints", constraints] if constraints else [])]
    theirs = peer(folder, *options)
    ours = instar.read_topology(
        folder / "in.pdb", force_field=theirs["files"], constraints=constraints
    )
    expected = Counter(
        (int(min(a, b)), int(max(a, b)), round(10 * r, 8)) for a, b, r in theirs["constraints"]
    )
    assert bonds_at_fixed_lengths(ours) == expected
    counts = {entry["type"]: len(entry.get("terms", ())) for entry in ours.potential}
    for name in ("HarmonicBondForce", "HarmonicAngleForce"):
        assert counts.get(KINDS[name][0], 0) == len(theirs["terms"][name])


SIZES = {"HarmonicBondForce": 2, "HarmonicAngleForce": 3, "PeriodicTorsionForce": 4}


def six_digits(values):
    return tuple(float(f"{value:.6g}") for value in values)


def ends_sorted(atoms):
    atoms = [int(atom) for atom in atoms]
    return tuple(min(atoms, atoms[::-1]))


def their_terms(theirs):
    found = Counter()
    for name, size in SIZES.items():
        for term in theirs["terms"][name]:
            found[name, ends_sorted(term[:size]), six_digits(term[size:])] += 1
    return found


def our_terms(ours):
    columns = {"harmonic_bond": "r0 k", "harmonic_angle": "theta0 k"}
    scales = {"k": 1 / KJ, "r0": 0.1}
    names = {kind: name for name, kinds in KINDS.items() for kind in kinds}
    found = Counter()
    for entry in ours.potential:
        for term in entry.get("terms", ()):
            keys = columns.get(entry["type"], "n phi0 k").split()
            values = [term[key] * scales.get(key, 1) for key in keys]
            values[-1] *= 100 if "bond" in entry["type"] else 1  # by nm², not Å²
            found[names[entry["type"]], ends_sorted(term["atoms"]), six_digits(values)] += 1
    return found


@pytest.mark.parametrize(
    "files",
    [
        FILES,
        ["amber14-all.xml", "amber14/tip3p.xml"],
        ["amber14/protein.ff15ipq.xml", "amber14/spce.xml"],
        ["amber99sb.xml", "tip3p.xml"],
        ["amber03.xml", "tip3p.xml"],
        ["amberfb15.xml", "tip3pfb.xml"],
    ],
    ids=lambda files: files[0],
)
def test_terms_of_a_protein_in_water_equal_those_of_openmm(folder, files):
    theirs = peer(folder, pdb="test.pdb", files=files)
    ours = instar.read_topology(
        theirs["pdb"], force_field=theirs["files"], cutoff=9, rigid_water=False
    )
    assert len(ours.atoms) > 8000
    assert our_terms(ours) == their_terms(theirs)
