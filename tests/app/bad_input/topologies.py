"""Data files of LAMMPS, PDB files and force fields, and topologies that a run has stored."""
# ruff: noqa: E501 (a row is a line where it can be)

import json
import os

from app.bad_input.table import STRUCTURE, TOPOLOGY, A, Row, config, put
from app.runs import configuration
from data_files import WATERS

LAMMPS = {"units": "real", "cutoff": 9.0}


def topology(name, content=None, *, beside=(), change=None, **options):
    """A configuration whose systems have the structure of a file, and other files."""

    def make(here):
        known = configuration()
        known = {key: value for key, value in known.items() if key != "potential"}
        known |= {"topology": {"file": name, **options}, "systems": [{"temperature": "300 K"}]}
        config(here, known | (change or {}))
        for other, inside in ((name, content), *beside):
            if callable(inside):
                inside(here / other)
            elif inside is not None:
                put(here, other, inside)

    return make


def waters(old, new, **options):
    """Two waters with a mistake."""
    assert old in WATERS
    return topology("x.data", WATERS.replace(old, new, 1), **(LAMMPS | options))


FIELD = """<ForceField>
 <AtomTypes><Type name="Ar" class="Ar" element="Ar" mass="39.95"/></AtomTypes>
 <Residues><Residue name="ARG"><Atom name="AR" type="Ar" charge="0"/></Residue></Residues>
 <NonbondedForce coulomb14scale="1" lj14scale="1"><Atom type="Ar" sigma="0.34" epsilon="1" charge="0"/></NonbondedForce>
</ForceField>
"""
ATOM = "HETATM    1 AR   ARG A   1       0.000   0.000   0.000  1.00  0.00          AR\n"
BOX = "CRYST1   30.000   30.000   30.000  90.00  90.00  90.00 P 1           1\n"
LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a0 'ha'>"
    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12))
    + "]>\n"
)
QUADRATIC = f"<!DOCTYPE x [<!ENTITY a '{'x' * 100_000}'>]>\n"
SECRET = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"


def pdb(content=BOX + ATOM, field=FIELD, **options):
    """A PDB file and its force field."""
    return topology(
        "x.pdb",
        content,
        beside=(("ff.xml", field),),
        **{"force_field": "ff.xml", "cutoff": 9.0, **options},
    )


def forged(*change):
    return pdb(field=FIELD.replace(*change))


TWICE = [
    (f"f{n}.xml", f"<ForceField>{f'<Include file="f{n + 1}.xml"/>' * 2}</ForceField>")
    for n in range(40)
]
"""Forty files, of which each includes the next one twice."""


def holes(path):
    """A file of 16 GiB that takes no room."""
    path.touch()
    os.truncate(path, 2**34)


STORED = {
    "instar topology": 1,
    "structure": {
        "numbers": [18],
        "positions": [[0.0, 0.0, 0.0]],
        "cell": [[30.0, 0, 0], [0, 30.0, 0], [0, 0, 30.0]],
        "pbc": [True, True, True],
        "masses": [39.95],
        "momenta": [[0.0, 0.0, 0.0]],
        "charges": [0.0],
        "labels": ["Ar"],
    },
    "potential": [
        {
            "type": "lennard_jones",
            "cutoff": 6.0,
            "parameters": {"Ar": {"epsilon": 0.01, "sigma": 3.4}},
        }
    ],
}


def stored(**changes):
    """A topology as a run has stored it, with other arrays; None takes one out."""
    arrays = {
        key: value for key, value in (STORED["structure"] | changes).items() if value is not None
    }
    return topology("x.json", json.dumps(STORED | {"structure": arrays}))


ROWS = {
    "a topology that is not there": Row(topology("x.data", **LAMMPS), TOPOLOGY + "There is no file HERE/x.data."),
    "a topology that is a word": Row(topology("x.data", change={"topology": "x.data"}), TOPOLOGY + "write the file and what it leaves open: {file: water.data, …}"),
    "a topology without a file": Row(topology("x.data", change={"topology": {"units": "real"}}), TOPOLOGY + "write the file and what it leaves open: {file: water.data, …}"),
    "a topology that is a folder": Row(topology("x.data", lambda path: path.mkdir(), **LAMMPS), TOPOLOGY + "There is no file HERE/x.data."),
    "a topology that is a pipe": Row(topology("x.data", os.mkfifo, **LAMMPS), TOPOLOGY + "There is no file HERE/x.data."),
    "a topology that is a device": Row(topology("/dev/zero", **LAMMPS), TOPOLOGY + "There is no file /dev/zero."),
    "a topology and a potential": Row(topology("x.data", WATERS, change={"potential": configuration()["potential"]}, **LAMMPS), A + "potential: the topology has the potential already; take one of the two out"),
    "a topology and a structure": Row(topology("x.data", WATERS, change={"systems": configuration()["systems"]}, **LAMMPS), STRUCTURE + "the topology has the structure already; take one of the two out"),
    "a topology with a name too long": Row(topology("x" * 5000 + ".data", **LAMMPS), TOPOLOGY + "HERE/…: File name too long"),
    # LAMMPS
    "an option that there is not": Row(topology("x.data", WATERS, cutof=9.0, units="real"), TOPOLOGY + "There is no option 'cutof' for this file; did you mean 'cutoff'?"),
    "units of LAMMPS that there are not": Row(topology("x.data", WATERS, units="si", cutoff=9.0), TOPOLOGY + "units must be one of real, metal, electron, lj, not 'si'."),
    "units in a list": Row(topology("x.data", WATERS, units=["real"], cutoff=9.0), TOPOLOGY + "The option units is a word, not ['real']."),
    "no units of LAMMPS": Row(topology("x.data", WATERS, cutoff=9.0), TOPOLOGY + "x.data: a data file doesn't say its units."),
    "a cutoff of LAMMPS in words": Row(topology("x.data", WATERS, units="real", cutoff="long"), TOPOLOGY + "The option cutoff: 'long' is not a quantity; write a number, then a unit: '8.5 angstrom'."),
    "a cutoff of LAMMPS in a list": Row(topology("x.data", WATERS, units="real", cutoff=[9]), TOPOLOGY + "The option cutoff is a length, not [9]."),
    "no cutoff of LAMMPS": Row(topology("x.data", WATERS, units="real"), TOPOLOGY + "x.data, line 18: a pair style needs a cutoff: read_topology(..., cutoff=10)."),
    "styles in words": Row(topology("x.data", WATERS, styles="full", **LAMMPS), TOPOLOGY + "The option styles is a mapping, not 'full'."),
    "special bonds in a list": Row(topology("x.data", WATERS, special_bonds=[0, 0, 1], **LAMMPS), TOPOLOGY + "The option special_bonds is a word, not [0, 0, 1]."),
    "periodic in words": Row(topology("x.data", WATERS, periodic="xyz", **LAMMPS), TOPOLOGY + "The option periodic is true or false, or three of them, not 'xyz'."),
    "an accuracy in words": Row(topology("x.data", WATERS, accuracy="high", **LAMMPS), TOPOLOGY + "The option accuracy is a number between 0 and 1, not 'high'."),
    "an accuracy below zero": Row(topology("x.data", WATERS, accuracy=-1, **LAMMPS), TOPOLOGY + "The option accuracy is a number between 0 and 1, not -1."),
    "a data file that is empty": Row(topology("x.data", "", **LAMMPS), TOPOLOGY + "x.data: the header has no line 'xlo xhi'."),
    "a data file of bytes": Row(topology("x.data", bytes(range(256)) * 40, **LAMMPS), TOPOLOGY + "x.data, line 5: the section '\\x0e\\x0f\\x10\\x11\\x12\\x13\\x14\\x15\\x16\\x17\\x18\\x19\\x1a\\x1b' is not supported."),
    "a data file that is cut short": Row(topology("x.data", WATERS[: len(WATERS) // 2], **LAMMPS), TOPOLOGY + "x.data, line 31: Atoms has 1 lines, but the header says 6 atoms."),
    "a script of LAMMPS": Row(topology("x.data", "units real\natom_style full\nread_data water.data\n", **LAMMPS), TOPOLOGY + "x.data, line 2: the section 'atom_style full' is not supported."),
    "more atoms than lines": Row(waters("6 atoms", "7 atoms"), TOPOLOGY + "x.data, line 31: Atoms has 6 lines, but the header says 7 atoms."),
    "atoms of LAMMPS beyond counting": Row(waters("6 atoms", "9" * 30 + " atoms"), TOPOLOGY + "x.data, line 31: Atoms has 6 lines, but the header says 1000000000000000019884624838656 atoms."),
    "atoms of LAMMPS below zero": Row(waters("6 atoms", "-6 atoms"), TOPOLOGY + "x.data, line 31: Atoms has 6 lines, but the header says -6 atoms."),
    "types of LAMMPS beyond counting": Row(waters("2 atom types", "999999999999 atom types"), TOPOLOGY + "x.data, line 13: Masses has 2 lines, but the header says 999999999999 atom types."),
    "a section that is missing": Row(waters("Masses\n\n1 15.9994 # O\n2 1.008\n", ""), TOPOLOGY + "x.data: there are 2 atom types, but no section Masses."),
    "a section twice": Row(waters("Velocities", "Masses"), TOPOLOGY + "x.data, line 40: the section 'Masses' comes twice."),
    "a mass of LAMMPS below zero": Row(waters("2 1.008", "2 -1.008"), TOPOLOGY + "x.data, line 16: a line must have an atom type and its mass, which is above 0."),
    "an atom type that there is not": Row(waters("4 2 1 -0.834", "4 2 9 -0.834"), TOPOLOGY + "x.data, line 33: there is no atom type '9'; there are 1, 2."),
    "an atom of LAMMPS twice": Row(waters("5 2 2 0.417", "4 2 2 0.417"), TOPOLOGY + "x.data, line 34: atom 4 is defined twice, first on line 33."),
    "a bond of LAMMPS to nobody": Row(waters("4 1 4 6", "4 1 4 9"), TOPOLOGY + "x.data, line 54: there is no atom 9."),
    "a place of LAMMPS that is no number": Row(waters("19.9 0 0 -1 0 1", "19.9 0 nan -1 0 1"), TOPOLOGY + "x.data, line 36: z is 'nan', which is not a finite number."),
    "an image of LAMMPS beyond counting": Row(waters("19.9 0 0 -1 0 1", "19.9 0 0 -1 0 " + "9" * 400), TOPOLOGY + "x.data, line 36: an image flag is '99999999999999999999…', which is not a finite number."),
    "a box of LAMMPS without an end": Row(waters("0 20 xlo xhi", "0 1e300 xlo xhi"), STRUCTURE + "its cell has a vector longer than 1e+07 Å: [[1e+300, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 20.0]]"),
    "a box of LAMMPS inside out": Row(waters("0 20 xlo xhi", "20 0 xlo xhi"), TOPOLOGY + "x.data: the box ends at 0 before it begins at 20 (xlo xhi)."),
    "a box of LAMMPS of no width": Row(waters("0 20 xlo xhi", "0 1e-9 xlo xhi"), STRUCTURE + "its cell [[1e-09, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 20.0]] has no volume"),
    "a style of LAMMPS that there is not": Row(waters("Bond Coeffs # harmonic", "Bond Coeffs # fene"), TOPOLOGY + "x.data, line 23: the bond style is 'fene'."),
    # PDB files and force fields
    "a PDB file without a force field": Row(topology("x.pdb", BOX + ATOM), TOPOLOGY + "x.pdb: a PDB file has no parameters."),
    "a force field that is not there": Row(topology("x.pdb", BOX + ATOM, force_field="ff.xml", cutoff=9.0), TOPOLOGY + "ff.xml: there is no such file."),
    "a force field that is a number": Row(pdb(force_field=3), TOPOLOGY + "3: there is no such file."),
    "no force field in the list": Row(pdb(force_field=[]), TOPOLOGY + "The option force_field names no file."),
    "a force field that is no XML": Row(pdb(field="{}"), TOPOLOGY + "ff.xml: this is not XML: not well-formed (invalid token): line 1, column 0."),
    "a force field that is HTML": Row(pdb(field="<html></html>"), TOPOLOGY + "ff.xml: the outermost tag is <html>, not <ForceField>."),
    "a force field that laughs": Row(pdb(field=LAUGHS + FIELD.replace('"ARG"', '"&a11;"')), TOPOLOGY + "ff.xml: this is not XML: limit on input amplification factor (from DTD and entities) breached: line 4, column 11."),
    "a force field that grows": Row(pdb(field=QUADRATIC + FIELD.replace('"ARG"', f'"{"&a;" * 20_000}"')), TOPOLOGY + "ff.xml: this is not XML: limit on input amplification factor (from DTD and entities) breached: line 4, column 11."),
    "a force field that reads other files": Row(pdb(field=SECRET + FIELD.replace("<Residues>", "<Residues>&a;")), TOPOLOGY + "ff.xml: this is not XML: undefined entity &a;: line 4, column 11."),
    "a force field that includes itself": Row(forged("<AtomTypes>", '<Include file="ff.xml"/><AtomTypes>'), TOPOLOGY + "ff.xml: the file includes itself."),
    "a force field that includes a device": Row(forged("<AtomTypes>", '<Include file="/dev/zero"/><AtomTypes>'), TOPOLOGY + "zero: there is no such file (included by ff.xml)."),
    "a force field that includes files again and again": Row(topology("x.pdb", BOX + ATOM, beside=TWICE, force_field="f0.xml", cutoff=9.0), TOPOLOGY + "f40.xml: …"),
    "a force field nested without an end": Row(forged("<AtomTypes>", "<a>" * 100_000 + "</a>" * 100_000 + "<AtomTypes>"), TOPOLOGY + "ff.xml: <a> is not supported."),
    "a force that there is not": Row(forged("NonbondedForce", "AmoebaForce"), TOPOLOGY + "ff.xml: <AmoebaForce> is not supported."),
    "a mass that is missing": Row(forged(' mass="39.95"', ""), TOPOLOGY + "ff.xml: <Type name=\"Ar\" class=\"Ar\" element=\"Ar\"> has no attribute 'mass'."),
    "a mass of a force field below zero": Row(forged('"39.95"', '"-39.95"'), STRUCTURE + "atom 0 has the mass -39.95; it must be above 0 and below 1e+09 amu"),
    "a charge in words": Row(forged('type="Ar" charge="0"', 'type="Ar" charge="none"'), TOPOLOGY + "ff.xml: charge of <Atom name=\"AR\" type=\"Ar\" charge=\"none\"> is 'none', which is not a finite number."),
    "a type of a residue that there is not": Row(forged('"AR" type="Ar"', '"AR" type="Kr"'), TOPOLOGY + "ff.xml: the residue 'ARG' has an atom of the type 'Kr', which is not among the <AtomTypes>."),
    "a size of a force field below zero": Row(forged('sigma="0.34"', 'sigma="-0.34"'), TOPOLOGY + "ff.xml: <Atom type=\"Ar\" sigma=\"-0.34\" epsilon=\"1\" charge=\"0\">: epsilon and sigma are not above 0."),
    "a residue that there is not": Row(pdb(BOX + ATOM.replace("AR\n", "KR\n").replace("ARG", "KRY")), TOPOLOGY + "x.pdb, line 2: residue KRY 1 of chain A matches no residue of the force field, and none has its name."),
    "a PDB file without atoms": Row(pdb(BOX), TOPOLOGY + "x.pdb: there are no atoms."),
    "a PDB file of bytes": Row(pdb(bytes(range(256)) * 9), TOPOLOGY + "x.pdb: there are no atoms."),
    "a place of a PDB file in words": Row(pdb(BOX + ATOM.replace("0.000   0.000", "there  0.000", 1)), TOPOLOGY + "x.pdb, line 2: 'there' is not a number (columns 31 to 38)."),
    "a place of a PDB file that is no number": Row(pdb(BOX + ATOM.replace("  0.000", "    nan", 1)), TOPOLOGY + "x.pdb, line 2: 'nan' is not a number (columns 31 to 38)."),
    "a line of a PDB file that ends": Row(pdb(BOX + ATOM[:40]), TOPOLOGY + "x.pdb, line 2: the line ends before the coordinates do (column 54)."),
    "a box of a PDB file without a volume": Row(pdb(BOX.replace("90.00  90.00  90.00", " 0.00   0.00   0.00") + ATOM), TOPOLOGY + "x.pdb, line 1: a length or an angle of the cell is not above 0."),
    "no cutoff in a box": Row(pdb(cutoff=None), TOPOLOGY + "x.pdb: there is a cell, so a cutoff is needed: read_topology(..., cutoff=10)."),
    "constraints that there are not": Row(pdb(constraints="all"), TOPOLOGY + "constraints must be hbonds, allbonds or None, not 'all'."),
    # Stored ones
    "a stored topology that is not JSON": Row(topology("x.json", "{"), TOPOLOGY + "x.json is not a topology that a run has stored."),
    "a stored topology of something else": Row(topology("x.json", "[1]"), TOPOLOGY + "x.json is not a topology that a run has stored."),
    "a stored topology nested without an end": Row(topology("x.json", "[" * 100_000), TOPOLOGY + "x.json is not a topology that a run has stored."),
    "a stored topology of another version": Row(topology("x.json", json.dumps(STORED | {"instar topology": 9})), TOPOLOGY + "x.json is of version 9; this instar reads version 1."),
    "a stored topology without masses": Row(stored(masses=None), TOPOLOGY + "x.json is damaged: 'masses' is missing."),
    "a stored topology of other lengths": Row(stored(masses=[1.0, 2.0]), TOPOLOGY + "x.json is damaged: Array \"masses\" has wrong length: 2 != 1."),
    "a stored topology with text for numbers": Row(stored(positions=[["a", "b", "c"]]), TOPOLOGY + "x.json is damaged: could not convert string to float: 'a'."),
    "a stored topology with a place that is no number": Row(stored(positions=[[float("nan"), 0, 0]]), STRUCTURE + "the position of atom 0 is not finite: [nan, 0.0, 0.0]"),
    "a stored topology of no element": Row(stored(numbers=[400]), TOPOLOGY + "x.json is damaged: numbers has entries that are not atomic numbers."),
    "a stored topology with a mass of zero": Row(stored(masses=[0.0]), STRUCTURE + "atom 0 has the mass 0.0; it must be above 0 and below 1e+09 amu"),
    "a stored topology with a cell of two": Row(stored(cell=[[1, 2], [3, 4]]), TOPOLOGY + "x.json is damaged: Cell must be length 3 sequence, length 6 sequence or 3x3 matrix."),
    "a stored topology with a potential that is none": Row(topology("x.json", json.dumps(STORED | {"potential": 3})), TOPOLOGY + "x.json is damaged: potential is not a list."),
    "a stored topology without a potential": Row(topology("x.json", json.dumps({k: v for k, v in STORED.items() if k != "potential"})), TOPOLOGY + "x.json is damaged: 'potential' is missing."),
    "a stored topology with labels for others": Row(stored(labels=["Ar", "Kr"]), TOPOLOGY + "x.json is damaged: Array \"labels\" has wrong length: 2 != 1."),
}  # fmt: skip
