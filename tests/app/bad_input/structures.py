"""Structures that can't be read, can't be made, or can't be computed with."""
# ruff: noqa: E501 (a row is a line where it can be)

import bz2
import contextlib
import gzip
import lzma
import os
import pickle
import sqlite3
from typing import Any

import ase.db
import ase.io
import numpy as np
from app.bad_input.table import STRUCTURE, A, Row, cell, file_of, lattice, put, structure, usual
from ase import Atoms

XYZ = b'1\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3\nAr 0 0 0\n'
FILE = STRUCTURE + "HERE/"
NAN = float("nan")


def xyz(*change, **keys):
    """A structure file with a change of its text."""
    return file_of("x.extxyz", XYZ.replace(*change), **keys)


def with_column(name, kind, value):
    """A structure file with one more column."""
    return file_of(
        "x.extxyz",
        f'1\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3:{name}:{kind}:1\nAr 0 0 0 {value}\n',
    )


def database(*tables):
    """A database with these tables."""

    def make(here):
        structure(file="x.db")(here)
        with sqlite3.connect(here / "x.db") as made:
            for table in tables:
                made.execute(table)
        made.close()

    return make


def argon_database(*changes):
    """A database of one structure as ASE writes it, and what was done to it since."""

    def make(here):
        structure(file="x.db", frames="all")(here)
        made: Any = ase.db.connect(here / "x.db")
        with made:
            made.write(Atoms("Ar", cell=[9] * 3, pbc=True))
        with contextlib.closing(sqlite3.connect(here / "x.db")) as changed:
            names = [row[1] for row in changed.execute("PRAGMA table_info(systems)")]
            for change in changes:
                changed.execute(change.replace("COLUMNS", ", ".join(names)))
            changed.commit()

    return make


ENDLESS = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
RENAMED = "ALTER TABLE systems RENAME TO others"
CLAIM = '{"__ndarray__": [[500000000], "float64", [1]]}'


def trajectory(here):
    """A note in it claims to be an array of 4 GB."""
    structure(file="x.traj")(here)
    atoms = Atoms("Ar", cell=[9] * 3, pbc=True, info={"x": {"y": np.arange(10.0)}})
    ase.io.write(here / "x.traj", atoms)
    content = (here / "x.traj").read_bytes()
    forged = content.replace(b'[[10], "float64", [', b'[[500000000],"f8",[')
    assert forged != content
    (here / "x.traj").write_bytes(forged)


def made_by(name, make):
    """A structure that is something else than a file."""

    def both(here):
        structure(file=name)(here)
        make(here / name)

    return both


def repeated(here):
    put(here, "x.extxyz", XYZ)
    structure(file="x.extxyz", repeat=9000)(here)


def nested(depth, pattern):
    """Folders within each other, and a structure from files below them."""

    def make(here):
        structure(file=pattern)(here)
        (here / "/".join("d" * depth)).mkdir(parents=True)

    return make


CIF = """data_x
_cell_length_a 5
_cell_length_b 5
_cell_length_c 5
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma {angle}
_symmetry_space_group_name_H-M 'P 1'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Ar1 {symbol} 0 0 0 {occupancy}
"""


def cif(angle=90, symbol="Ar", occupancy=1):
    return file_of("x.cif", CIF.format(angle=angle, symbol=symbol, occupancy=occupancy))


ROWS = {
    # Files
    "a bomb of gzip": Row(file_of("x.extxyz.gz", gzip.compress(bytes(140 * 2**20), 9)), FILE + "x.extxyz.gz holds more than 128 MiB or 4000000 lines (unpacked); …"),
    "a bomb of bzip2": Row(file_of("x.extxyz.bz2", bz2.compress(b"\n" * 4_100_000)), FILE + "x.extxyz.bz2 holds more than …"),
    "a bomb of xz": Row(file_of("x.extxyz.xz", lzma.compress(b"\n" * 4_100_000, preset=0)), FILE + "x.extxyz.xz holds more than …"),
    "too many lines": Row(file_of("x.extxyz", b"\n" * 4_000_001), FILE + "x.extxyz holds more than …"),
    "gzip that is none": Row(file_of("x.extxyz.gz", b"nothing"), FILE + "x.extxyz.gz can't be read: Not a gzipped file…"),
    "gzip that ends": Row(file_of("x.extxyz.gz", gzip.compress(XYZ)[:30]), FILE + "x.extxyz.gz can't be read: …"),
    "xz that ends": Row(file_of("x.extxyz.xz", lzma.compress(XYZ)[:30]), FILE + "x.extxyz.xz can't be read: …"),
    "a database that is none": Row(file_of("x.db", b"SQLite format 3\0" + bytes(84)), FILE + "x.db can't be read: file is not a database"),
    "a database of text": Row(file_of("x.db", b"id,formula\n1,Ar\n"), FILE + "x.db can't be read: file is not a database"),
    "a database of something else": Row(database("create table songs (title text)"), FILE + "x.db is not a database of structures as ASE writes them"),
    "a database of nothing": Row(file_of("x.db", b""), FILE + "x.db is not a database of structures as ASE writes them"),
    "a database that is an endless view": Row(argon_database(RENAMED, f"CREATE VIEW systems AS {ENDLESS} SELECT others.* FROM others, n"), FILE + "x.db is not a database of structures as ASE writes them"),
    "a database that computes its columns": Row(argon_database(RENAMED, "CREATE TABLE systems (COLUMNS)".replace("COLUMNS", "id, numbers AS (zeroblob(900000000))"), "INSERT INTO systems (id) VALUES (1)"), FILE + "x.db can't be read: …"),
    "a database with a query of its own": Row(argon_database(f"INSERT INTO information VALUES ('external_table_name', '({ENDLESS} SELECT id, id AS x FROM n)')"), FILE + "x.db can't be read: not authorized"),
    "a database of very many rows": Row(argon_database("INSERT INTO systems (id) WITH RECURSIVE n(id) AS (SELECT 2 UNION ALL SELECT id + 1 FROM n WHERE id < 200000) SELECT id FROM n"), FILE + "x.db has 200000 structures; at most 100000 are read"),
    "a database with an array that is claimed": Row(argon_database(f"""UPDATE systems SET constraints = '[{{"name": "FixAtoms", "kwargs": {{"indices": {CLAIM}}}}}]'"""), FILE + "x.db can't be read: an array claims the shape [500000000], and has 1 numbers"),
    "a database that fixes atoms there are not": Row(argon_database("""UPDATE systems SET constraints = '[{"name": "FixAtoms", "kwargs": {"indices": [7]}}]'"""), STRUCTURE + "it fixes atom 7, and has 1 atoms."),
    "a database that fixes a plane": Row(argon_database("""UPDATE systems SET constraints = '[{"name": "FixedPlane", "kwargs": {"indices": [0], "direction": [0, 0, 1]}}]'"""), STRUCTURE + "it has a constraint FixedPlane; only FixAtoms is supported."),
    "a trajectory with an array that is claimed": Row(trajectory, FILE + "x.traj can't be read: an array claims the shape [500000000], and has 10 numbers"),
    "a database of JSON": Row(file_of("x.json", b"{}"), FILE + "x.json is of the format 'json', which is not read, …"),
    "a pickle": Row(file_of("x.traj", pickle.dumps(Atoms("Ar"))), FILE + "x.traj …"),
    "a program of Python": Row(file_of("x.py", b"import os\nos.system('touch y')\n"), FILE + "x.py is of the format 'py', which is not read, as it may hold more than data; write the structure as extxyz, cif or pdb (read are …"),
    "an image": Row(file_of("x.png", b"\x89PNG\r\n\x1a\n" + bytes(64)), FILE + "x.png is of the format 'png', which is not read, as it may hold more than data; write the structure as extxyz, cif or pdb (read are …"),
    "a name without an ending": Row(file_of("x", b"nothing of the kind"), FILE + "x can't be read: …"),
    "a structure that is empty": Row(file_of("x.extxyz", b""), FILE + "x.extxyz can't be read: …"),
    "a structure of another kind": Row(file_of("x.cif", b"nothing of the kind"), FILE + "x.cif can't be read: …"),
    "a structure that is not there": Row(structure(file="x.cif"), STRUCTURE + "there is no file HERE/x.cif"),
    "a structure that is a device": Row(structure(file="/dev/zero"), STRUCTURE + "there is no file /dev/zero"),
    "a structure that is a folder": Row(made_by("x.cif", lambda path: path.mkdir()), STRUCTURE + "there is no file HERE/x.cif"),
    "a structure that is a pipe": Row(made_by("x.cif", os.mkfifo), STRUCTURE + "there is no file HERE/x.cif"),
    "a structure that is a link to nothing": Row(made_by("x.cif", lambda path: path.symlink_to("y.cif")), STRUCTURE + "there is no file HERE/x.cif"),
    "a structure of the system": Row(structure(file="/etc/passwd"), STRUCTURE + "/etc/passwd can't be read: …"),
    "a structure from a server": Row(structure(file="postgresql://user@host/db"), STRUCTURE + "there is no file HERE/postgresql:/user@host/db"),
    "a structure with a name too long": Row(structure(file="x" * 300 + ".cif"), STRUCTURE + "x" * 40 + "… can't be read: File name too long"),
    "a pattern that nothing matches": Row(structure(file="mofs/*.cif"), STRUCTURE + "no file matches mofs/*.cif, looked for in HERE"),
    "a pattern that matches folders": Row(lambda here: (structure(file="x*.cif")(here), (here / "x.cif").mkdir()), STRUCTURE + "no file matches x*.cif, looked for in HERE"),
    "a pattern with very many ways": Row(nested(60, "**/*/" * 6 + "*.cif"), STRUCTURE + "no file matches **/*/**/*/**/*/**/*/**/*/**/*/*.cif, looked for in HERE"),
    "a pattern without an end": Row(structure(file="[" * 4000), STRUCTURE + "[" * 40 + "… can't be read: File name too long"),
    "a file that is a number": Row(structure(file=3), A + "systems[0].structure.file: 3 is of the wrong kind: text is needed"),
    # Frames
    "a frame that there is not": Row(xyz(b"", b"", frames=3), FILE + "x.extxyz has 1 frames; there is no frame 3"),
    "frames that are none": Row(xyz(b"", b"", frames="5:9"), FILE + "x.extxyz has no frames 5:9"),
    "frames in steps of zero": Row(xyz(b"", b"", frames="0:9:0"), A + "systems[0].structure.frames: '0:9:0' names no frames; write a number (-1 is the last), all, or a slice: '0:100:10'"),
    "frames in words": Row(xyz(b"", b"", frames="the last"), A + "systems[0].structure.frames: 'the last' names no frames; write a number (-1 is the last), all, or a slice: '0:100:10'"),
    # Atoms
    "a position that is no number": Row(xyz(b"Ar 0", b"Ar nan"), STRUCTURE + "the position of atom 0 is not finite: [nan…"),
    "a position in words": Row(xyz(b"Ar 0", b"Ar here"), FILE + "x.extxyz can't be read: …"),
    "an element that there is not": Row(xyz(b"Ar 0", b"Zz 0"), FILE + "x.extxyz can't be read: 'Zz' is unknown"),
    "an element that is a ghost": Row(xyz(b"Ar 0", b"X 0"), STRUCTURE + "LennardJones has no parameters for X. Give them in parameters or pairs, or name a mixing rule."),
    "fewer atoms than are counted": Row(xyz(b"1\n", b"3\n", 1), FILE + "x.extxyz can't be read: …"),
    "atoms without an end": Row(xyz(b"1\n", b"999999999999\n", 1), FILE + "x.extxyz says it has 999999999999 atoms, and has 3 lines"),
    "atoms of a POSCAR without an end": Row(file_of("POSCAR", b"Ar\n1.0\n5 0 0\n0 5 0\n0 0 5\nAr\n999999999999\nDirect\n0 0 0\n"), FILE + "POSCAR says it has 999999999999 atoms, and has 9 lines"),
    "atoms of a dump without an end": Row(file_of("x.dump", b"ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n999999999999\nITEM: BOX BOUNDS pp pp pp\n0 5\n0 5\n0 5\nITEM: ATOMS id type x y z\n1 1 0 0 0\n"), FILE + "x.dump says it has 999999999999 atoms, and has 10 lines"),
    "atoms below zero": Row(xyz(b"1\n", b"-1\n", 1), FILE + "x.extxyz can't be read: …"),
    "no atoms": Row(file_of("x.extxyz", b'0\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3\n'), FILE + "x.extxyz has no atoms"),
    "a mass of zero": Row(with_column("masses", "R", 0), STRUCTURE + "atom 0 has the mass 0.0; it must be above 0 and below 1e+09 amu"),
    "a mass below zero": Row(with_column("masses", "R", -1), STRUCTURE + "atom 0 has the mass -1.0; it must be above 0 and below 1e+09 amu"),
    "a mass that is no number": Row(with_column("masses", "R", "nan"), STRUCTURE + "atom 0 has the mass nan; it must be above 0 and below 1e+09 amu"),
    "a mass of everything": Row(with_column("masses", "R", 1e300), STRUCTURE + "atom 0 has the mass 1e+300; it must be above 0 and below 1e+09 amu"),
    "a charge that is no number": Row(with_column("initial_charges", "R", "nan"), STRUCTURE + "atom 0 has the charge nan; it must be finite"),
    "a momentum without an end": Row(file_of("x.extxyz", '1\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3:momenta:R:3\nAr 0 0 0 inf 0 0\n'), STRUCTURE + "atom 0 has the momentum [inf, 0.0, 0.0]; it must be finite"),
    "columns that are missing": Row(xyz(b"pos:R:3", b"pos:R:3:forces:R:3"), FILE + "x.extxyz can't be read: …"),
    "a column of objects": Row(xyz(b"pos:R:3", b"pos:O:3"), FILE + "x.extxyz can't be read: …"),
    "atoms at one place": Row(file_of("x.extxyz", Atoms("Ar2", [[0, 0, 0], [0, 0, 0]])), STRUCTURE + "atoms 0 and 1 are at the same place"),
    "an atom and its image at one place": Row(file_of("x.extxyz", Atoms("Ar2", [[0, 0, 0], [9, 0, 0]], cell=[9] * 3, pbc=True)), STRUCTURE + "atoms 0 and 1 are at the same place"),
    "an atom beyond everything": Row(file_of("x.extxyz", Atoms("Ar2", [[0, 0, 0], [1e300, 0, 0]])), STRUCTURE + "atom 1 is further than 1e+07 Å away: …"),
    # Cells
    "a cell of eight numbers": Row(xyz(b" 0 0 0 9", b" 0 0 9"), FILE + "x.extxyz can't be read: …"),
    "a cell that is no number": Row(xyz(b'"9 ', b'"nan '), STRUCTURE + "its cell has entries that are not finite"),
    "a cell in words": Row(xyz(b'"9 ', b'"large '), FILE + "x.extxyz can't be read: …"),
    "a cell with a vector of zero": Row(cell([0, 0, 0], [0, 9, 0], [0, 0, 9]), STRUCTURE + "its cell [[0.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 9.0]] has no volume"),
    "a cell that is too thin": Row(cell([0.01, 0, 0], [0, 9, 0], [0, 0, 9]), STRUCTURE + "its cell is 0.01 Å high along the vector a, which repeats; at least 0.1 Å …"),
    "a cell that is too skewed": Row(cell([9, 0, 0], [9e4, 9, 0], [0, 0, 9]), STRUCTURE + "its cell is 0.0009 Å high along the vector a, which repeats; …"),
    "a cell that is too long": Row(cell([1e300, 0, 0], [0, 9, 0], [0, 0, 9]), STRUCTURE + "its cell has a vector longer than 1e+07 Å: …"),
    "a cell without a volume": Row(cell([9, 0, 0], [0, 9, 0], [9, 9, 0]), STRUCTURE + "its cell … has no volume"),
    "a cell that repeats along a vector it lacks": Row(file_of("x.extxyz", Atoms("Ar", cell=[9, 9, 0], pbc=True)), STRUCTURE + "its cell [[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 0.0, 0.0]] has no volume"),
    "a crystal with an angle of 0": Row(cif(angle=0), FILE + "x.cif can't be read: it does not hold what its format needs (AssertionError)"),
    "a crystal with an element that there is not": Row(cif(symbol="Qq"), FILE + "x.cif can't be read: 'Qq' is unknown"),
    "a crystal with half an atom": Row(cif(occupancy=0.5), FILE + "x.cif has a site that is occupied by 0.5 Ar; write a structure in which each atom is there or not"),
    "a crystal with more than an atom": Row(cif(occupancy=7), FILE + "x.cif has a site that is occupied by 7 Ar; write a structure in which each atom is there or not"),
    "a crystal without atoms": Row(file_of("x.cif", CIF[: CIF.index("loop_")].format(angle=90)), FILE + "x.cif can't be read: it does not hold what its format needs (StopIteration)"),
    "a cell of VASP that ends": Row(file_of("POSCAR", b"Ar\n1.0\n5 0 0\n0 5 0\n0 0 5\nAr\n2\nDirect\n0 0 0\n"), FILE + "POSCAR can't be read: …"),
    # Lattices and random places
    "a lattice that there is not": Row(lattice(lattice="hcp", a=5), A + "systems[0].structure.lattice: 'hcp' is unknown; known are …"),
    "a lattice of nothing": Row(lattice(a=4, species=""), STRUCTURE + "there is no element ''; known are …"),
    "a lattice of two elements": Row(lattice(a=4, species="NaCl"), STRUCTURE + "there is no element 'NaCl'; did you mean 'Na'?"),
    "a lattice with a density and a constant": Row(lattice(a=4, density=1), A + "systems[0]: a lattice has a density or a lattice constant a, not both"),
    "a lattice of no size": Row(lattice(), A + "systems[0]: the structure needs a density (or a lattice its constant a)"),
    "a lattice that is a file": Row(lattice(a=4, file="x.cif"), A + "systems[0].structure.file: unknown key; known are …"),
    "a lattice constant of nothing": Row(lattice(a=0.01), STRUCTURE + "its cell is 0.01 Å high along the vector a, …"),
    "a lattice constant of everything": Row(lattice(a=1e300), A + "systems[0].structure.a: 1e+300 is too large to compute with."),
    "a density of nothing": Row(lattice(density=1e-300), STRUCTURE + "its cell has a vector longer than 1e+07 Å: …"),
    "a density of everything": Row(lattice(density=1e300), A + "systems[0].structure.density: 1e+300 is too large to compute with."),
    "repeated beyond memory": Row(lattice(density=1.5, repeat=10_000), STRUCTURE + "4000000000000 atoms need 2.84 PiB at least, and there are … of memory; …"),
    "a file repeated beyond memory": Row(repeated, STRUCTURE + "729000000000 atoms need …; repeat it less often"),
    "random places of nothing": Row(structure(random={}, density=1.0), A + "systems[0].structure.random: has 0 entries; at least 1 are needed"),
    "random places of no element": Row(structure(random={"Arr": 3}, density=1.0), STRUCTURE + "there is no element 'Arr'; did you mean 'Ar'?"),
    "random places for no atoms": Row(structure(random={"Ar": 0}, density=1.0), A + "systems[0].structure.random.Ar: 0 is out of range: must be at least 1"),
    "random places in a list": Row(structure(random=["Ar"], density=1.0), A + "systems[0].structure.random: ['Ar'] is of the wrong kind: a mapping is needed"),
    "random places without a density": Row(structure(random={"Ar": 3}), A + "systems[0]: the structure needs a density (or a lattice its constant a)"),
    "random places at a distance below zero": Row(structure(random={"Ar": 3}, density=1.0, distance=-1), A + "systems[0].structure.distance: -1 is out of range: must be at least 0"),
    "too many at random places": Row(structure(random={"Ar": 10**9}, density=1.0), STRUCTURE + "1000000000 atoms at random places would take too long to find; at most 20000 …"),
    "random places that are full": Row(structure(random={"Ar": 50}, density=1.5, distance=9.0), STRUCTURE + "only … of 50 atoms find …"),
    # Sweeps
    "a sweep of nothing": Row(usual("systems.0.sweep", {}), A + "systems[0].sweep: a sweep goes through values of temperature, pressure, density, repeat"),
    "a sweep of an empty list": Row(usual("systems.0.sweep", {"pressure": []}), A + "systems[0].sweep.pressure: has 0 entries; at least 1 are needed"),
    "a sweep of one number": Row(usual("systems.0.sweep", {"pressure": 3}), A + "systems[0].sweep.pressure: 3 is of the wrong kind: a list is needed"),
    "a sweep of what is given": Row(usual("systems.0.sweep", {"temperature": [1, 2]}), A + "systems[0]: temperature is given, and swept as well; one of the two is enough"),
    "a sweep of the density of a file": Row(usual("systems.0", {"structure": {"file": "x.cif"}, "temperature": 3, "sweep": {"density": [1]}}), A + "systems[0]: a sweep can't set density of this structure: it has its own"),
}  # fmt: skip
