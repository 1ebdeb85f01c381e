"""H5MD: one small file per system, whose frames are views of the run's own trajectory.

Nothing is copied: keep the files inside of the run's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from instar.app.results.export.format import export_format, path_of
from instar.app.results.trajectory import Trajectory
from instar.storage import open_recording

__all__ = ["h5md"]


@export_format("h5md")
def h5md(trajectory: Trajectory, folder: Path) -> list[Path]:
    """A file per system, without a copy of its frames."""
    paths = []
    with open_recording(trajectory.path) as source:
        for system in range(trajectory.systems):
            paths.append(path_of(folder, trajectory, system, "h5md"))
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
    if trajectory.times is not None:
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
