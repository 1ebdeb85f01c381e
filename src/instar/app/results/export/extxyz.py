"""Extended XYZ: one file per system, with velocities if they were recorded."""

from __future__ import annotations

from pathlib import Path

from instar.app.results.export.format import export_format, path_of
from instar.app.results.trajectory import Trajectory

__all__ = ["extxyz"]


@export_format("extxyz")
def extxyz(trajectory: Trajectory, folder: Path) -> list[Path]:
    """All frames of each system, with step and, where steps have one, time (fs).

    Velocities are momenta in the units of ASE.
    """
    import ase.io  # takes a while, and few need it

    paths = []
    for system in trajectory.recorded:
        frames = trajectory.history(system)
        for number, atoms in enumerate(frames):
            atoms.info["step"] = int(trajectory.steps[number])
            if trajectory.times is not None:
                atoms.info["time"] = float(trajectory.times[number])
        paths.append(path_of(folder, trajectory, system, "extxyz"))
        ase.io.write(paths[-1], frames, format="extxyz")
    return paths
