"""XTC: one small file per system, of positions to 0.01 Å, by MDAnalysis; a PDB beside it.

Cells have their first vector along x and their second in the xy plane, as GROMACS needs them: a
system is turned with a cell that has not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from instar.app.results.export.format import ExportError, export_format, needed
from instar.app.results.export.frames import Frames
from instar.app.results.export.topology import written_with_topology
from instar.app.results.trajectory import Trajectory

__all__ = ["xtc"]

_NANOMETRE = 10.0
"""Å"""

_FARTHEST = 1e7
"""Å from the origin, beyond which compressed coordinates have no room."""


@export_format("xtc")
def xtc(trajectory: Trajectory, folder: Path) -> list[Path]:
    """All frames of each system, compressed, and a topology beside."""
    library = needed("MDAnalysis.lib.formats.libmdaxdr", "xtc")
    return written_with_topology(
        trajectory, folder, "xtc", lambda path, frames: _write(path, frames, library.XTCFile)
    )


def _write(path: Path, frames: Frames, opened: Any) -> None:
    if not (np.abs(frames.positions) < _FARTHEST).all():
        raise ExportError(
            f"Atoms are more than {_FARTHEST:.0e} Å from the origin, which an XTC file can't hold."
            "\nExport to dcd, extxyz or h5md, which have no such limit."
        )
    _check_times(frames.times)
    none = np.zeros((len(frames.steps), 3, 3))
    boxes = (none if frames.cells is None else frames.cells) / _NANOMETRE
    with opened(str(path), "w") as file:
        for frame, (step, time) in enumerate(zip(frames.steps, frames.times, strict=True)):
            file.write(frames.positions[frame] / _NANOMETRE, boxes[frame], int(step), float(time))


def _check_times(times: np.ndarray) -> None:
    """Refuse times that single precision, which the format has, can't tell apart."""
    kept = np.diff(times.astype(np.float32).astype(float))
    if not np.allclose(kept, np.diff(times), rtol=0.01, atol=0):
        raise ExportError(
            f"Frames up to {times[-1]:.6g} ps are too close in time for an XTC file, which "
            "stores times with seven digits.\nExport to extxyz or h5md, which store all digits."
        )
