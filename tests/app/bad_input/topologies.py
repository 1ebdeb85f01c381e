"""Data files of LAMMPS, PDB files and force fields, and topologies that a run has stored."""
# ruff: noqa: E501 (a row is a line where it can be)

import json
import os

from app.bad_input.table import Row, config, put
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
LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>" + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12)) + "]>\n"
QUADRATIC = f"<!DOCTYPE x [<!ENTITY a '{'x' * 100_000}'>]>\n"
SECRET = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"


def pdb(content=BOX + ATOM, field=FIELD, **options):
    """A PDB file and its force field."""
    return topology("x.pdb", content, beside=(("ff.xml", field),), **{"force_field": "ff.xml", "cutoff": 9.0, **options})


def forged(*change):
    return pdb(field=FIELD.replace(*change))


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
    "potential": [{"type": "lennard_jones", "cutoff": 6.0, "parameters": {"Ar": {"epsilon": 0.01, "sigma": 3.4}}}],
}


def stored(**changes):
    """A topology as a run has stored it, with other arrays; None takes one out."""
    arrays = {key: value for key, value in (STORED["structure"] | changes).items() if value is not None}
    return topology("x.json", json.dumps(STORED | {"structure": arrays}))


ROWS = {
    "a topology that is not there": Row(topology("x.data", **LAMMPS), "?"),
    "a topology that is a word": Row(topology("x.data", change={"topology": "x.data"}), "?"),
    "a topology without a file": Row(topology("x.data", change={"topology": {"units": "real"}}), "?"),
    "a topology that is a folder": Row(topology("x.data", lambda path: path.mkdir(), **LAMMPS), "?"),
    "a topology that is a pipe": Row(topology("x.data", os.mkfifo, **LAMMPS), "?"),
    "a topology that is a device": Row(topology("/dev/zero", **LAMMPS), "?"),
    "a topology and a potential": Row(topology("x.data", WATERS, change={"potential": configuration()["potential"]}, **LAMMPS), "?"),
    "a topology and a structure": Row(topology("x.data", WATERS, change={"systems": configuration()["systems"]}, **LAMMPS), "?"),
    # LAMMPS
    "an option that there is not": Row(topology("x.data", WATERS, cutof=9.0, units="real"), "?"),
    "units of LAMMPS that there are not": Row(topology("x.data", WATERS, units="si", cutoff=9.0), "?"),
    "units in a list": Row(topology("x.data", WATERS, units=["real"], cutoff=9.0), "?"),
    "no units of LAMMPS": Row(topology("x.data", WATERS, cutoff=9.0), "?"),
    "a cutoff of LAMMPS in words": Row(topology("x.data", WATERS, units="real", cutoff="long"), "?"),
    "a cutoff of LAMMPS in a list": Row(topology("x.data", WATERS, units="real", cutoff=[9]), "?"),
    "no cutoff of LAMMPS": Row(topology("x.data", WATERS, units="real"), "?"),
    "styles in words": Row(topology("x.data", WATERS, styles="full", **LAMMPS), "?"),
    "special bonds in a list": Row(topology("x.data", WATERS, special_bonds=[0, 0, 1], **LAMMPS), "?"),
    "periodic in words": Row(topology("x.data", WATERS, periodic="xyz", **LAMMPS), "?"),
    "an accuracy in words": Row(topology("x.data", WATERS, accuracy="high", **LAMMPS), "?"),
    "an accuracy below zero": Row(topology("x.data", WATERS, accuracy=-1, **LAMMPS), "?"),
    "a data file that is empty": Row(topology("x.data", "", **LAMMPS), "?"),
    "a data file of bytes": Row(topology("x.data", bytes(range(256)) * 40, **LAMMPS), "?"),
    "a data file that is cut short": Row(topology("x.data", WATERS[: len(WATERS) // 2], **LAMMPS), "?"),
    "a script of LAMMPS": Row(topology("x.data", "units real\natom_style full\nread_data water.data\n", **LAMMPS), "?"),
    "more atoms than lines": Row(waters("6 atoms", "7 atoms"), "?"),
    "atoms of LAMMPS beyond counting": Row(waters("6 atoms", "9" * 30 + " atoms"), "?"),
    "atoms of LAMMPS below zero": Row(waters("6 atoms", "-6 atoms"), "?"),
    "types of LAMMPS beyond counting": Row(waters("2 atom types", "999999999999 atom types"), "?"),
    "a section that is missing": Row(waters("Masses\n\n1 15.9994 # O\n2 1.008\n", ""), "?"),
    "a section twice": Row(waters("Velocities", "Masses"), "?"),
    "a mass of LAMMPS below zero": Row(waters("2 1.008", "2 -1.008"), "?"),
    "an atom type that there is not": Row(waters("4 2 1 -0.834", "4 2 9 -0.834"), "?"),
    "an atom of LAMMPS twice": Row(waters("5 2 2 0.417", "4 2 2 0.417"), "?"),
    "a bond of LAMMPS to nobody": Row(waters("4 1 4 6", "4 1 4 9"), "?"),
    "a place of LAMMPS that is no number": Row(waters("19.9 0 0 -1 0 1", "19.9 0 nan -1 0 1"), "?"),
    "an image of LAMMPS beyond counting": Row(waters("19.9 0 0 -1 0 1", "19.9 0 0 -1 0 " + "9" * 400), "?"),
    "a box of LAMMPS without an end": Row(waters("0 20 xlo xhi", "0 1e300 xlo xhi"), "?"),
    "a box of LAMMPS inside out": Row(waters("0 20 xlo xhi", "20 0 xlo xhi"), "?"),
    "a box of LAMMPS of no width": Row(waters("0 20 xlo xhi", "0 1e-9 xlo xhi"), "?"),
    "a style of LAMMPS that there is not": Row(waters("Bond Coeffs # harmonic", "Bond Coeffs # fene"), "?"),
    # PDB files and force fields
    "a PDB file without a force field": Row(topology("x.pdb", BOX + ATOM), "?"),
    "a force field that is not there": Row(topology("x.pdb", BOX + ATOM, force_field="ff.xml", cutoff=9.0), "?"),
    "a force field that is a number": Row(pdb(force_field=3), "?"),
    "no force field in the list": Row(pdb(force_field=[]), "?"),
    "a force field that is no XML": Row(pdb(field="{}"), "?"),
    "a force field that is HTML": Row(pdb(field="<html></html>"), "?"),
    "a force field that laughs": Row(pdb(field=LAUGHS + FIELD.replace('"ARG"', '"&a11;"')), "?"),
    "a force field that grows": Row(pdb(field=QUADRATIC + FIELD.replace('"ARG"', f'"{"&a;" * 20_000}"')), "?"),
    "a force field that reads other files": Row(pdb(field=SECRET + FIELD.replace("<Residues>", "<Residues>&a;")), "?"),
    "a force field that includes itself": Row(forged("<AtomTypes>", '<Include file="ff.xml"/><AtomTypes>'), "?"),
    "a force field that includes a device": Row(forged("<AtomTypes>", '<Include file="/dev/zero"/><AtomTypes>'), "?"),
    "a force field nested without an end": Row(forged("<AtomTypes>", "<a>" * 100_000 + "</a>" * 100_000 + "<AtomTypes>"), "?"),
    "a force that there is not": Row(forged("NonbondedForce", "AmoebaForce"), "?"),
    "a mass that is missing": Row(forged(' mass="39.95"', ""), "?"),
    "a mass of a force field below zero": Row(forged('"39.95"', '"-39.95"'), "?"),
    "a charge in words": Row(forged('type="Ar" charge="0"', 'type="Ar" charge="none"'), "?"),
    "a type of a residue that there is not": Row(forged('"AR" type="Ar"', '"AR" type="Kr"'), "?"),
    "a size of a force field below zero": Row(forged('sigma="0.34"', 'sigma="-0.34"'), "?"),
    "a residue that there is not": Row(pdb(BOX + ATOM.replace("ARG", "XXX")), "?"),
    "a PDB file without atoms": Row(pdb(BOX), "?"),
    "a PDB file of bytes": Row(pdb(bytes(range(256)) * 9), "?"),
    "a place of a PDB file in words": Row(pdb(BOX + ATOM.replace("0.000   0.000", "there  0.000", 1)), "?"),
    "a place of a PDB file that is no number": Row(pdb(BOX + ATOM.replace("  0.000", "    nan", 1)), "?"),
    "a line of a PDB file that ends": Row(pdb(BOX + ATOM[:40]), "?"),
    "a box of a PDB file without a volume": Row(pdb(BOX.replace("90.00  90.00  90.00", " 0.00   0.00   0.00") + ATOM), "?"),
    "no cutoff in a box": Row(pdb(cutoff=None), "?"),
    "constraints that there are not": Row(pdb(constraints="all"), "?"),
    # Stored ones
    "a stored topology that is no JSON": Row(topology("x.json", "{"), "?"),
    "a stored topology of something else": Row(topology("x.json", "[1]"), "?"),
    "a stored topology nested without an end": Row(topology("x.json", "[" * 100_000), "?"),
    "a stored topology of another version": Row(topology("x.json", json.dumps(STORED | {"instar topology": 9})), "?"),
    "a stored topology without masses": Row(stored(masses=None), "?"),
    "a stored topology of other lengths": Row(stored(masses=[1.0, 2.0]), "?"),
    "a stored topology with text for numbers": Row(stored(positions=[["a", "b", "c"]]), "?"),
    "a stored topology with a place that is no number": Row(stored(positions=[[float("nan"), 0, 0]]), "?"),
    "a stored topology of no element": Row(stored(numbers=[400]), "?"),
    "a stored topology with a mass of zero": Row(stored(masses=[0.0]), "?"),
    "a stored topology with a cell of two": Row(stored(cell=[[1, 2], [3, 4]]), "?"),
    "a stored topology with a potential that is none": Row(topology("x.json", json.dumps(STORED | {"potential": 3})), "?"),
    "a stored topology without a potential": Row(topology("x.json", json.dumps({k: v for k, v in STORED.items() if k != "potential"})), "?"),
    "a stored topology with labels for others": Row(stored(labels=["Ar", "Kr"]), "?"),
}  # fmt: skip
