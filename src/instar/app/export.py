"""What a run has found, as files that other programs read.

h5md     one small H5MD file for each system; its frames are views of the run's own trajectory,
         so that nothing is copied: keep it inside of the run's folder
extxyz   one extended XYZ file for each system
csv      one table of thermo
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ase.io
import h5py
import numpy as np

from instar.app.directory import RunDirectory, RunDirectoryError
from instar.app.recorder import THERMO
from instar.app.results import Trajectory
from instar.storage import open_recording

__all__ = ["FORMATS", "export"]


def export(directory: RunDirectory, to: str) -> list[Path]:
    """Write the files of a format into a folder of the run; gives their paths."""
    if to not in FORMATS:
        raise RunDirectoryError(f"There is no format {to!r}; there are {', '.join(FORMATS)}.")
    if not directory.trajectory.is_file():
        raise RunDirectoryError(f"{directory.path} has no trajectory yet.")
    folder = directory.path / to
    folder.mkdir(exist_ok=True)
    return FORMATS[to](Trajectory(directory.trajectory), folder)


def _name(folder: Path, trajectory: Trajectory, system: int, ending: str) -> Path:
    digits = len(str(trajectory.systems - 1))
    return folder / f"system-{system:0{digits}}.{ending}"


def _extxyz(trajectory: Trajectory, folder: Path) -> list[Path]:
    paths = []
    for system in range(trajectory.systems):
        frames = trajectory.history(system)
        for number, atoms in enumerate(frames):
            step, time = int(trajectory.steps[number]), float(trajectory.times[number])
            atoms.info.update(step=step, time=time)
        paths.append(_name(folder, trajectory, system, "extxyz"))
        ase.io.write(paths[-1], frames, format="extxyz")
    return paths


def _csv(trajectory: Trajectory, folder: Path) -> list[Path]:
    path, thermo = folder / "thermo.csv", trajectory.thermo
    units = [f"{name} ({unit})" for name, unit in THERMO.items()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["system", "step", "time (fs)", *units])
        for system in range(trajectory.systems):
            for row, (step, time) in enumerate(zip(thermo["step"], thermo["time"], strict=True)):
                values = [repr(float(thermo[name][row, system])) for name in THERMO]
                writer.writerow([system, int(step), repr(float(time)), *values])
    return [path]


def _h5md(trajectory: Trajectory, folder: Path) -> list[Path]:
    paths = []
    with open_recording(trajectory.path) as source:
        for system in range(trajectory.systems):
            paths.append(_name(folder, trajectory, system, "h5md"))
            with h5py.File(paths[-1], "w") as file:
                _write_h5md(file, source, trajectory, system)
    return paths


def _write_h5md(file: h5py.File, source: Any, trajectory: Trajectory, system: int) -> None:
    """H5MD 1.1 with units. P. de Buyl et al., Comput. Phys. Comm. 185, 1546 (2014)."""
    about = file.create_group("h5md")
    about.attrs["version"] = np.array([1, 1])
    about.create_group("author").attrs["name"] = "N/A"
    creator = about.create_group("creator")
    creator.attrs.update({"name": "instar", "version": "1"})
    about.create_group("modules/units").attrs["version"] = np.array([1, 0])
    particles = file.create_group("particles/trajectory")
    rows = trajectory.rows(system)
    particles["species"] = source["particles/numbers"][rows]
    particles["mass"] = source["particles/masses"][rows]
    box = particles.create_group("box")
    periodic = source["systems/periodic"][system]
    box.attrs["dimension"] = 3
    box.attrs["boundary"] = ["periodic" if axis else "none" for axis in periodic]
    count = trajectory.count(system)
    _element(box, "edges", trajectory, source["frames/cell"][:count, system], "Angstrom")
    for name, element, unit in (
        ("positions", "position", "Angstrom"),
        ("velocities", "velocity", "Angstrom fs-1"),
    ):
        if f"frames/{name}" in source:
            view = _view(source[f"frames/{name}"], rows, count)
            _element(particles, element, trajectory, view, unit)


def _element(group: Any, name: str, trajectory: Trajectory, value: Any, unit: str) -> None:
    element = group.create_group(name)
    count = value.shape[0]
    element["step"] = trajectory.steps[:count]
    element["time"] = trajectory.times[:count]
    element["time"].attrs["unit"] = "fs"
    if isinstance(value, h5py.VirtualLayout):
        element.create_virtual_dataset("value", value, fillvalue=np.nan)
    else:
        element["value"] = value
    element["value"].attrs["unit"] = unit


def _view(dataset: Any, rows: slice, frames: int) -> h5py.VirtualLayout:
    """The rows of one system of all segments that hold it, seen from a folder beside them."""
    layout = h5py.VirtualLayout((frames, rows.stop - rows.start, 3), dataset.dtype)
    for part in dataset.virtual_sources() if dataset.is_virtual else ():
        (first, left, _), (last, right, _) = part.vspace.get_select_bounds()
        if not left <= rows.start <= right:
            continue
        shape = (last + 1 - first, right + 1 - left, 3)
        source = h5py.VirtualSource(f"../{part.file_name}", part.dset_name, shape, dataset.dtype)
        layout[first : last + 1] = source[:, rows.start - left : rows.stop - left]
    return layout


FORMATS: dict[str, Callable[[Trajectory, Path], list[Path]]] = {
    "extxyz": _extxyz,
    "h5md": _h5md,
    "csv": _csv,
}
