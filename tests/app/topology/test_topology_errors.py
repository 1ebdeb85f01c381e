"""Data files of LAMMPS that can't be read: each error by its first line."""
# ruff: noqa: E501

import pytest
from data_files import WATERS, chain, read, waters
from support import raises

import instar
from instar.app.topology import TopologyError
from instar.app.topology.lammps.atoms import _periodic


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("6 atoms", "7 atoms", "line 31: Atoms has 6 lines, but the header says 7 atoms."),
        ("4 bonds", "5 bonds", "line 49: Bonds has 4 lines, but the header says 5 bonds."),
        ("6 atoms", "6 ellipsoids", "line 3: the header line '6 ellipsoids' is not supported."),
        ("6 atoms", "six atoms", "line 3: the section 'six atoms' is not supported."),
        ("6 atoms", "6 6 atoms", "line 3: 'atoms' comes after 2 numbers, not 1."),
        ("6 atoms", "6.5 atoms", "line 3: the number of atoms is '6.5', which is not a whole number."),
        ("0 20 xlo xhi\n", "", "the header has no line 'xlo xhi'."),
        ("0 20 xlo xhi", "20 0 xlo xhi", "the box ends at 0 before it begins at 20 (xlo xhi)."),
        ("Velocities", "Bodies", "line 40: the section 'Bodies' is not supported."),
        ("Velocities", "Masses", "line 40: the section 'Masses' comes twice."),
        ("Angle Coeffs", "BondBond Coeffs", "line 27: the section 'BondBond Coeffs' is not supported."),
        ("2 1.008", "2 heavy", "line 16: the mass is 'heavy', which is not a finite number."),
        ("2 1.008", "2 0", "line 16: a line must have an atom type and its mass, which is above 0."),
        ("2 1.008", "1 1.008", "line 13: atom type 2 has no mass."),
        ("2 1.008", "3 1.008", "line 16: there is no atom type '3'; there are 1, 2."),
        ("# full", "# sphere", "line 31: the atom style is 'sphere'."),
        ("# full", "", "line 31: the atom style is not given."),
        (
            "# full",
            "# atomic",
            "line 36: there are 10 words, but the style has 5: id type x y z, and maybe three image "
            "flags.",
        ),
        ("19.9 0 0 -1 0 1", "19.9 0 nan -1 0 1", "line 36: z is 'nan', which is not a finite number."),
        ("19.9 0 0 -1 0 1", "19.9 0 0 -1 0 .5", "line 36: an image flag is '.5', which is not a whole number."),
        ("5 2 2 0.417", "4 2 2 0.417", "line 34: atom 4 is defined twice, first on line 33."),
        ("4 2 1 -0.834", "4 2 9 -0.834", "line 33: there is no atom type '9'; there are 1, 2."),
        ("6 0 0 -0.002", "9 0 0 -0.002", "line 47: there is no atom 9."),
        ("6 0 0 -0.002", "6 0 0", "line 47: a velocity is missing; there are 3 words."),
        ("4 1 4 6", "4 1 4 9", "line 54: there is no atom 9."),
        ("4 1 4 6", "4 1 4", "line 54: there are 3 words, not an id, a type and 2 atoms."),
        ("4 1 4 6", "4 1 4 4", "line 54: an atom is named twice: 4 4."),
        ("4 1 4 6", "4 2 4 6", "line 54: bond type 2 has no coefficients."),
        ("4 1 4 6", "4 1 5 4", "line 54: the bond between atoms 5 and 4 is defined twice, first on line 53."),
        ("1 450 0.9572", "1 -450 0.9572", "line 25: bond style harmonic: K is -450, which is below 0."),
        ("1 450 0.9572", "1 450 -1", "line 25: bond style harmonic: r0 is -1, which is below 0."),
        ("1 450", "7 450", "line 25: there is no bond type '7'; there are 1."),
        ("1 450 0.9572", "1 450", "line 25: bond style harmonic has 2 coefficients, not 1."),
        ("1 450 0.9572", "1 k 0.9572", "line 25: a coefficient is 'k', which is not a finite number."),
        ("Bond Coeffs # harmonic", "Bond Coeffs # fene", "line 23: the bond style is 'fene'."),
        ("Bond Coeffs # harmonic", "Bond Coeffs", "line 23: the bond style is not given."),
        (
            "Bond Coeffs # harmonic",
            "Bond Coeffs # hybrid",
            "line 25: the bond style '450' is not supported.",
        ),
        ("Bond Coeffs # harmonic\n\n1 450 0.9572\n", "", "line 46: there are bonds, but no section Bond Coeffs."),
        ("lj/cut/coul/long", "buck", "line 18: the pair style is 'buck'."),
        ("1 0.1521 3.1507", "1 0.1521", "line 20: pair style lj/cut/coul/long has from 2 to 3 coefficients, not 1."),
        ("1 0.1521 3.1507", "1 0.1521 3.1507 8", "line 20: this type has the cutoff 8 Å, but all have 9 Å."),
        ("1 0.1521 3.1507", "1 0.1521 0", "line 20: ε = 0.1521 and σ = 0 are not above 0."),
        ("2 0 0\n", "1 0 0\n", "line 18: atom type 2 has no pair coefficients."),
        ("Pair Coeffs # lj/cut/coul/long\n\n1 0.1521 3.1507\n2 0 0\n", "", "there is a cutoff, but no section Pair Coeffs."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_data_file_is_named_with_its_line(tmp_path, old, new, message):
    assert old in WATERS
    where = "x.data, " if message.startswith("line") else "x.data: "
    with raises(TopologyError, where + message):
        waters(tmp_path, WATERS.replace(old, new, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff": -9.0}, "The option cutoff is a length above 0 Å, not -9.0."),
        ({"cutoff": 0}, "The option cutoff is a length above 0 Å, not 0."),
        ({"cutoff": "9 K"}, "The option cutoff: '9 K' has the wrong unit: a length, such as angstrom is needed."),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(tmp_path, options, message):
    with raises(TopologyError, message):
        waters(tmp_path, **options)


@pytest.mark.parametrize("given", ["yes", 1, (True, 1, False), (True, False), None])
def test_periodic_is_one_switch_or_three(given):
    said = f"The option periodic is True or False, or three of them; not {given!r}."
    with raises(TopologyError, said):
        _periodic(given)


def test_a_file_that_is_cut_short_is_refused(tmp_path):
    lines = WATERS.strip().splitlines()
    for count in range(len(lines)):
        with pytest.raises(TopologyError, match=r"x\.data"):
            waters(tmp_path, "\n".join(lines[:count]))


@pytest.mark.parametrize(
    ("kind", "style", "given", "message"),
    [
        ("dihedral", "charmm", "2 3 90 0.5", "the weight 0.5 is not 0; give the factors of pairs 1-4 apart as special_bonds."),
        ("dihedral", "harmonic", "2 0.5 3", "d must be 1 or -1, not 0.5."),
        ("dihedral", "harmonic", "2 1 1.5", "the multiplicity 1.5 is not a whole number from 0 on."),
        ("dihedral", "fourier", "2 1 1 90", "the number m of terms must be followed by K, n and d of each."),
        ("improper", "harmonic", "20 30", "χ0 is 30°; LAMMPS' angle has no sign, so only 0 says which side is meant."),
    ],
)  # fmt: skip
def test_coefficients_without_a_counterpart_are_refused(tmp_path, kind, style, given, message):
    line = {"dihedral": 32, "improper": 36}[kind]
    with raises(TopologyError, f"x.data, line {line}: {kind} style {style}: {message}"):
        chain(tmp_path, {kind: style}, **{kind: given})


def test_lj_charmm_with_other_parameters_for_near_pairs_is_refused(tmp_path):
    text = WATERS.replace("lj/cut/coul/long", "lj/charmm/coul/long")
    with raises(
        TopologyError,
        "x.data, line 20: ε and σ of pairs 1-4 apart differ from those of other pairs, for which "
        "there is no counterpart.",
    ):
        waters(tmp_path, text.replace("3.1507", "3.1507 0.1 3.1507"), truncation="truncate")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff": None}, "x.data, line 18: a pair style needs a cutoff: read_topology(..., cutoff=10)."),
        ({"units": "si"}, "units must be one of real, metal, electron, lj, not 'si'."),
        ({"special_bonds": "lj 0 0"}, "special_bonds='lj 0 0' is not understood."),
        ({"special_bonds": "lj 0 0 2"}, "special_bonds='lj 0 0 2' is not understood."),
        ({"special_bonds": "opls"}, "special_bonds='opls' is not understood."),
        ({"cutof": 3}, "There is no option 'cutof' for this file; did you mean 'cutoff'?"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(tmp_path, options, message):
    with raises(TopologyError, message):
        waters(tmp_path, **options)


def test_a_file_that_is_not_there_or_says_no_units_is_refused(tmp_path):
    with raises(TopologyError, f"There is no file {tmp_path / 'no.data'}."):
        instar.read_topology(tmp_path / "no.data")
    with raises(TopologyError, "x.data: a data file doesn't say its units."):
        read(tmp_path, WATERS)


def test_coefficients_are_needed(tmp_path):
    text = "None\n\n1 atoms\n1 atom types\n0 1 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\n\nMasses\n\n1 1\n"
    with raises(
        TopologyError, "x.data: there are no coefficients, so nothing acts between the atoms."
    ):
        read(tmp_path, f"{text}\nAtoms # atomic\n\n1 1 0 0 0\n", units="metal")
