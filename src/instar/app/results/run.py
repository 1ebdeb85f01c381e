"""`Run`: what a run found, read from its folder."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.results.columns import Columns
from instar.app.results.frames import correlated, radial_curves
from instar.app.results.summary import with_error
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory
from instar.app.run.ending import ended
from instar.app.run.findings import read_findings
from instar.core.utils.html_text import html_table
from instar.observables import (
    Curve,
    Finding,
    ObserverError,
    mean_square_displacement,
    velocity_autocorrelation,
)
from instar.observables.radial import RadialObservation

__all__ = ["Run"]


_SHOWN = 3
"""Systems that are listed when a run is printed."""

_WHO = ("name", "formula")


class Run:
    """What a run has found so far, read from its folder; `instar.run` and `instar.open` return one.

    ``run.averages`` and ``run.thermo`` are tables by column, ``run.trajectory`` has the frames,
    ``run.observed`` what the entries of ``observe:`` found.

    Parameters
    ----------
    directory
        The folder of the run.
    """

    def __init__(self, directory: RunDirectory | Path | str) -> None:
        known = isinstance(directory, RunDirectory)
        self.directory = directory if known else RunDirectory.open(Path(directory))

    def __repr__(self) -> str:
        rows = ["  ".join(map(str, row)) for row in self._rows()]
        return "\n  ".join([self._headline(), *rows])

    def _repr_html_(self) -> str:
        heads = ("system", "name", "formula", *self.summary.get("shown", ()))
        return html_table(self._headline(), heads, self._rows())

    def _headline(self) -> str:
        if not self.directory.trajectory.is_file():
            return f"Run('{self.path}'): nothing is recorded yet"
        found = self.trajectory
        recorded = f"{len(found)} frames, {len(found.thermo['step'])} rows of thermo"
        systems = "1 system" if found.systems == 1 else f"{found.systems} systems"
        return f"Run('{self.path}'): {systems}, {recorded}"

    def _rows(self) -> list[tuple[str, ...]]:
        """The averages of the first systems, as text."""
        summary = self.summary
        systems, shown = summary.get("systems", []), summary.get("shown", ())
        rows = [
            (str(n), *(system.get(part, "") for part in _WHO), *(_told(system[s]) for s in shown))
            for n, system in enumerate(systems[:_SHOWN])
        ]
        more = [("…", f"{len(systems)} systems", "", *("" for _ in shown))]
        return rows + more if len(systems) > _SHOWN else rows

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
    def stages(self) -> dict[str, range]:
        """Steps of each stage by name; those of the last one as far as they are recorded."""
        first = self.trajectory.stages
        made = self.trajectory.thermo["step"]
        ends = [*list(first.values())[1:], int(max(made, default=0))]
        begins = zip(first.items(), ends, strict=True)
        return {name: range(begin, min(end, ends[-1])) for (name, begin), end in begins}

    @property
    def structures(self) -> list[Atoms]:
        """The systems at their end as ASE structures, with their velocities.

        A `RunDirectoryError` says so if one has not come there.
        """
        return list(ended(self.path).structures)

    @property
    def thermo(self) -> Columns:
        """Thermo by column: ``run.thermo["temperature"]`` is an array (rows, systems).

        ``step`` and ``time`` (fs) have one entry per row; ``run.thermo.units`` has the units.
        """
        units = {"time": "fs"} if "time" in self.trajectory.thermo else {}
        return Columns(self.trajectory.thermo, units | self.trajectory.units)

    @property
    def averages(self) -> Columns:
        """Averages of the production, with an entry per system: means, errors, and samples.

        ``run.averages["temperature"]`` are means, ``run.averages["temperature error"]`` their
        standard errors, ``run.averages["temperature samples"]`` the independent values that they
        are worth; NaN where that is not known.
        """
        systems = self.summary.get("systems", [])
        names = [name for name, found in (systems or [{}])[0].items() if _is_average(found)]
        columns: dict[str, np.ndarray] = {
            "system": np.arange(len(systems)),
            "atoms": np.array([system["atoms"] for system in systems], int),
        }
        units: dict[str, str] = {}
        for name in names:
            for part, ending in (("mean", ""), ("error", " error"), ("samples", " samples")):
                values = [system[name].get(part) for system in systems]
                columns[name + ending] = np.array(values, float)
            units[name] = units[f"{name} error"] = systems[0][name]["unit"]
        return Columns(columns, units)

    def radial_distribution(
        self, pair: tuple[str, str] | None = None, *, reach: float = 10.0, bins: int = 200
    ) -> Curve:
        """g(r) of each system from the stored frames of the last stage.

        An entry ``radial_distribution`` under ``observe:`` sees all steps, and costs less memory.

        Parameters
        ----------
        pair
            Chemical symbols of centres and neighbors; left out, all atoms are both.
        reach
            The largest distance, in Å.
        bins
            Bins of equal width.

        Returns
        -------
        Curve
            ``x`` are distances (systems, bins) in Å, ``y`` is g; NaN for systems that do not repeat
            along all axes.

        Raises
        ------
        ObserverError
            If no system that repeats along all axes has frames.
        """
        trajectory = self.trajectory
        systems = [n for n in trajectory.recorded if trajectory.periodic(n).all()]
        count = min(map(trajectory.count, systems), default=0)
        first = list(trajectory.stages.values())[-1]
        frames = np.flatnonzero(trajectory.steps[:count] > first).tolist()
        if not frames:
            raise ObserverError(
                "No system that repeats along all axes has frames, so there is no g(r)."
            )
        entry = RadialObservation(pair=pair, reach=reach, bins=bins)
        return radial_curves(trajectory, [entry], frames, systems)[0]

    def mean_square_displacement(self, *, lags: int | None = None) -> Curve:
        """MSD(t) = ⟨|r(t₀ + t) − r(t₀)|²⟩ of each system, from the stored frames of the last stage.

        Parameters
        ----------
        lags
            How many times there are, from 0 on; left out, as many as frames.

        Returns
        -------
        Curve
            ``x`` are times (systems, lags) in ps, ``y`` mean-square displacements in Å².

        Raises
        ------
        ObserverError
            If steps have no time, or frames are not equally far apart.
        """
        words = ("MSD", "angstrom^2")
        found = self.trajectory
        return correlated(found, mean_square_displacement, found.positions, words, lags)

    def velocity_autocorrelation(self, *, lags: int | None = None) -> Curve:
        """VACF(t) = ⟨v(t₀)·v(t₀ + t)⟩ of each system, from the stored frames of the last stage.

        Parameters
        ----------
        lags
            How many times there are, from 0 on; left out, as many as frames.

        Returns
        -------
        Curve
            ``x`` are times (systems, lags) in ps, ``y`` autocorrelations in Å²/fs².

        Raises
        ------
        StorageError
            If velocities were not recorded (``output: {velocities: true}``).
        ObserverError
            If steps have no time, or frames are not equally far apart.
        """
        words = ("VACF", "angstrom^2/fs^2")
        found = self.trajectory
        return correlated(found, velocity_autocorrelation, found.velocities, words, lags)

    @property
    def observed(self) -> dict[str, Finding]:
        """What the entries of ``observe:`` have found so far, by name, in the units they name."""
        return read_findings(self.directory.observed, self.trajectory.systems)

    def report(self, *sections: tuple[str, str, Mapping[str, Any]]) -> Path:
        """Write ``report.html`` again, as far as the run has come, with sections of your own.

        Parameters
        ----------
        sections
            What stands before all others: each is a heading, some HTML, and figures of matplotlib
            by name, which are written to the folder ``report`` as well.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        RunDirectoryError
            If nothing is recorded yet.
        """
        from instar.app.config import Trust, load
        from instar.app.report import Section, write_report  # what it draws with takes long

        loaded = load(self.directory.config, start=self.directory.start(), trust=Trust.UNTRIED)
        return write_report(self.directory, loaded, [Section(*one) for one in sections])

    def export(self, to: str) -> list[Path]:
        """Write the run in another format, into a folder of the run.

        Parameters
        ----------
        to
            The format: "extxyz", "h5md", "pdb", "dcd", "xtc", "csv", …; `instar export --help`
            lists them.

        Returns
        -------
        list of Path
            One file per system, but one in all for "csv"; the topologies of "dcd" and "xtc" come
            after all of them.

        Raises
        ------
        StorageError
            If the format can't hold the run; it says why, and nothing is written.
        RunDirectoryError
            If there is no such format, or nothing is recorded yet.
        """
        from instar.app.results.export import export  # which reads runs itself

        return export(self.directory, to)


def _told(found: dict[str, Any]) -> str:
    return f"{with_error(found)} {found['unit']}".strip()


def _is_average(found: Any) -> bool:
    return isinstance(found, dict) and "mean" in found
