"""Runs made by hand, and exports as ASE and MDAnalysis read them, in Å, Å/fs and ps."""

import dataclasses
import re

import ase.io
import h5py
import MDAnalysis
import numpy as np
from ase import units
from ase.symbols import symbols2numbers
from MDAnalysis.lib import mdamath

from instar.app.results.run import Run
from instar.storage import Column, Recording


@dataclasses.dataclass(frozen=True)
class Read:
    """One system as a program reads it; what a format does not hold is None.

    ``periodic`` are the axes along which the program looks for images.
    """

    positions: list
    cells: list
    periodic: list
    numbers: np.ndarray
    times: list | None = None
    interval: float | None = None
    velocities: list | None = None


def read_extxyz(run, system):
    frames = ase.io.read(run.path / "extxyz" / f"system-{system}.extxyz", index=":")
    moving = frames[0].has("momenta")
    return Read(
        [atoms.positions for atoms in frames],
        [atoms.cell.array for atoms in frames],
        frames[0].pbc.tolist(),
        frames[0].numbers,
        [atoms.info["time"] / 1000 for atoms in frames],
        velocities=[atoms.get_velocities() * units.fs for atoms in frames] if moving else None,
    )


def read_pdb_by_ase(run, system):
    path = run.path / "pdb" / f"system-{system}.pdb"
    frames = ase.io.read(path, index=":")
    times = re.findall(r"^TITLE .* t= (\S+) step= \d+$", path.read_text(), re.MULTILINE)
    return Read(
        [atoms.positions for atoms in frames],
        [atoms.cell.array for atoms in frames],
        frames[0].pbc.tolist(),
        frames[0].numbers,
        [float(time) for time in times],
    )


def read_pdb(run, system):
    universe = MDAnalysis.Universe(run.path / "pdb" / f"system-{system}.pdb")
    return of_universe(universe, timed=False)


def read_dcd(run, system):
    return of_universe(opened(run, system, "dcd"))


def read_xtc(run, system):
    return of_universe(opened(run, system, "xtc"))


def read_h5md(run, system):
    with h5py.File(run.path / "h5md" / f"system-{system}.h5md") as file:
        numbers = np.asarray(file["particles/trajectory/species"])
    return of_universe(opened(run, system, "h5md"), numbers)


def opened(run, system, kind):
    """A universe, with the topology that is written beside formats that hold coordinates alone."""
    path = run.path / kind / f"system-{system}"
    if kind == "pdb":
        return MDAnalysis.Universe(f"{path}.pdb")
    if kind != "h5md":
        return MDAnalysis.Universe(f"{path}.pdb", f"{path}.{kind}")
    rows = run.trajectory.rows(system)
    universe = MDAnalysis.Universe.empty(rows.stop - rows.start, trajectory=True)
    universe.load_new(f"{path}.h5md", format="H5MD")
    return universe


def of_universe(universe, numbers=None, timed=True):
    """All frames of a universe, and what MDAnalysis says of the time between them."""
    frames = [frame.copy() for frame in universe.trajectory]
    interval = universe.trajectory.dt if timed else None
    universe.trajectory.close()
    cells = [mdamath.triclinic_vectors(cell_of(frame), np.float64) for frame in frames]
    moving = frames[0].has_velocities
    return Read(
        [frame.positions for frame in frames],
        cells,
        [bool(cells[0].any())] * 3,
        symbols2numbers(universe.atoms.elements) if numbers is None else numbers,
        [frame.time for frame in frames] if timed else None,
        interval,
        [frame.velocities / 1000 for frame in frames] if moving else None,
    )


def cell_of(frame):
    return np.zeros(6) if frame.dimensions is None else frame.dimensions


READERS = {
    "dcd": (read_dcd,),
    "extxyz": (read_extxyz,),
    "h5md": (read_h5md,),
    "pdb": (read_pdb, read_pdb_by_ase),
    "xtc": (read_xtc,),
}
"""The programs that read each format of frames."""

PRECISION = {"dcd": 1e-5, "extxyz": 1e-7, "h5md": 1e-5, "pdb": 6e-4, "xtc": 6e-3}
"""Å by which positions may differ; in DCD and H5MD they are rounded when they are turned."""

WITH_VELOCITIES = {"extxyz", "h5md"}


def made_run(folder, structures, steps=(100, 200, 300), velocities=False, written=None):
    """A run of structures, by frame and system, as if it had been recorded; 2.5 fs a step.

    ``written`` is the number of systems that have frames, the others are of a later batch.
    """
    all_of, some = structures[0], range(written or len(structures[0]))
    values = {
        "step": np.array(steps, int),
        "time": 2.5 * np.array(steps, float),
        "cell": np.array([[f[s].cell.complete() for s in some] for f in structures]),
        "positions": by_atom(structures, some, lambda atoms: atoms.positions),
    }
    if velocities:
        values["velocities"] = by_atom(structures, some, lambda a: a.get_velocities() * units.fs)
    columns = columns_of(all_of)
    streams = {"frames": {n: columns[n] for n in values}, "thermo": {"step": columns["step"]}}
    atoms = range(sum(len(all_of[system]) for system in some))
    part = {"systems": some, "particles": atoms}
    path = folder / "trajectory.h5"
    recording = Recording(path, streams, constants(all_of), {}, part=part)
    recording.append("thermo", {"step": np.arange(3)})
    if len(steps):
        recording.append("frames", values)
    recording.commit()
    (folder / "config.yaml").write_text("")
    return Run(folder)


def by_atom(structures, systems, of):
    rows = [np.concatenate([of(frame[system]) for system in systems]) for frame in structures]
    return np.array(rows, np.float32)


def columns_of(structures):
    atoms = sum(map(len, structures))
    return {
        "step": Column((), "int64"),
        "time": Column((), "float64", "fs"),
        "cell": Column((len(structures), 3, 3), "float64", "angstrom", "systems"),
        "positions": Column((atoms, 3), "float32", "angstrom", "particles"),
        "velocities": Column((atoms, 3), "float32", "angstrom/fs", "particles"),
    }


def constants(structures):
    sizes = [len(atoms) for atoms in structures]
    return {
        "particles": {
            "system": np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            "numbers": np.concatenate([a.numbers for a in structures]).astype(np.int32),
            "masses": np.concatenate([a.get_masses() for a in structures]),
        },
        "systems": {
            "periodic": np.array([a.pbc for a in structures]),
            "bounded": np.array([a.cell.array.any(axis=1) for a in structures]),
        },
    }
