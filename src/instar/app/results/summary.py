"""Averages over the production of a run, with standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.results.trajectory import Trajectory
from instar.app.run.directory import RunDirectory
from instar.app.run.findings import read_findings
from instar.app.run.kinds import kind_of
from instar.observables import block_average
from instar.observables.blocks import FEWEST

__all__ = ["drifts", "summarised", "with_error"]


def summarised(directory: RunDirectory, loaded: Loaded) -> dict[str, Any]:
    """Averages over the production: mean ± standard error by blocking, for each system.

    With them stand the number of independent values that the rows are worth (``samples``), whether
    the mean still changes (``drifts``), what the system is, and what was ``asked`` for. A system
    that was frozen has averages of the rows before. What too few rows can't tell is None. ``shown``
    names the columns that people look at first; ``observed`` are values that observers have found;
    ``exploded`` are systems that were frozen, and the step of each. ``stages`` has the averages of
    each stage, where a run lists them.
    """
    trajectory = Trajectory(directory.trajectory)
    after = trajectory.thermo["step"] > loaded.production.first
    systems = [
        {
            "name": name,
            "atoms": int(loaded.counts[n]),
            **_averages(trajectory, after, n),
            "formula": loaded.structures[n].get_chemical_formula(),
            "asked": _asked(loaded, n),
        }
        for n, name in enumerate(loaded.names)
    ]
    columns = kind_of(loaded).THERMO.items()
    return {
        "rows": int(after.sum()),
        "shown": [name for name, column in columns if column.shown == "value"],
        "systems": systems,
        "observed": _observed(directory, len(systems)),
        "exploded": directory.exploded(len(systems)),
        "stages": _stages(trajectory, loaded) if isinstance(loaded.config.run, list) else [],
    }


def _averages(trajectory: Trajectory, rows: np.ndarray, system: int) -> dict[str, Any]:
    """Averages of a system over some rows of thermo, by column."""
    thermo = trajectory.thermo
    return {name: _average(thermo[name][rows, system], u) for name, u in trajectory.units.items()}


def _stages(trajectory: Trajectory, loaded: Loaded) -> list[dict[str, Any]]:
    """What each stage was, and the averages of all systems over it."""
    steps, systems = trajectory.thermo["step"], range(len(loaded.systems))
    rows = [(steps > stage.first) & (steps <= stage.last) for stage in loaded.stages]
    return [
        {
            "name": stage.name,
            "method": stage.method.label,
            "first": stage.first,
            "last": stage.last,
            "rows": int(some.sum()),
            "systems": [_averages(trajectory, some, n) for n in systems],
        }
        for stage, some in zip(loaded.stages, rows, strict=True)
    ]


def _observed(directory: RunDirectory, systems: int) -> dict[str, list[dict[str, Any]]]:
    """Values of observers by name, one per system."""
    return {
        f"{title}: {name}": [
            {"mean": _known(v), "error": _known(e), "unit": found.unit}
            for v, e in zip(found.value, found.error, strict=True)
        ]
        for title, finding in read_findings(directory.observed, systems).items()
        for name, found in finding.values.items()
    }


def _known(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


_ASKED = {"temperature": "K", "pressure": "bar"}
"""What may be asked of a system, and its unit."""


def _asked(loaded: Loaded, system: int) -> dict[str, dict[str, Any]]:
    """What a system was to have in the production, as far as it is known; ``last``: of a ramp."""
    units, wanted = loaded.units, loaded.asked(loaded.systems[system])
    found: dict[str, dict[str, Any]] = {}
    for name, unit in _ASKED.items():
        first, last = getattr(wanted, name), getattr(wanted, f"last_{name}")
        if first is not None:
            found[name] = {"value": first / units.size(unit), "unit": units.label(unit)}
        if last is not None:
            found[name]["last"] = last / units.size(unit)
    return found


def _average(rows: np.ndarray, unit: str) -> dict[str, Any]:
    known = rows[np.isfinite(rows)]
    mean = float(known.mean()) if len(known) else None
    found = {"mean": mean, "error": None, "unit": unit, "samples": None, "drifts": False}
    if len(known) < FEWEST:
        return found
    average = block_average(known)
    error, variance = float(average.error), float(average.variance)
    samples = float(min(variance / error**2, len(known))) if error > 0 else None
    return found | {"error": error, "samples": samples, "drifts": drifts(known)}


def drifts(rows: np.ndarray) -> bool:
    """Whether the two halves of a series differ by more than three standard errors.

    Each half has an error of its own by blocking: that of the whole grows with a drift.
    """
    halves = [block_average(half) for half in np.array_split(rows, 2) if len(half) >= FEWEST]
    if len(halves) < 2:
        return False
    apart = abs(halves[0].mean - halves[1].mean)
    spread = float(np.max(np.abs(rows)))
    error = np.hypot(halves[0].error, halves[1].error)
    return bool(apart > _SIGNIFICANT * error and apart > _ROUNDING * spread)


_SIGNIFICANT = 3.0
"""Standard errors beyond which halves of a series differ."""

_ROUNDING = 1e-9
"""Differences that are rounding, as parts of the largest value."""


def with_error(found: dict[str, Any]) -> str:
    """Mean ± error as text, with two digits of the error."""
    mean, error = found["mean"], found["error"]
    if mean is None:
        return "–"
    if not error:
        return f"{mean:.6g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    if digits > 6:
        return f"{mean:.3g} ± {error:.2g}"
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
