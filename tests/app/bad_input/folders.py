"""Folders of runs that somebody sent: every file of them damaged, forged, or of another run."""
# ruff: noqa: E501 (a row is a line where it can be)

import fcntl
import hashlib
import io
import json
import os
import shutil
import zipfile

import h5py
import numpy as np
import yaml
from app.bad_input.table import Row
from app.runs import configuration

from instar.app.config import load
from instar.app.run.agreement import marks_of
from instar.app.run.columns import appending, recording_of
from instar.app.run.directory import VERSION, RunDirectory
from instar.app.run.kinds import kind_of
from instar.storage import packed_arrays, write_checkpoint

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
    about = {"plan.json": PLAN, "provenance.json": {"folder": VERSION}}
    directory = RunDirectory.create(here / "run", loaded, about)
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
        path.write_bytes(b"instar checkpoint 3\n" + digest + b"\n" + payload)

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


def emptied(folder):
    shutil.rmtree(folder)
    folder.mkdir()


_HELD = []


def held(folder):
    """Another process works there, as far as can be seen."""
    file = open(folder / "lock", "a+")  # noqa: SIM115 (it is held until all is over)
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write("process 1 on another machine")
    file.flush()
    _HELD.append(file)


def configured(place, value):
    """The configuration of the run with one entry replaced."""

    def make(folder):
        content = yaml.safe_load((folder / "config.yaml").read_text())
        *above, last = (int(part) if part.isdecimal() else part for part in place.split("."))
        target = content
        for part in above:
            target = target[part]
        target[last] = value
        (folder / "config.yaml").write_text(yaml.safe_dump(content))

    return make


def document(name, **changes):
    """A small file with some entries replaced; None takes one out."""

    def make(folder):
        path = folder / name
        known = (json.loads(path.read_text()) if path.is_file() else {}) | changes
        gone = {key for key, value in changes.items() if value is None}
        path.write_text(json.dumps({key: value for key, value in known.items() if key not in gone}))

    return make


def summary(**changes):
    average = {"mean": 1.0, "error": 1.0, "unit": "K", **changes}
    system = {"name": "x", "atoms": changes.get("atoms", 32), "temperature": average}
    content = {
        "rows": 1,
        "shown": ["temperature"],
        "observed": {},
        "systems": [system] * 2,
        "exploded": [],
    }
    return written("summary.json", json.dumps(content).encode())


def summary_of(**changes):
    """A summary of two systems that fits, with some entries replaced."""
    system = {"atoms": 1, "temperature": {"mean": 1.0, "error": 1.0, "unit": "K"}}
    content = {"rows": 1, "shown": ["temperature"], "observed": {}, "systems": [system] * 2}
    return written("summary.json", json.dumps({**content, "exploded": [], **changes}).encode())


def piped(name):
    """A pipe in the place of a file."""

    def make(folder):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def cut(name):
    def make(folder):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: len(content) // 2])

    return make


def replacing(old, new):
    """The checkpoint with other bytes."""

    def make(folder):
        path = folder / "checkpoints" / "000000000001.checkpoint"
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new))

    return make


def packed(folder):
    with np.load(folder / "structures.npz") as file:
        np.savez_compressed(folder / "structures.npz", **dict(file))


def linked(name):
    """A link to something outside in the place of a file, or of a folder."""

    def make(folder):
        other = folder.parent / "other"
        other.write_text("secret")
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(other)

    return make


def is_link(name):
    return f"HERE/run/{name} is a link; links in the folder of a run are not followed."


def viewing(name):
    """A view of another file."""

    def change(file):
        layout = h5py.VirtualLayout(shape=(2,), dtype=float)
        layout[:] = h5py.VirtualSource(name, "x", shape=(2,))
        file.create_virtual_dataset("frames/x", layout)

    return change


def found(meta):
    return packed_arrays({}, meta)


CURVE = {"x_name": "r", "x_unit": "angstrom", "y_name": "g", "y_unit": ""}


def curves(count=1, title="looked", x=None, y=None, **text):
    """What an observer of this title has found: curves of three points."""
    arrays = {"x": np.zeros((2, 3)) if x is None else x, "y": np.zeros((2, 3)) if y is None else y}
    about = {"of": title, "kind": "curves", "name": "g", "text": CURVE | text}
    return observed(
        packed_arrays(
            {f"{n}/{name}": array for n in range(count) for name, array in arrays.items()},
            {"version": 1, "systems": [0, 2], "about": {str(n): about for n in range(count)}},
        )
    )


def topology(file, **options):
    """The configuration with a topology in place of the potential and the structures."""

    def make(folder):
        content = yaml.safe_load((folder / "config.yaml").read_text())
        del content["potential"]
        for system in content["systems"]:
            del system["structure"]
        content["topology"] = {"file": file, **options}
        (folder / "config.yaml").write_text(yaml.safe_dump(content))

    return make


def observed(content):
    def make(folder):
        (folder / "observed").mkdir()
        (folder / "observed" / "000000000.npz").write_bytes(content)

    return make


SESSION = {"first": 0, "last": 1, "seconds": 1.0, "peak": 0, "growth": []}
RESUME, REPORT, EXPORT = (
    ("resume", "HERE/run"),
    ("report", "HERE/run"),
    ("export", "HERE/run", "--to", "extxyz"),
)
NEWEST = "The newest checkpoint in HERE/run/checkpoints is damaged: "
NONE = "There is no checkpoint to go on from in HERE/run/checkpoints.\nHERE/run/checkpoints/000000000001.checkpoint "
H5 = "HERE/run/trajectory.h5"
SEGMENT = "HERE/run/trajectory/00000.h5"
NPZ = "HERE/run/structures.npz can't be read: "
CHECKPOINT = "checkpoints/000000000001.checkpoint"
ONE = array(np.zeros(3))
BOMB = array(np.zeros(10**6))
HUGE = array(np.zeros(1), claimed=(b"(1,), }" + b" " * 20, b"(1099511627776,), }" + b" " * 8))
OBJECTS = array(np.array([{}], object), allow_pickle=True)

MISFIT = "HERE/run/observed/000000000.npz is damaged: what was found does not fit together "
INSIDE = "HERE/run/config.yaml:…: topology: a run has its topology in its folder inputs: {file: inputs/….json}"
LINKS = [
    ("log.txt", REPORT),
    ("lock", RESUME),
    ("config.yaml", REPORT),
    (".report.html.new", REPORT),
    ("report", REPORT),
    ("report/summary.csv", REPORT),
    ("extxyz", EXPORT),
    ("end/000000000.npz", RESUME),
    ("inputs/x.json", REPORT),
    ("checkpoints/000000000002.checkpoint", RESUME),
]

_ROWS = {
    "no run": Row(lambda folder: (folder / "config.yaml").unlink(), "There is no run in …", RESUME),
    "a checkpoint without a meta.json": Row(forged(archive(x=ONE)), NONE + "is damaged: it has no meta.json.", RESUME),
    "a checkpoint of no archive": Row(forged(b"nothing"), NONE + "is damaged: it is not an archive of arrays (…).", RESUME),
    "a checkpoint of a bomb": Row(forged(archive(zipfile.ZIP_DEFLATED, x=BOMB)), NONE + "is damaged: x.npy is packed, and could be of any size.", RESUME),
    "a checkpoint that claims 8 TiB": Row(forged(archive(x=HUGE)), NONE + "is damaged: x.npy claims 8796093022208 bytes, and has 8.", RESUME),
    "a checkpoint with a pickle": Row(forged(archive(x=OBJECTS)), NONE + "is damaged: x.npy holds object, not numbers or text.", RESUME),
    "a checkpoint whose meta.json is not JSON": Row(forged(archive(**{"meta.json": ONE})), NONE + "is damaged: its meta.json is not JSON (…).", RESUME),
    "a checkpoint without its step": Row(lambda folder: checkpoint(folder, META | {"step": None}), NEWEST + "step: field required.", RESUME),
    "a checkpoint beyond the last step": Row(lambda folder: checkpoint(folder, META | {"step": 201}), "The run in HERE/run has made 181 steps of production already; …", RESUME),
    "a checkpoint of half a system": Row(lambda folder: checkpoint(folder, META | {"systems": [0]}), NEWEST + "systems: …", RESUME),
    "a checkpoint of systems that are none": Row(lambda folder: checkpoint(folder, META | {"systems": [1, 2]}), "The checkpoints in HERE/run do not belong to its plan.json.", RESUME),
    "a checkpoint with sizes below zero": Row(lambda folder: checkpoint(folder, META | {"sizes": {"images": -1}}), NEWEST + "sizes: images: …", RESUME),
    "a checkpoint of another configuration": Row(lambda folder: checkpoint(folder, META | {"configuration": {"seed": "another"}}), "The checkpoints in HERE/run are those of another configuration: …", RESUME),
    "structures that are none": Row(written("structures.npz", b"nothing"), NPZ + "it is not an archive of arrays …", RESUME),
    "structures without charges": Row(structures(charges=None), NPZ + "charges is missing, or does not fit 2 structures.", RESUME),
    "structures with a position that is no number": Row(structures(positions=np.full((59, 3), np.nan)), NPZ + "positions has entries that …", RESUME),
    "structures of too few atoms": Row(structures(counts=np.array([32, 26])), NPZ + "numbers is missing, or does not fit 2 structures.", RESUME),
    "structures of no element": Row(structures(numbers=np.full(59, 400)), NPZ + "numbers has entries that are not atomic numbers.", RESUME),
    "a plan that is not JSON": Row(written("plan.json", b"{"), "HERE/run/plan.json is damaged: …", RESUME),
    "a plan of something else": Row(written("plan.json", b"[1]"), "HERE/run/plan.json is damaged: it: …", RESUME),
    "a plan of other systems": Row(written("plan.json", json.dumps(PLAN | {"batches": [{"from": 0, "to": 9, "shape": 0}]}).encode()), "HERE/run/plan.json does not belong to the systems of the run.", RESUME),
    "a summary without systems": Row(written("summary.json", b'{"rows": 1, "shown": [], "observed": {}}'), "HERE/run/summary.json is damaged: systems: field required.", REPORT),
    "a summary of another trajectory": Row(written("summary.json", b'{"rows": 1, "shown": [], "observed": {}, "systems": [], "exploded": []}'), "HERE/run/summary.json belongs to another trajectory.", REPORT),
    "nesting of thousands in a summary": Row(written("summary.json", b"[" * 100_000), "HERE/run/summary.json is damaged: …", REPORT),
    "a link in the trajectory": Row(in_main(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/"))), H5 + " has a link at //x; links are not followed.", EXPORT),
    "a link in a segment": Row(in_segment(lambda file: file.__setitem__("x", h5py.ExternalLink("/etc/passwd", "/"))), SEGMENT + " has a link at //x; links are not followed.", EXPORT),
    "bytes of another file in a segment": Row(in_segment(replaced("frames/time", shape=(2,), dtype=float, external=[("/etc/passwd", 0, 16)])), SEGMENT + " keeps /frames/time in another file; it is not read.", EXPORT),
    "a segment that claims 8 TiB": Row(in_segment(replaced("frames/time", shape=(2**40,), dtype=float, chunks=(1024,))), SEGMENT + " claims 8796093022208 bytes at /frames/time, and holds 0; it is not read.", EXPORT),
    "a trajectory that claims 8 TiB": Row(in_main(replaced("particles/masses", shape=(2**40,), dtype=float)), H5 + " claims 8796093022208 bytes at /particles/masses, and holds 0; it is not read.", EXPORT),
    "text in the place of numbers": Row(in_main(replaced("particles/masses", data=["a"] * 59)), H5 + " has something else than numbers at /particles/masses.", EXPORT),
    "a column of another length": Row(in_main(replaced("particles/masses", data=np.ones(3))), H5 + " is damaged: particles/masses has the shape (3,) where (59,) was expected.", EXPORT),
    "particles of systems that are none": Row(in_main(replaced("particles/system", data=np.full(59, 7))), H5 + " is damaged: particles/system names systems that do not exist, …", EXPORT),
    "a trajectory without frames": Row(in_main(lambda file: file.__delitem__("frames")), H5 + " is damaged: it has no group frames.", EXPORT),
    "a trajectory of another version": Row(in_main(lambda file: file.attrs.__setitem__("version", 9)), H5 + " is a recording of version 9; this instar reads 1.", EXPORT),
    "a trajectory that is none": Row(written("trajectory.h5", b"nothing"), H5 + " can't be read as HDF5: …", EXPORT),
    "a format that is none": Row(lambda folder: None, "There is no format 'exe'…", ("export", "HERE/run", "--to", "exe")),
    # Configurations and folders
    "a folder that is empty": Row(emptied, "There is no run in HERE/run: it has no config.yaml.", REPORT),
    "a folder that is not there": Row(shutil.rmtree, "There is no run in HERE/run: it has no config.yaml.", REPORT),
    "a file in the place of the folder": Row(lambda folder: (shutil.rmtree(folder), folder.write_text("")), "There is no run in HERE/run: it has no config.yaml.", EXPORT),
    "a folder that somebody works in": Row(held, "Another process works in HERE/run: process 1 on another machine.", RESUME),
    "a configuration of a run that is damaged": Row(written("config.yaml", b"systems: ["), "HERE/run/config.yaml:1: this is not YAML: expected the node content, but found '<stream end>'.", REPORT),
    "a configuration of a run that is empty": Row(written("config.yaml", b""), "HERE/run/config.yaml is empty.", RESUME),
    "a configuration of a run with other systems": Row(configured("systems.0.structure.repeat", 3), "The checkpoints in HERE/run are those of another configuration: systems differs.", RESUME),
    "a configuration of a run with another potential": Row(configured("potential.0.parameters.Ar.epsilon", 0.02), "The checkpoints in HERE/run are those of another configuration: potential differs.", RESUME),
    "a configuration of a run with another seed": Row(configured("seed", 7), "The checkpoints in HERE/run are those of another configuration: seed differs.", RESUME),
    "a configuration of a run with other rows": Row(configured("output.thermo_every", 7), "The checkpoints in HERE/run are those of another configuration: output.thermo_every was 5 and is 7.", RESUME),
    "a configuration of a run in another precision": Row(configured("precision", "float32"), "The checkpoints in HERE/run are those of another configuration: precision differs.", RESUME),
    "a configuration of a run with a program": Row(configured("potential", [{"type": "ase", "calculator": "cp2k"}]), "HERE/run/config.yaml:11: potential[0]: the ASE calculator 'cp2k' may start programs or load code; this is done only if you say so: --trust (…", RESUME),
    "a configuration of a run that began with an object": Row(configured("potential", {"object": "my.Potential", "digest": "0"}), "The potential of HERE/run was an object of Python, a my.Potential, which a file can't hold; go on from Python: instar.resume(DIR, potential=…).", RESUME),
    "fewer steps than were made": Row(lambda folder: checkpoint(folder, META), "The run in HERE/run has made 80 steps of production already; it can't be shortened to 10.", (*RESUME, "--steps", "10")),
    "a longer ramp": Row(structures(last_temperature=np.array([90.0, 90.0])), "The run in HERE/run can't be made longer: the ramps of its systems end with it.", (*RESUME, "--steps", "999")),
    "steps without an end on the command line": Row(lambda folder: None, "HERE/run/config.yaml:29: run.steps: 99999999999 is out of range: must be below 4294967295", (*RESUME, "--steps", "99999999999")),
    # Documents
    "a folder of another version": Row(document("provenance.json", folder=9), "HERE/run is the folder of a run of version 9; this instar reads versions 1 to 2.", REPORT),
    "a folder of a version in words": Row(document("provenance.json", folder="one"), "HERE/run is the folder of a run of version one; this instar reads versions 1 to 2.", REPORT),
    "a provenance that is a list": Row(written("provenance.json", b"[]"), "HERE/run/provenance.json is damaged: it: input should be a valid dictionary.", REPORT),
    "versions that are numbers": Row(document("provenance.json", versions={"jax": 3}), "HERE/run/provenance.json is damaged: versions.jax: input should be a valid string.", REPORT),
    "a document that is no text": Row(written("provenance.json", b"\xff\xfe"), "HERE/run/provenance.json is damaged: Expecting value: line 1 column 1 (char 0).", REPORT),
    "a number of 5000 digits in a document": Row(written("provenance.json", b'{"folder": ' + b"9" * 5000 + b"}"), "HERE/run/provenance.json is damaged: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; use sys.set_int_m…", REPORT),
    "a document that is a pipe": Row(piped("plan.json"), "HERE/run/plan.json is neither a file nor a folder.", RESUME),
    "no plan": Row(lambda folder: (folder / "plan.json").unlink(), "The file HERE/run/plan.json is missing; the run can't continue without it.", RESUME),
    "a plan of no batches": Row(document("plan.json", batches=[]), "HERE/run/plan.json does not belong to the systems of the run.", RESUME),
    "a plan of batches in words": Row(document("plan.json", batches=[{"from": "a", "to": "b", "shape": 0}]), "HERE/run/plan.json is damaged: batches.0.from: input should be a valid integer.", RESUME),
    "a plan of batches without an end": Row(document("plan.json", batches=[{"from": 0, "to": 10**15, "shape": 0}]), "HERE/run/plan.json is damaged: batches.0.to: input should be less than 2147483648.", RESUME),
    "a plan of a shape that there is not": Row(document("plan.json", batches=[{"from": 0, "to": 2, "shape": 7}]), "HERE/run/plan.json does not belong to the systems of the run.", RESUME),
    "a plan that peaks below zero": Row(document("plan.json", predicted_peak=-1), "HERE/run/plan.json is damaged: predicted_peak: input should be greater than or equal to 0.", RESUME),
    "a plan without a footprint": Row(document("plan.json", footprint=None), "HERE/run/plan.json is damaged: 'footprint' is missing.", RESUME),
    "a summary of averages in words": Row(summary(mean="high"), "HERE/run/summary.json is damaged: systems.0.temperature is missing, or is not an average.", REPORT),
    "a summary with a system of no atoms": Row(summary(atoms=None), "HERE/run/summary.json is damaged: systems.0.atoms is missing.", REPORT),
    "a timing of nothing": Row(written("timing.json", b"{}"), "HERE/run/timing.json is damaged: it: input should be a valid list.", REPORT),
    "a timing in words": Row(written("timing.json", b'[{"first": 0, "last": 1, "seconds": "long", "peak": 0, "growth": []}]'), "HERE/run/timing.json is damaged: 0.seconds: input should be a valid number.", REPORT),
    "explosions of systems that there are not": Row(written("exploded.json", b'[{"system": -1, "step": 0}]'), "HERE/run/exploded.json is damaged: 0.system: input should be greater than or equal to 0.", REPORT),
    # Checkpoints
    "no folder of checkpoints": Row(lambda folder: shutil.rmtree(folder / "checkpoints"), "The checkpoints of the run in HERE/run are gone, and what it has recorded would be lost if it began again.", RESUME),
    "a file in the place of checkpoints": Row(lambda folder: (shutil.rmtree(folder / "checkpoints"), (folder / "checkpoints").write_text("")), "The checkpoints of the run in HERE/run are gone, and what it has recorded would be lost if it began again.", RESUME),
    "a checkpoint of another version": Row(replacing(b"checkpoint 3", b"checkpoint 9"), NONE + "is a checkpoint of version 9; this instar reads version 3.", RESUME),
    "a checkpoint that is empty": Row(written(CHECKPOINT, b""), NONE + "is not a checkpoint, or its first line is damaged.", RESUME),
    "a checkpoint that is cut short": Row(cut(CHECKPOINT), NONE + "is damaged: its checksum is another one.", RESUME),
    "a checkpoint with another byte": Row(replacing(b"configuration", b"konfiguration"), NONE + "is damaged: its checksum is another one.", RESUME),
    "a checkpoint that is a folder": Row(lambda folder: ((folder / CHECKPOINT).unlink(), (folder / CHECKPOINT).mkdir()), NONE + "can't be read: Is a directory.", RESUME),
    "a checkpoint that is a pipe": Row(piped(CHECKPOINT), "HERE/run/checkpoints/000000000001.checkpoint is neither a file nor a folder.", RESUME),
    "a checkpoint whose step is in words": Row(lambda folder: checkpoint(folder, META | {"step": "ten"}), "The newest checkpoint in HERE/run/checkpoints is damaged: step: input should be a valid integer.", RESUME),
    "a checkpoint whose ends are a list": Row(lambda folder: checkpoint(folder, META | {"ends": []}), "The newest checkpoint in HERE/run/checkpoints is damaged: ends: input should be a valid dictionary.", RESUME),
    "a checkpoint of explosions in words": Row(lambda folder: checkpoint(folder, META | {"exploded": ["boom"]}), "The newest checkpoint in HERE/run/checkpoints is damaged: exploded.0: input should be a valid list.", RESUME),
    "a checkpoint of explosions of the wrong kind": Row(lambda folder: checkpoint(folder, META | {"exploded": [["a", {}, None]]}), "The newest checkpoint in HERE/run/checkpoints is damaged: exploded.0: two whole numbers and a text are needed.", RESUME),
    "a checkpoint that ends before its batch": Row(lambda folder: checkpoint(folder, META | {"ends": {"x": [1, 2]}}), NEWEST + "ends: x is not the number of a system.", RESUME),
    "a checkpoint with fewer segments than before": Row(lambda folder: checkpoint(folder, META | {"segments_before": 5}), "The newest checkpoint in HERE/run/checkpoints is damaged: segments_before: there are more than segments.", RESUME),
    # Structures
    "no structures": Row(lambda folder: (folder / "structures.npz").unlink(), "HERE/run/structures.npz can't be read: No such file or directory.", RESUME),
    "structures that are packed": Row(packed, "HERE/run/structures.npz can't be read: counts.npy is packed, and could be of any size.", RESUME),
    "structures with a pickle": Row(written("structures.npz", archive(counts=OBJECTS)), "HERE/run/structures.npz can't be read: counts.npy holds object, not numbers or text.", RESUME),
    "structures that claim 8 TiB": Row(written("structures.npz", archive(counts=HUGE)), "HERE/run/structures.npz can't be read: counts.npy claims 8796093022208 bytes, and has 8.", RESUME),
    "structures with a mass below zero": Row(structures(masses=np.full(59, -1.0)), "HERE/run/structures.npz can't be read: structure 0: atom 0 has the mass -1.0; it must be above 0 and below 1e+09 amu.", RESUME),
    "structures with a mass beyond all": Row(structures(masses=np.full(59, 4e301)), "HERE/run/structures.npz can't be read: structure 0: atom 0 has the mass 4e+301; it must be above 0 and below 1e+09 amu.", RESUME),
    "a folder of an older version": Row(document("provenance.json", folder=1), "The run in HERE/run was begun by an older instar (version 1 of its folder; this one writes 2), whose recordings lack the row of the start: it can be read, but not continued.\nRun its configuration again in a new folder: instar run CONFIG --out DIR", RESUME),
    "structures with a cell of nothing": Row(structures(cell=np.zeros((2, 3, 3))), "HERE/run/structures.npz can't be read: structure 0: its cell repeats along a vector of length 0.", RESUME),
    "structures at one place": Row(structures(positions=np.zeros((59, 3))), "The checkpoints in HERE/run are those of another configuration: structures.npz differs.", RESUME),
    "structures of systems that are none": Row(structures(structure=np.array([0, 7])), "HERE/run/structures.npz can't be read: structure has entries beyond the 2 structures.", RESUME),
    "structures with names that are numbers": Row(structures(name=np.zeros(2)), "HERE/run/structures.npz can't be read: name is missing, or does not fit 2 systems.", RESUME),
    "structures with a temperature of everything": Row(structures(temperature=np.full(2, np.inf)), "HERE/run/structures.npz can't be read: temperature has entries that are not finite.", RESUME),
    "structures with a temperature below zero": Row(structures(temperature=np.full(2, -3.0)), "HERE/run/structures.npz can't be read: temperature has entries below 0.", RESUME),
    # Trajectories
    "no trajectory": Row(lambda folder: (folder / "trajectory.h5").unlink(), "HERE/run has no trajectory yet.", EXPORT),
    "no segments": Row(lambda folder: shutil.rmtree(folder / "trajectory"), "HERE/run/trajectory.h5 shows trajectory/00000.h5, which is not there.", EXPORT),
    "a trajectory that is cut short": Row(cut("trajectory.h5"), "HERE/run/trajectory.h5 can't be read as HDF5: …", EXPORT),
    "a segment that is cut short": Row(cut("trajectory/00000.h5"), "HERE/run/trajectory/00000.h5 can't be read as HDF5: …", EXPORT),
    "a trajectory that is a link": Row(linked("trajectory.h5"), is_link("trajectory.h5"), EXPORT),
    "a view of another folder": Row(in_main(viewing("../other.h5")), "HERE/run/trajectory.h5 shows ../other.h5, which is outside of its folder; it is not read.", EXPORT),
    "a view of another file": Row(in_main(viewing("/etc/passwd")), "HERE/run/trajectory.h5 shows /etc/passwd, which is outside of its folder; it is not read.", EXPORT),
    "a view within a segment": Row(in_segment(viewing("00001.h5")), "HERE/run/trajectory/00000.h5 shows another file at /frames/x; a segment is not read beyond itself.", EXPORT),
    "a soft link in the trajectory": Row(in_main(lambda file: file.__setitem__("x", h5py.SoftLink("/frames"))), "HERE/run/trajectory.h5 has a link at //x; links are not followed.", EXPORT),
    "groups without an end": Row(in_main(lambda file: file.create_group("/".join("x" * 9))), "HERE/run/trajectory.h5 has groups within groups at /x/x/x/x/x; it is not read.", EXPORT),
    "a trajectory of a version in words": Row(in_main(lambda file: file.attrs.__setitem__("version", "one")), "HERE/run/trajectory.h5 is a recording of version one; this instar reads 1.", EXPORT),
    "a trajectory without particles": Row(in_main(lambda file: file.__delitem__("particles")), "HERE/run/trajectory.h5 is damaged: it has no group particles.", EXPORT),
    "a trajectory of no element": Row(in_main(replaced("particles/numbers", data=np.full(59, 400))), "HERE/run/trajectory.h5 is damaged: particles/numbers holds numbers that are not atomic numbers.", EXPORT),
    "a trajectory of elements below zero": Row(in_main(replaced("particles/numbers", data=np.full(59, -4))), "HERE/run/trajectory.h5 is damaged: particles/numbers holds numbers that are not atomic numbers.", EXPORT),
    # What was observed
    "what was observed and is none": Row(observed(b"nothing"), "HERE/run/observed/000000000.npz can't be read: it is not an archive of arrays (File is not a zip file).", REPORT),
    "what was observed in another version": Row(observed(found({"version": 9})), "HERE/run/observed/000000000.npz is of version 9; this instar reads version 1.", REPORT),
    "what was observed in systems that there are not": Row(observed(found({"version": 1, "systems": [0, 99], "about": {}})), "HERE/run/observed/000000000.npz is damaged: what was found does not fit together (range object index out of range).", REPORT),
    "what was observed of no kind": Row(observed(found({"version": 1, "systems": [0, 2], "about": {"0": {"kind": "songs"}}})), "HERE/run/observed/000000000.npz is damaged: what was found does not fit together ('songs').", REPORT),
    "what was observed without its arrays": Row(observed(found({"version": 1, "systems": [0, 2], "about": {"0": {"kind": "values", "name": "x", "of": "x", "text": {}}}})), "HERE/run/observed/000000000.npz is damaged: what was found does not fit together ('0/value').", REPORT),
    "what was observed in a list": Row(observed(found({"version": 1, "systems": [0, 2], "about": []})), "HERE/run/observed/000000000.npz is damaged: what was found does not fit together ('list' object has no attribute 'items').", REPORT),
    "what was observed with names in a list": Row(curves(x_name=["r"]), MISFIT + "(['r'] is not a name or a unit).", REPORT),
    "what was observed with names without an end": Row(curves(y_name="g" * 10**6), MISFIT + "('ggggggggggggggggggggggggggggggggggggggg is not a name or a unit).", REPORT),
    "what was observed in words": Row(curves(y=np.full((2, 3), "a")), MISFIT + "(g is not made of numbers).", REPORT),
    "what was observed in complex numbers": Row(curves(y=np.zeros((2, 3), complex)), MISFIT + "(g is not made of numbers).", REPORT),
    "what was observed in other dimensions": Row(curves(y=np.zeros((2, 3, 4))), MISFIT + "(g does not have a row for each system).", REPORT),
    "what was observed a thousand times": Row(curves(1001), MISFIT + "(there are 1001 of them, and 1000 at most).", REPORT),
    "what was observed and not asked for": Row(curves(title="<script>"), "HERE/run/observed has '<script>', which HERE/run/config.yaml does not observe.", REPORT),
    # Links, pipes, and what is outside
    **{f"a link for {name}": Row(linked(name), is_link(name), words) for name, words in LINKS},
    "a pipe for a log": Row(piped("log.txt"), "HERE/run/log.txt is neither a file nor a folder.", RESUME),
    "a pipe for a lock": Row(piped("lock"), "HERE/run/lock is neither a file nor a folder.", RESUME),
    "a topology outside of the folder": Row(topology("/etc/passwd"), INSIDE, REPORT),
    "a topology above the folder": Row(topology("inputs/../../x.json"), INSIDE, REPORT),
    "a topology with options in a folder": Row(topology("inputs/x.data", units="real"), INSIDE, RESUME),
    # Documents that take all memory, or do not fit
    "an explosion of a system that there is not": Row(written("exploded.json", b'[{"system": 1000000000, "step": 0}]'), "HERE/run/exploded.json is damaged: exploded: there is no system 1000000000.", REPORT),
    "a checkpoint with an explosion of no system": Row(lambda folder: checkpoint(folder, META | {"exploded": [[2, 0, ""]]}), NEWEST + "exploded: there is no system 2.", RESUME),
    "a summary with an explosion of no system": Row(summary_of(exploded=[{"system": 2, "step": 0}]), "HERE/run/summary.json is damaged: exploded: there is no system 2.", REPORT),
    "a summary that shows very much": Row(summary_of(shown=["temperature"] * 101), "HERE/run/summary.json is damaged: shown: list should have at most 100 items after validation, not 101.", REPORT),
    "a timing of very many zeros": Row(written("timing.json", b"[" + b"0," * 2**23 + b"0]"), "HERE/run/timing.json is damaged: 0: input should be a valid dictionary.", REPORT),
    "a timing of very many sessions": Row(written("timing.json", json.dumps([SESSION] * 100_001).encode()), "HERE/run/timing.json is damaged: it: list should have at most 100000 items after validation, not 100001.", REPORT),
    "a timing that is very long": Row(written("timing.json", b" " * (2**26 + 1)), "HERE/run/timing.json has more than 64 MiB; it is not read.", REPORT),
    "a plan with a headroom in words": Row(document("plan.json", headroom="much"), "HERE/run/plan.json is damaged: headroom: input should be a valid number.", RESUME),
    "a plan with a headroom that is no number": Row(document("plan.json", headroom=float("nan")), "HERE/run/plan.json is damaged: headroom: …", RESUME),
    "a plan with shapes in words": Row(document("plan.json", shapes=["large"]), "HERE/run/plan.json is damaged: shapes.0: input should be a valid dictionary.", RESUME),
    # Exports and reports
    "an export that is misspelled": Row(lambda folder: None, "There is no format 'extxys'; did you mean 'extxyz'?", ("export", "HERE/run", "--to", "extxys")),
    "an export by an ending": Row(lambda folder: None, "There is no format '.xyz'; did you mean 'extxyz'?", ("export", "HERE/run", "--to", ".xyz")),
    "an export to a path": Row(lambda folder: None, "There is no format '../../x'; known are …", ("export", "HERE/run", "--to", "../../x")),
    "an export onto a file": Row(written("extxyz", b""), "HERE/run/extxyz: File exists.", EXPORT),
    "an export onto a folder": Row(lambda folder: (folder / "extxyz" / "system-0.extxyz").mkdir(parents=True), "HERE/run/extxyz/system-0.extxyz is a folder, and a file would be written there.", EXPORT),
    "a report onto a file": Row(written("report", b""), "HERE/run/report: File exists.", REPORT),
    "a report of a trajectory of another run": Row(in_main(replaced("particles/system", data=np.zeros(59, int))), "HERE/run/trajectory.h5 does not belong to HERE/run/config.yaml: other systems, or other columns.", REPORT),
}  # fmt: skip

ROWS = {
    name: row._replace(make=lambda here, do=row.make: do(sent(here))) for name, row in _ROWS.items()
}
