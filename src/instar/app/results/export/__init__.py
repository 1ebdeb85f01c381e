"""What a run has found, as files that other programs read: one format a file."""

from __future__ import annotations

from pathlib import Path

from instar.app.config.entries import nearest
from instar.app.config.registry import EXPORTS, found
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory, RunDirectoryError

__all__ = ["export"]


def export(directory: RunDirectory, to: str) -> list[Path]:
    """Write the files of a format into a folder of the run; returns their paths."""
    formats = found(EXPORTS)
    if to not in formats:
        raise RunDirectoryError(f"There is no format {to!r}{nearest(to, list(formats))}.")
    if not directory.trajectory.is_file():
        raise RunDirectoryError(f"{directory.path} has no trajectory yet.")
    folder = directory.path / to
    folder.mkdir(exist_ok=True)
    return formats[to].target(Trajectory(directory.trajectory), folder)
