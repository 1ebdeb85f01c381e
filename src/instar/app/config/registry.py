"""What configurations may name: everything declared in instar, and in packages that extend it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from importlib.metadata import entry_points

from instar.core.utils.declaration import Declaration, declared
from instar.dynamics.method import METHODS
from instar.observables.entry import OBSERVERS
from instar.potentials.entry import POTENTIALS

__all__ = ["EXPORTS", "ROOMS", "BrokenExtensionWarning", "found", "import_all"]

EXPORTS = "instar.exports"
"""The group of entry points for formats of exports."""

ROOMS = {
    POTENTIALS: ("instar.potentials", "instar.app.ase"),
    METHODS: ("instar.dynamics",),
    OBSERVERS: ("instar.observables",),
    EXPORTS: ("instar.app.results.export",),
}
"""The folders whose files declare something of each group: a new file is found automatically."""


class BrokenExtensionWarning(UserWarning):
    """A package that extends instar can't be used."""


def found(group: str) -> dict[str, Declaration]:
    """All declarations of a group, by name: files of instar, packages, and what came since."""
    _discover(group)
    return declared(group)


@functools.cache
def _discover(group: str) -> None:
    """Import all files of instar that declare something, and the entry points of packages."""
    for room in ROOMS[group]:
        import_all(room)
    for point in entry_points(group=group):
        try:
            point.load()
        except Exception as error:  # whatever a stranger's import does must not stop a run
            _warn(point, f"{type(error).__name__}: {error}")
            continue
        if point.name not in declared(group):
            _warn(point, f"it declares nothing called {point.name!r} in {group}")


def import_all(room: str) -> None:
    """Import all files of a folder, which is a package of this name."""
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, f"{room}."):
        importlib.import_module(module.name)


def _warn(point: object, why: str) -> None:
    package = getattr(getattr(point, "dist", None), "name", "an unknown package")
    warnings.warn(
        f"{point.name} of the package {package} can't be used: {why}.\n"  # pyright: ignore
        "Repair or uninstall that package; everything else works without it.",
        BrokenExtensionWarning,
        stacklevel=3,
    )
