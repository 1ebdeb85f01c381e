"""Averages over the production of a run, with standard errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.results.trajectory import Trajectory
from instar.observables import block_average
from instar.observables.blocks import FEWEST

__all__ = ["summarised", "with_error"]


def summarised(path: Path, loaded: Loaded) -> dict[str, Any]:
    """Averages over the production: mean ± standard error by blocking, for each system.

    A system that was frozen has those of the rows before. What too few rows can't tell is None.
    """
    trajectory = Trajectory(path)
    thermo, units = trajectory.thermo, trajectory.units
    after = thermo["step"] > loaded.config.run.equilibration
    systems = [
        {
            "atoms": len(atoms),
            **{name: _average(thermo[name][after, n], unit) for name, unit in units.items()},
        }
        for n, atoms in enumerate(loaded.structures)
    ]
    return {"rows": int(after.sum()), "systems": systems}


def _average(rows: np.ndarray, unit: str) -> dict[str, Any]:
    known = rows[np.isfinite(rows)]
    mean = float(known.mean()) if len(known) else None
    error = float(block_average(known).error) if len(known) >= FEWEST else None
    return {"mean": mean, "error": error, "unit": unit}


def with_error(found: dict[str, Any]) -> str:
    """Mean ± error as text, with two digits of the error."""
    mean, error = found["mean"], found["error"]
    if mean is None:
        return "–"
    if not error:
        return f"{mean:.6g}"
    digits = max(0, 1 - int(np.floor(np.log10(error))))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"
