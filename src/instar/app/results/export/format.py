"""What a format of exports is: a function of a trajectory and a folder, under a name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from instar.app.config.names import file_name
from instar.app.config.registry import EXPORTS
from instar.app.results.trajectory import Trajectory
from instar.core.utils.declaration import declare
from instar.storage import StorageError

__all__ = ["FRAMES", "ExportError", "export_format", "needed", "path_of"]

FRAMES = "frames"
"""The role of formats that write frames, which a run may not have."""


class ExportError(StorageError):
    """A run that a format can't hold, or a format that can't be written here."""


def export_format[F: Callable[..., Any]](
    name: str, of: Literal["frames", "thermo"] = FRAMES
) -> Callable[[F], F]:
    """Decorator for ``f(trajectory, folder) -> paths``: ``instar export DIR --to NAME``.

    A format of frames is called only if there are some.
    """

    def decorate(function: F) -> F:
        return declare(EXPORTS, name, function, {}, role=of)

    return decorate


def path_of(folder: Path, trajectory: Trajectory, system: int, ending: str) -> Path:
    """The file of one system, which has its name."""
    return folder / f"{file_name(trajectory.names[system])}.{ending}"


def needed(module: str, name: str) -> Any:
    """A module of a package that a format is written with, and that need not be installed."""
    package = module.split(".", maxsplit=1)[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExportError(
            f"The format {name} is written by {package}, which can't be imported ({error}): "
            f"pip install {package}"
        ) from error
