"""What a run has found, as files that other programs read: one format per file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from instar.app.config.registry import EXPORTS, found
from instar.app.config.words import nearest
from instar.app.results.export.format import FRAMES, ExportError
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory, RunDirectoryError

__all__ = ["export"]


def export(directory: RunDirectory, to: str) -> list[Path]:
    """Write the files of a format into a folder of the run; returns their paths."""
    formats = found(EXPORTS)
    if to not in formats:
        raise RunDirectoryError(f"There is no format {to!r}{nearest(to, list(formats))}")
    if not directory.trajectory.is_file():
        raise RunDirectoryError(f"{directory.path} has no trajectory yet.")
    trajectory = Trajectory(directory.trajectory)
    if formats[to].role == FRAMES and not trajectory.recorded:
        raise ExportError(
            f"{directory.path} has no frames to export to {to}: output.trajectory_every is 0, or "
            "more steps than the run has made; export thermo with --to csv."
        )
    return _whole(directory.path / to, lambda folder: formats[to].target(trajectory, folder))


def _whole(folder: Path, write: Callable[[Path], list[Path]]) -> list[Path]:
    """Write files beside a folder, and move them there once all of them are whole.

    If that fails nothing is left behind, and files of an earlier export stay as they were.
    """
    for left in folder.parent.glob(f".{folder.name}-*"):  # by an export that was killed
        shutil.rmtree(left, ignore_errors=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        names = [path.relative_to(beside) for path in write(beside)]
        files = [path for path in beside.rglob("*") if path.is_file()]
        places = {path: folder / path.relative_to(beside) for path in files}
        for place in places.values():
            if place.is_dir():
                raise ExportError(f"{place} is a folder, and a file would be written there.")
        for path, place in places.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return [folder / name for name in names]
