"""DCD: one file per system with all digits of its positions, by MDAnalysis; a PDB beside it.

Cells are written as lengths and angles, so that a system is turned with a cell that does not have
its first vector along x and its second in the xy plane.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from instar.app.results.export.format import ExportError, export_format, needed
from instar.app.results.export.frames import Frames, lengths_and_cosines
from instar.app.results.export.topology import written_with_topology
from instar.app.results.trajectory import Trajectory

__all__ = ["dcd"]

_AKMA = 4.888821e-2
"""The unit of time of the format in ps, with the digits that MDAnalysis reads it with."""


@export_format("dcd")
def dcd(trajectory: Trajectory, folder: Path) -> list[Path]:
    """All frames of each system, in single precision, and a topology beside."""
    library = needed("MDAnalysis.lib.formats.libdcd", "dcd")
    return written_with_topology(
        trajectory, folder, "dcd", lambda path, frames: _write(path, frames, library.DCDFile)
    )


def _write(path: Path, frames: Frames, opened: Any) -> None:
    header = _clock(frames)
    with opened(str(path), "w") as file:
        file.write_header(
            remarks="written by instar",
            natoms=len(frames.numbers),
            is_periodic=int(frames.cells is not None),
            **header,
        )
        boxes = [np.zeros(6)] * len(frames.steps) if frames.cells is None else _boxes(frames.cells)
        for positions, box in zip(frames.positions, boxes, strict=True):
            file.write(positions, box)


def _clock(frames: Frames) -> dict[str, Any]:
    """The first step, the steps between frames and the time step: a file knows no other times.

    The time of frame n is read as (n + istart / nsavc) · nsavc · delta.
    """
    steps, times = frames.steps, frames.times
    between = np.unique(np.diff(steps))
    if len(between) > 1:
        raise ExportError(
            f"Frames are {between[0]} to {between[-1]} steps apart, but a DCD file has one "
            "interval for all frames.\nExport to xtc, which has a time per frame."
        )
    every = int(between[0]) if len(between) else max(1, int(steps[0]))
    time_step = float(times[-1]) / max(1, int(steps[-1]))
    if not np.allclose(times, steps * time_step, rtol=1e-6):
        raise ExportError(
            "The stages of the run have different time steps, but a DCD file has one for all "
            "frames.\nExport to xtc, which has a time per frame."
        )
    return {"istart": int(steps[0]), "nsavc": every, "delta": time_step / _AKMA}


def _boxes(cells: np.ndarray) -> np.ndarray:
    """A, cos γ, B, cos β, cos α, C: as NAMD and VMD have them."""
    lengths, cosines = lengths_and_cosines(cells)
    return np.concatenate([lengths, cosines], axis=1)[:, [0, 5, 1, 4, 3, 2]]
