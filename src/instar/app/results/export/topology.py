"""Formats that hold coordinates alone: a PDB of the first frame beside each file says of what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from instar.app.results.export.format import ExportError, path_of
from instar.app.results.export.frames import Frames, frames_of
from instar.app.results.export.pdb import write_pdb
from instar.app.results.trajectory import Trajectory

__all__ = ["written_with_topology"]

_LAST_STEP = np.iinfo(np.int32).max
"""The highest number of a step in DCD and XTC."""


def written_with_topology(
    trajectory: Trajectory, folder: Path, name: str, write: Callable[[Path, Frames], None]
) -> list[Path]:
    """Files of a format, one per system, and then their topologies in the same order."""
    paths, topologies = [], []
    for system in trajectory.recorded:
        frames = frames_of(trajectory, system)
        _check(frames, name)
        paths.append(path_of(folder, trajectory, system, name))
        topologies.append(paths[-1].with_suffix(".pdb"))
        write_pdb(topologies[-1], frames, system, count=1)
        write(paths[-1], frames)
    return paths + topologies


def _check(frames: Frames, name: str) -> None:
    if frames.steps[-1] > _LAST_STEP:
        raise ExportError(
            f"The format {name} counts steps up to {_LAST_STEP}, and the run has frames up to step "
            f"{frames.steps[-1]}.\nExport to extxyz or h5md, which have no such limit."
        )
