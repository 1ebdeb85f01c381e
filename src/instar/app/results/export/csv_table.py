"""CSV: one table of thermo, for spreadsheets."""

from __future__ import annotations

import csv
from pathlib import Path

from instar.app.results.export.format import export_format
from instar.app.results.trajectory import Trajectory

__all__ = ["csv_table"]


@export_format("csv", of="thermo")
def csv_table(trajectory: Trajectory, folder: Path) -> list[Path]:
    """A row per system and step."""
    path, thermo = folder / "thermo.csv", trajectory.thermo
    units = [f"{name} ({unit})" for name, unit in trajectory.units.items()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        time = {"time (fs)": thermo["time"]} if "time" in thermo else {}
        writer.writerow(["system", "name", "step", *time, *units])
        for system, name in enumerate(trajectory.names):
            columns = [*time.values(), *(thermo[name][:, system] for name in trajectory.units)]
            for row, step in enumerate(thermo["step"]):
                writer.writerow([system, name, int(step), *(repr(float(c[row])) for c in columns)])
    return [path]
