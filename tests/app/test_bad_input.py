"""Bad input gets one sentence, soon: a table of (how to make it, the command, what is said).

Nothing here compiles. Each row says that a command ends with 1, without a traceback, with this
first line, in seconds, and that the files it was given are as they were.
"""

import bz2
import gzip
import hashlib
import io
import json
import lzma
import pickle
import re
import subprocess
import sys
import time
import zipfile
from typing import NamedTuple

import ase.io
import h5py
import numpy as np
import pytest
import yaml
from app.runs import configuration
from ase import Atoms

from instar.app.cli.main import main
from instar.app.config import load
from instar.app.run.agreement import marks_of
from instar.app.run.columns import appending, recording_of
from instar.app.run.directory import RunDirectory
from instar.app.run.kinds import kind_of
from instar.storage import write_checkpoint

SECONDS = 10


class Row(NamedTuple):
    """What makes the input in a folder, and the first line; ``{here}`` is the folder."""

    make: object
    said: str
    words: tuple = ("validate", "a.yaml")


# ruff: noqa: E501 (a row is a line where it can be)

# Configurations ---------------------------------------------------------------------------------


def text(content):
    """A configuration with this content."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda here: (here / "a.yaml").write_bytes(data)


def usual(*place, value, **more):
    """The usual configuration with one entry replaced."""

    def make(here):
        config = json.loads(json.dumps(configuration(**more)))
        target = config
        for part in place[:-1]:
            target = target[part]
        target[place[-1]] = value
        (here / "a.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    return make


def structure(**keys):
    return usual("systems", 0, "structure", value=keys)


def file_of(name, content):
    """The usual configuration with a structure from this file."""

    def make(here):
        structure(file=name)(here)
        if isinstance(content, Atoms):
            ase.io.write(here / name, content)
        else:
            (here / name).write_bytes(content)

    return make


def potential(**entry):
    return usual("potential", value=[entry])


def lattice(**keys):
    return structure(**{"lattice": "fcc", "species": "Ar", "repeat": 1, **keys})


def cell(*vectors):
    """A structure of one atom in such a cell."""
    return file_of("x.extxyz", Atoms("Ar", cell=np.array(vectors, float), pbc=True))


ARGON = {"Ar": {"epsilon": 0.0104, "sigma": 3.4}}
LJ = {"type": "lennard_jones", "cutoff": 6.0, "parameters": ARGON}
SALT = {"type": "coulomb", "charges": {"Ar": 1.0}}
XYZ = b'1\nLattice="9 0 0 0 9 0 0 0 9" Properties=species:S:1:pos:R:3\nAr 0 0 0\n'
AT = r"systems\[0\]\.structure: "
PLACE = rf"{{here}}/a\.yaml:\d+: {AT}"
FILE = rf"{PLACE}{{here}}/"

CONFIGURATIONS = {
    "no file": Row(lambda here: None, r"{here}/a\.yaml can't be read: No such file or directory\."),
    "a folder": Row(lambda here: (here / "a.yaml").mkdir(), r".*can't be read: Is a directory\."),
    "nothing in it": Row(text(""), r"{here}/a\.yaml is empty\."),
    "bytes": Row(text(b"\xff\xfe\x00"), r"{here}/a\.yaml is no text in UTF-8\."),
    "a NUL byte": Row(
        text("seed: 1\ntitle: a\0b\n"),
        r"{here}/a\.yaml:2: the character '\\x00' is not allowed in YAML\.",
    ),
    "a NUL that is written out": Row(
        usual("title", value="a\0b"),
        r"{here}/a\.yaml:\d+: title: 'a\\x00b' is no text: it holds the character NUL, .*",
    ),
    "half a character": Row(
        text('title: "\\ud800"\n'), r"{here}/a\.yaml:1: title: '\\ud800' is no text: .*surrogate.*"
    ),
    "a path with NUL": Row(
        structure(file="a\0.cif"), r"{here}/a\.yaml:\d+: systems.*file: 'a\\x00.cif' is no text: .*"
    ),
    "no int": Row(text("seed: !!int abc\n"), r"{here}/a\.yaml:1: 'abc' is no int\."),
    "no float": Row(text("seed: !!float abc\n"), r"{here}/a\.yaml:1: 'abc' is no float\."),
    "no bool": Row(text("seed: !!bool abc\n"), r"{here}/a\.yaml:1: 'abc' is no bool\."),
    "a number of 5000 digits": Row(
        text(f"seed: {'7' * 5000}\n"), r"{here}/a\.yaml:1: a number of 5000 digits\."
    ),
    "a binary number without end": Row(
        text(f"seed: 0b{'1' * 20_000}\n"), r"{here}/a\.yaml:1: a number of 20002 digits\."
    ),
    "nesting of thousands": Row(
        text("a: " + "[" * 5000), r"{here}/a\.yaml:1: this is no YAML: deeper than 60 levels\."
    ),
    "nesting of thousands by aliases": Row(
        text("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))),
        r"{here}/a\.yaml:\d+: deeper than 60 levels\.",
    ),
    "an alias of itself": Row(text("a: &a [*a]\n"), r"{here}/a\.yaml:1: an alias that holds itself\."),
    "too many bytes": Row(
        text(b"#" * (8 * 2**20 + 1)),
        r"{here}/a\.yaml has more than 8 MiB; this is no configuration\.",
    ),
    "a tag of Python": Row(
        text("seed: !!python/object/apply:os.system [ls]\n"),
        r"{here}/a\.yaml:1: the tag tag:yaml\.org,2002:python/object/apply:os\.system is not allowed\.",
    ),
    "a long wrong word": Row(
        usual("precision", value="x" * 100_000), r"{here}/a\.yaml:\d+: precision: 'x{{1000,1500}}…"
    ),
    "a program to start": Row(
        potential(type="ase", calculator="cp2k", arguments={"command": "touch x"}),
        r"{here}/a\.yaml: the ASE calculator 'cp2k' may start programs or load code, and is made "
        r"with command='touch x'; a plan tries nothing of the kind, and can't be made without it",
        ("plan", "a.yaml"),
    ),
    "a program to start in a run": Row(
        potential(type="ase", calculator="cp2k", arguments={"command": "touch x"}),
        r"{here}/a\.yaml:\d+: potential\[0\]: the ASE calculator 'cp2k' may start programs .*--trust.*",
        ("run", "a.yaml", "--out", "out"),
    ),
    "a --set that is no YAML": Row(
        usual("seed", value=1),
        r"--set seed=\[: the value is not YAML\.",
        ("validate", "a.yaml", "--set", "seed=["),
    ),
    "a --set that is no int": Row(
        usual("seed", value=1),
        r"--set seed=!!int x: the value is not YAML\.",
        ("validate", "a.yaml", "--set", "seed=!!int x"),
    ),
}  # fmt: skip

STRUCTURES = {
    "a bomb of gzip": Row(
        file_of("x.extxyz.gz", gzip.compress(bytes(140 * 2**20), 9)),
        FILE + r"x\.extxyz\.gz holds more than 128 MiB or 4000000 lines \(unpacked\); .*",
    ),
    "a bomb of bzip2": Row(
        file_of("x.extxyz.bz2", bz2.compress(b"\n" * 4_100_000)),
        FILE + r"x\.extxyz\.bz2 holds more than .*",
    ),
    "a bomb of xz": Row(
        file_of("x.extxyz.xz", lzma.compress(b"\n" * 4_100_000, preset=0)),
        FILE + r"x\.extxyz\.xz holds more than .*",
    ),
    "too many lines": Row(
        file_of("x.extxyz", b"\n" * 4_000_001), FILE + r"x\.extxyz holds more than .*"
    ),
    "gzip that is none": Row(
        file_of("x.extxyz.gz", b"nothing"), FILE + r"x\.extxyz\.gz can't be read: Not a gzipped file.*"
    ),
    "gzip that ends": Row(
        file_of("x.extxyz.gz", gzip.compress(XYZ)[:30]), FILE + r"x\.extxyz\.gz can't be read: .*"
    ),
    "xz that ends": Row(
        file_of("x.extxyz.xz", lzma.compress(XYZ)[:30]), FILE + r"x\.extxyz\.xz can't be read: .*"
    ),
    "a database": Row(
        file_of("x.db", b"SQLite format 3\0" + bytes(84)),
        FILE + r"x\.db can't be read: file is not a database",
    ),
    "a database of JSON": Row(
        file_of("x.json", b"{}"), FILE + r"x\.json is of the format 'json', which is not read, .*"
    ),
    "a pickle": Row(
        file_of("x.traj", pickle.dumps(Atoms("Ar"))), FILE + r"x\.traj (can't be read|is of the).*"
    ),
    "a structure that is empty": Row(file_of("x.extxyz", b""), FILE + r"x\.extxyz can't be read: .*"),
    "a structure of another kind": Row(
        file_of("x.cif", b"nothing of the kind"), FILE + r"x\.cif can't be read: .*"
    ),
    "a structure that is not there": Row(
        structure(file="x.cif"), PLACE + r"there is no file {here}/x\.cif"
    ),
    "a structure that is a device": Row(
        structure(file="/dev/zero"), PLACE + "there is no file /dev/zero"
    ),
    "a position that is no number": Row(
        file_of("x.extxyz", XYZ.replace(b"Ar 0", b"Ar nan")), PLACE + r"the position of atom 0 is not finite: \[nan.*"
    ),
    "atoms at one place": Row(
        file_of("x.extxyz", Atoms("Ar2", [[0, 0, 0], [0, 0, 0]])),
        PLACE + "atoms 0 and 1 are at the same place",
    ),
    "an atom beyond everything": Row(
        file_of("x.extxyz", Atoms("Ar2", [[0, 0, 0], [1e300, 0, 0]])),
        PLACE + r"atom 1 is further than 1e\+07 Å away: .*",
    ),
    "a cell that is too thin": Row(
        cell([0.01, 0, 0], [0, 9, 0], [0, 0, 9]),
        PLACE + r"its cell is 0\.01 Å high along the vector a, which repeats; at least 0\.1 Å .*",
    ),
    "a cell that is too skewed": Row(
        cell([9, 0, 0], [9e4, 9, 0], [0, 0, 9]),
        PLACE + r"its cell is 0\.0009 Å high along the vector a, which repeats; .*",
    ),
    "a cell that is too long": Row(
        cell([1e300, 0, 0], [0, 9, 0], [0, 0, 9]),
        PLACE + r"its cell has a vector longer than 1e\+07 Å: .*",
    ),
    "a cell without a volume": Row(
        cell([9, 0, 0], [0, 9, 0], [9, 9, 0]), PLACE + "its cell .* has no volume"
    ),
    "a lattice constant of nothing": Row(
        lattice(a=0.01), PLACE + r"its cell is 0\.01 Å high along the vector a, .*"
    ),
    "a lattice constant of everything": Row(
        lattice(a=1e300), PLACE + r"its cell has a vector longer than 1e\+07 Å: .*"
    ),
    "a density of nothing": Row(
        lattice(density=1e-300), PLACE + r"its cell has a vector longer than 1e\+07 Å: .*"
    ),
    "a density of everything": Row(lattice(density=1e300), PLACE + "its cell .* has no volume"),
    "repeated beyond memory": Row(
        lattice(density=1.5, repeat=10_000),
        PLACE + r"4000000000000 atoms need 2\.84 PiB at least, and there are .* of memory; .*",
    ),
    "a file repeated beyond memory": Row(
        lambda here: (file_of("x.extxyz", XYZ)(here), structure(file="x.extxyz", repeat=9000)(here)),
        PLACE + r"729000000000 atoms need .*; repeat it less often",
    ),
    "too many at random places": Row(
        structure(random={"Ar": 10**9}, density=1.0),
        PLACE + "1000000000 atoms at random places would take too long to find; at most 20000 .*",
    ),
    "random places that are full": Row(
        structure(random={"Ar": 50}, density=1.5, distance=9.0), PLACE + "only . of 50 atoms find .*"
    ),
}  # fmt: skip

NUMBERS = {
    "a cutoff beyond everything": Row(
        usual("potential", 0, "cutoff", value=1e308),
        r"{here}/a\.yaml:\d+: systems\[0\]: particles that see 1e\+308 Å far, .*; make the cutoff .*",
    ),
    "a cutoff of a micrometre": Row(
        usual("potential", 0, "cutoff", value=1e4),
        r"{here}/a\.yaml:\d+: systems\[0\]: particles that see 1e\+04 Å far, .* about 2e\+11 images; .*",
    ),
    "a skin of a micrometre": Row(
        usual("method", "skin", value=1e4), r"{here}/a\.yaml:\d+: systems\[0\]: particles that see .*"
    ),
    "a cutoff that is not finite": Row(
        usual("potential", 0, "cutoff", value=float("inf")),
        r"{here}/a\.yaml:\d+: potential\[0\]\.cutoff: inf is not a finite number\.",
    ),
    "waves without end": Row(
        potential(**SALT, alpha=0.3, real_cutoff=6.0, k_max=500),
        r"{here}/a\.yaml:\d+: potential: An Ewald sum of 5\.02e\+08 waves \(500, 500 and 500 along .*",
    ),
    "an accuracy beyond everything": Row(
        potential(**SALT, accuracy=1e300), r"{here}/a\.yaml:\d+: potential\[0\]\.accuracy: .*"
    ),
    "an accuracy of nothing": Row(
        potential(**SALT, accuracy=1e-300),
        r"{here}/a\.yaml:\d+: potential\[0\]\.accuracy: is at least 1e-14, which .*; not 1e-300",
    ),
    "a direction of nothing": Row(
        potential(type="wall", epsilon=1.0, sigma=3.0, normal=[0, 0, 1e-200]),
        r"{here}/a\.yaml:\d+: potential\[0\]\.normal: a direction has a length of about 1, not 1e-200",
    ),
    "steps beyond counting": Row(
        usual("run", "steps", value=10**30), r"{here}/a\.yaml:\d+: run\.steps: 10{{30}} is out of range: .*"
    ),
    "bins beyond counting": Row(
        usual("observe", value=[{"type": "radial_distribution", "bins": 10**12}]),
        r"{here}/a\.yaml:\d+: observe\[0\]\.bins: .*",
    ),
}  # fmt: skip


# Folders that somebody sent ---------------------------------------------------------------------

META = {
    "number": 1,
    "systems": [0, 2],
    "sizes": {},
    "segments": 1,
    "segments_before": 0,
    "step": 100,
}
PLAN = {
    "budget": {"bytes": 10**9, "source": "test", "readings": []},
    "headroom": 0.1,
    "shapes": [{"sizes": {}, "bytes": 1}],
    "batches": [{"from": 0, "to": 2, "shape": 0}],
    "footprint": {"fixed": 1.0, "per": {}, "source": "", "linear": True},
    "waste": 0.0,
    "kept": 0,
    "worthwhile": None,
    "predicted_peak": 1,
    "limited_by": "nothing",
}


def sent(here):
    """A run's folder made by hand: two frames, two rows of thermo, a checkpoint without a state."""
    loaded = load(configuration())
    directory = RunDirectory.create(here / "run", loaded, {"plan.json": PLAN})
    recording = recording_of(directory.trajectory, kind_of(loaded), 0, range(2))
    streams = {
        name: {
            column: np.zeros((2, *known.shape), known.dtype) for column, known in columns.items()
        }
        for name, columns in recording._all.items()
    }
    streams["frames"]["cell"][:] = np.eye(3)
    appending(recording, streams["thermo"], streams["frames"], loaded.config.method.time)()
    recording.commit()
    checkpoint(directory.path, META)
    return directory.path


def checkpoint(folder, meta, arrays=None):
    marks = marks_of(load(folder / "config.yaml"))
    about = {"configuration": marks, "ends": {}, "exploded": [], **meta}
    about = {key: value for key, value in about.items() if value is not None}
    write_checkpoint(folder / "checkpoints", 1, arrays or {}, about)


def forged(payload):
    """A checkpoint with this archive, and the right checksum."""

    def make(folder):
        digest = hashlib.sha256(payload).hexdigest().encode()
        path = folder / "checkpoints" / f"{1:012}.checkpoint"
        path.write_bytes(b"instar checkpoint 2\n" + digest + b"\n" + payload)

    return make


def archive(packed=zipfile.ZIP_STORED, **members):
    """A zip file with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packed) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def array(values, claimed=None, allow_pickle=False):
    """An array as NumPy writes it, which may claim another shape."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=allow_pickle)
    content = buffer.getvalue()
    return content if claimed is None else content.replace(*claimed)


def written(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def in_main(change):
    def make(folder):
        with h5py.File(folder / "trajectory.h5", "a") as file:
            change(file)

    return make


def in_segment(change):
    def make(folder):
        with h5py.File(folder / "trajectory" / "00000.h5", "a") as file:
            change(file)

    return make


def replaced(name, **options):
    def change(file):
        del file[name]
        file.create_dataset(name, **options)

    return change


def structures(**changes):
    """The structures of the run, with some arrays replaced; None takes one out."""

    def make(folder):
        with np.load(folder / "structures.npz") as file:
            known = {name: file[name] for name in file.files} | changes
        np.savez(folder / "structures.npz", **{k: v for k, v in known.items() if v is not None})

    return make


RESUME, REPORT, EXPORT = ("resume", "run"), ("report", "run"), ("export", "run", "--to", "extxyz")
NEWEST = r"The newest checkpoint in {here}/run/checkpoints is damaged: "
NONE = r"There is no checkpoint to go on from in {here}/run/checkpoints\."
H5 = r"{here}/run/trajectory\.h5"
SEGMENT = r"{here}/run/trajectory/00000\.h5"
NPZ = r"{here}/run/structures\.npz can't be read: "
ONE = array(np.zeros(3))
BOMB = array(np.zeros(10**6))
HUGE = array(np.zeros(1), claimed=(b"(1,), }" + b" " * 20, b"(1099511627776,), }" + b" " * 8))
OBJECTS = array(np.array([{}], object), allow_pickle=True)

FOLDERS = {
    "no run": Row(lambda folder: (folder / "config.yaml").unlink(), "There is no run in .*", RESUME),
    "a checkpoint without a meta.json": Row(forged(archive(x=ONE)), NONE, RESUME),
    "a checkpoint of no archive": Row(forged(b"nothing"), NONE, RESUME),
    "a checkpoint of a bomb": Row(forged(archive(zipfile.ZIP_DEFLATED, x=BOMB)), NONE, RESUME),
    "a checkpoint that claims 8 TiB": Row(forged(archive(x=HUGE)), NONE, RESUME),
    "a checkpoint with a pickle": Row(forged(archive(x=OBJECTS)), NONE, RESUME),
    "a checkpoint whose meta.json is no JSON": Row(forged(archive(**{"meta.json": ONE})), NONE, RESUME),
    "a checkpoint without its step": Row(
        lambda folder: checkpoint(folder, META | {"step": None}), NEWEST + "step: field required.", RESUME
    ),
    "a checkpoint beyond the last step": Row(
        lambda folder: checkpoint(folder, META | {"step": 201}), r"The run in {here}/run has made 181 steps of production already; .*", RESUME
    ),
    "a checkpoint of half a system": Row(
        lambda folder: checkpoint(folder, META | {"systems": [0]}), NEWEST + "systems: .*", RESUME
    ),
    "a checkpoint of systems that are none": Row(
        lambda folder: checkpoint(folder, META | {"systems": [1, 2]}),
        "The checkpoints in {here}/run do not belong to its plan.json.", RESUME,
    ),
    "a checkpoint with sizes below zero": Row(
        lambda folder: checkpoint(folder, META | {"sizes": {"images": -1}}),
        NEWEST + r"sizes\.images: .*", RESUME,
    ),
    "a checkpoint of another configuration": Row(
        lambda folder: checkpoint(folder, META | {"configuration": {"seed": "another"}}),
        r"The checkpoints in {here}/run are those of another configuration: .*", RESUME,
    ),
    "structures that are none": Row(
        written("structures.npz", b"nothing"), NPZ + r"it is no archive of arrays .*", RESUME
    ),
    "structures without charges": Row(
        structures(charges=None), NPZ + r"charges is missing, or does not fit 2 structures\.", RESUME
    ),
    "structures with a position that is no number": Row(
        structures(positions=np.full((59, 3), np.nan)), NPZ + r"positions has entries that .*", RESUME
    ),
    "structures of too few atoms": Row(
        structures(counts=np.array([32, 26])), NPZ + r"numbers is missing, or does not fit .*", RESUME
    ),
    "structures of no element": Row(
        structures(numbers=np.full(59, 400)), NPZ + r"numbers has entries that are not atomic numbers\.", RESUME
    ),
    "a plan that is no JSON": Row(
        written("plan.json", b"{"), r"{here}/run/plan\.json is damaged: .*", RESUME
    ),
    "a plan of something else": Row(
        written("plan.json", b"[1]"), r"{here}/run/plan\.json is damaged: it: .*", RESUME
    ),
    "a plan of other systems": Row(
        written("plan.json", json.dumps(PLAN | {"batches": [{"from": 0, "to": 9, "shape": 0}]}).encode()),
        r"{here}/run/plan\.json does not belong to the systems of the run\.", RESUME,
    ),
    "a summary without systems": Row(
        written("summary.json", b'{"rows": 1, "shown": [], "observed": {}}'),
        r"{here}/run/summary\.json is damaged: systems: field required\.", REPORT,
    ),
    "a summary of another trajectory": Row(
        written("summary.json", b'{"rows": 1, "shown": [], "observed": {}, "systems": [], "exploded": []}'),
        r"{here}/run/summary\.json belongs to another trajectory\.", REPORT,
    ),
    "nesting of thousands in a summary": Row(
        written("summary.json", b"[" * 100_000), r"{here}/run/summary\.json is damaged: .*", REPORT
    ),
    "a link in the trajectory": Row(
        in_main(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/"))),
        H5 + r" has a link at //x; links are not followed\.", EXPORT,
    ),
    "a link in a segment": Row(
        in_segment(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/"))),
        SEGMENT + r" has a link at //x; links are not followed\.", EXPORT,
    ),
    "bytes of another file in a segment": Row(
        in_segment(replaced("frames/time", shape=(2,), dtype=float, external=[("/etc/passwd", 0, 16)])),
        SEGMENT + r" keeps /frames/time in another file; it is not read\.", EXPORT,
    ),
    "a segment that claims 8 TiB": Row(
        in_segment(replaced("frames/time", shape=(2**40,), dtype=float, chunks=(1024,))),
        SEGMENT + r" claims 8796093022208 bytes at /frames/time, and holds 0; it is not read\.", EXPORT,
    ),
    "a trajectory that claims 8 TiB": Row(
        in_main(replaced("particles/masses", shape=(2**40,), dtype=float)),
        H5 + r" claims 8796093022208 bytes at /particles/masses, and holds 0; it is not read\.", EXPORT,
    ),
    "text in the place of numbers": Row(
        in_main(replaced("particles/masses", data=["a"] * 59)),
        H5 + " has something else than numbers at /particles/masses.", EXPORT,
    ),
    "a column of another length": Row(
        in_main(replaced("particles/masses", data=np.ones(3))),
        H5 + r" is damaged: particles/masses has the shape \(3,\) where \(59,\) was expected\.", EXPORT,
    ),
    "particles of systems that are none": Row(
        in_main(replaced("particles/system", data=np.full(59, 7))),
        H5 + " is damaged: particles/system names systems that do not exist, .*", EXPORT,
    ),
    "a trajectory without frames": Row(
        in_main(lambda file: file.__delitem__("frames")), H5 + " is damaged: it has no group frames.", EXPORT
    ),
    "a trajectory of another version": Row(
        in_main(lambda file: file.attrs.__setitem__("version", 9)),
        H5 + " is a recording of version 9; this instar reads 1.", EXPORT,
    ),
    "a trajectory that is none": Row(
        written("trajectory.h5", b"nothing"), H5 + " can't be read as HDF5: .*", EXPORT
    ),
    "a format that is none": Row(
        lambda folder: None, "There is no format 'exe'.*", ("export", "run", "--to", "exe")
    ),
}  # fmt: skip


ROWS = {
    **CONFIGURATIONS,
    **STRUCTURES,
    **NUMBERS,
    **{name: row._replace(make=lambda here, do=row.make: do(sent(here))) for name, row in FOLDERS.items()},
}  # fmt: skip


def hashes(folder):
    """All files, but for the lock and the log that say who was here."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if path.name not in ("lock", "log.txt")
    }


def in_folder(here, words):
    return [str(here / word) if word in ("a.yaml", "run", "out") and n else word for n, word in enumerate(words)]  # fmt: skip


def assert_said(row, here, error):
    first = error.splitlines()[0] if error else ""
    wanted = row.said.replace("{here}", re.escape(str(here))).replace("{{", "{").replace("}}", "}")
    assert re.fullmatch(f"instar: {wanted}", first), error[:2000]
    assert "Traceback" not in error


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bad_input_gets_a_sentence(tmp_path, capsys, name):
    row = ROWS[name]
    row.make(tmp_path)
    before = hashes(tmp_path)
    begin = time.monotonic()

    code = main(in_folder(tmp_path, row.words))

    assert time.monotonic() - begin < SECONDS
    assert code == 1
    assert_said(row, tmp_path, capsys.readouterr().err)
    assert hashes(tmp_path) == before


FEW = ("a NUL byte", "a program to start in a run", "a checkpoint that claims 8 TiB")
MANY = sorted(set(list(ROWS)[::4]) - set(FEW))


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.long) for name in MANY)]
)
def test_the_command_itself_says_it(tmp_path, name):
    row = ROWS[name]
    row.make(tmp_path)
    words = [sys.executable, "-m", "instar", *in_folder(tmp_path, row.words)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert_said(row, tmp_path, done.stderr)


def test_a_reader_that_has_seen_enough_ends_it_quietly():
    words = f"{sys.executable} -m instar schema | head -1"
    done = subprocess.run(words, shell=True, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{\n", "")
