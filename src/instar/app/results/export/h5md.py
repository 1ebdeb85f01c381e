"""H5MD: one small file per system, whose frames are views of the run's own trajectory.

Nothing is copied: keep the files inside of the run's folder. Only what programs would take for
another structure is a copy: MDAnalysis knows a cell by its lengths and angles, so that a system is
turned with a cell that does not have its first vector along x and its second in the xy plane.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from instar.app.results.export.format import export_format, path_of
from instar.app.results.export.frames import (
    closed_cells,
    frames_of,
    is_standard,
    picoseconds,
    reduced,
)
from instar.app.results.trajectory import Trajectory
from instar.storage import open_recording

__all__ = ["h5md"]

_UNITS = {"position": "Angstrom", "velocity": "Angstrom fs-1"}


@export_format("h5md")
def h5md(trajectory: Trajectory, folder: Path) -> list[Path]:
    """A file per system, without a copy of its frames."""
    paths = []
    with open_recording(trajectory.path) as source:
        for system in trajectory.recorded:
            paths.append(path_of(folder, trajectory, system, "h5md"))
            with h5py.File(paths[-1], "w") as file:
                _write_h5md(file, source, trajectory, system)
    return paths


def _write_h5md(file: h5py.File, source: Any, trajectory: Trajectory, system: int) -> None:
    """H5MD 1.1 with units. P. de Buyl et al., Comput. Phys. Comm. 185, 1546 (2014)."""
    _write_about(file)
    particles, rows = file.create_group("particles/trajectory"), trajectory.rows(system)
    particles["species"] = source["particles/numbers"][rows]
    particles["mass"] = source["particles/masses"][rows]
    box = particles.create_group("box")
    repeats = trajectory.periodic(system)
    box.attrs["dimension"] = 3
    box.attrs["boundary"] = ["periodic" if axis else "none" for axis in repeats]
    cells, columns = _shown(source, trajectory, system)
    if cells is not None:
        _write_element(box, "edges", trajectory, cells, "Angstrom")
    for name, values in columns.items():
        _write_element(particles, name, trajectory, values, _UNITS[name])
    _write_interval(file.create_group("observables"), trajectory, trajectory.count(system))


def _shown(source: Any, trajectory: Trajectory, system: int) -> tuple[Any, dict[str, Any]]:
    """Cells, and positions and velocities: views, or copies if the system must be turned."""
    cells = closed_cells(trajectory, system)
    if cells is None or is_standard(cells):
        shown = None if cells is None else reduced(cells)
        return shown, _views(source, trajectory, system)
    frames = frames_of(trajectory, system)
    columns = {"position": frames.positions, "velocity": frames.velocities}
    return frames.cells, {name: one for name, one in columns.items() if one is not None}


def _write_about(file: h5py.File) -> None:
    about = file.create_group("h5md")
    about.attrs["version"] = np.array([1, 1])
    about.create_group("author").attrs["name"] = "N/A"
    creator = about.create_group("creator")
    creator.attrs.update({"name": "instar", "version": "1"})
    about.create_group("modules/units").attrs["version"] = np.array([1, 0])


def _write_interval(observables: Any, trajectory: Trajectory, count: int) -> None:
    """The time between frames (ps), 0 for one frame, as an observable called ``dt``.

    Where frames are not equally far apart there is none.

    MDAnalysis does not compute it from the times of an H5MD file: without it, it takes 1 ps. It
    has all observables as data of a frame, without a change of units; and ``trajectory.dt`` is
    the data called ``dt``.
    """
    times = picoseconds(trajectory)[:count]
    interval = times[1] - times[0] if count > 1 else 0.0
    if not np.allclose(np.diff(times), interval, rtol=1e-6, atol=0):
        return
    _write_element(observables, "dt", trajectory, np.full(count, interval), "ps")


def _write_element(group: Any, name: str, trajectory: Trajectory, value: Any, unit: str) -> None:
    element = group.create_group(name)
    count = value.shape[0]
    element["step"] = trajectory.steps[:count]
    if trajectory.times is not None:
        element["time"] = trajectory.times[:count]
        element["time"].attrs["unit"] = "fs"
    if isinstance(value, h5py.VirtualLayout):
        element.create_virtual_dataset("value", value, fillvalue=np.nan)
    else:
        element["value"] = value
    element["value"].attrs["unit"] = unit


def _views(source: Any, trajectory: Trajectory, system: int) -> dict[str, Any]:
    """Views of positions, and of velocities if they were recorded."""
    names = {"position": "positions"}
    if trajectory.has_velocities:
        names["velocity"] = "velocities"
    rows, count = trajectory.rows(system), trajectory.count(system)
    return {name: _view(source[f"frames/{known}"], rows, count) for name, known in names.items()}


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
