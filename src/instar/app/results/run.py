"""`Run`: what a run found, read from its folder."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory
from instar.app.run.findings import read_findings
from instar.observables import Finding

__all__ = ["Run"]


class Run:
    """A run that is done, or has come some way."""

    def __init__(self, directory: RunDirectory | Path | str) -> None:
        known = isinstance(directory, RunDirectory)
        self.directory = directory if known else RunDirectory.open(Path(directory))

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.directory.path

    @property
    def summary(self) -> dict[str, Any]:
        """Averages of the production with standard errors, for each system."""
        return self.directory.read_json("summary.json") or {}

    @functools.cached_property
    def trajectory(self) -> Trajectory:
        """Frames and thermo."""
        return Trajectory(self.directory.trajectory)

    @property
    def observed(self) -> dict[str, Finding]:
        """What the entries of ``observe:`` have found so far, by name, in the units they name."""
        return read_findings(self.directory.observed, self.trajectory.systems)

    def export(self, to: str) -> list[Path]:
        """Write it as "extxyz", "h5md", "pdb", …, into a folder of the run; returns the paths.

        There is one file per system; the topologies of "dcd" and "xtc" come after all of them. If
        a format can't hold the run, a `StorageError` says why, and nothing is written.
        """
        from instar.app.results.export import export  # which reads runs itself

        return export(self.directory, to)
