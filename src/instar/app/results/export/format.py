"""What a format of exports is: a function of a trajectory and a folder, under a name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from instar.app.config.registry import EXPORTS
from instar.app.results.trajectory import Trajectory
from instar.core.utils.declaration import declare

__all__ = ["export_format", "path_of"]


def export_format[F: Callable[..., Any]](name: str) -> Callable[[F], F]:
    """Decorator for ``f(trajectory, folder) -> paths``: ``instar export DIR --to NAME``."""

    def decorate(function: F) -> F:
        return declare(EXPORTS, name, function, {})

    return decorate


def path_of(folder: Path, trajectory: Trajectory, system: int, ending: str) -> Path:
    """The file of one system."""
    digits = len(str(trajectory.systems - 1))
    return folder / f"system-{system:0{digits}}.{ending}"
