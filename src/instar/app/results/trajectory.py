"""`Trajectory`: frames and thermo of a run, read when they are asked for."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from ase import Atoms

from instar.storage import open_recording

__all__ = ["Trajectory"]


class Trajectory:
    """Frames and thermo of a run, system by system; read when asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_recording(path) as file:
            self._of_particle = file["particles/system"][:]
            self._numbers = file["particles/numbers"][:]
            self._masses = file["particles/masses"][:]
            self._periodic = file["systems/periodic"][:]
            self.steps = file["frames/step"][:]
            self.times = file["frames/time"][:] if "time" in file["frames"] else None
            self._counts = np.isfinite(file["frames/cell"][:, :, 0, 0]).sum(axis=0)

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.steps)

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self._periodic)

    def count(self, system: int) -> int:
        """How many frames there are of a system: those of a later batch come later."""
        return int(self._counts[system])

    def positions(self, system: int) -> np.ndarray:
        """(frames, atoms, 3) Å, not wrapped into the cell."""
        return self._column("positions", system)

    def velocities(self, system: int) -> np.ndarray:
        """(frames, atoms, 3) Å/fs, if they were recorded."""
        return self._column("velocities", system)

    def cells(self, system: int) -> np.ndarray:
        """(frames, 3, 3) Å, vectors as rows."""
        with open_recording(self.path) as file:
            return file["frames/cell"][: self.count(system), system]

    def atoms(self, system: int, frame: int = -1) -> Atoms:
        """One frame as an ASE structure."""
        count = self.count(system)
        if not -count <= frame < count:
            raise IndexError(f"There are {count} frames of system {system}, and none {frame}.")
        frame = range(count)[frame]
        with open_recording(self.path) as file:
            positions = file["frames/positions"][frame, self.rows(system)]
            return self._structure(system, positions, file["frames/cell"][frame, system])

    def history(self, system: int) -> list[Atoms]:
        """All frames of a system as ASE structures."""
        frames = zip(self.positions(system), self.cells(system), strict=True)
        return [self._structure(system, positions, cell) for positions, cell in frames]

    def structures(self, frame: int) -> list[Atoms]:
        """One frame of all systems as ASE structures."""
        with open_recording(self.path) as file:
            positions, cells = file["frames/positions"][frame], file["frames/cell"][frame]
        return [
            self._structure(system, positions[self.rows(system)], cells[system])
            for system in range(self.systems)
        ]

    def _structure(self, system: int, positions: np.ndarray, cell: np.ndarray) -> Atoms:
        rows = self.rows(system)
        masses, periodic = self._masses[rows], self._periodic[system]
        return Atoms(self._numbers[rows], positions, masses=masses, cell=cell, pbc=periodic)

    @functools.cached_property
    def units(self) -> dict[str, str]:
        """The columns of the thermo table that have a value per system, with their units."""
        with open_recording(self.path) as file:
            columns = file["thermo"]
            names = [name for name in columns if name not in ("step", "time")]
            return {name: str(columns[name].attrs.get("unit", "")) for name in names}

    @functools.cached_property
    def thermo(self) -> dict[str, np.ndarray]:
        """Columns of the thermo table: step, time (fs) if steps have one, and (rows, systems)."""
        with open_recording(self.path) as file:
            names = [name for name in ("step", "time") if name in file["thermo"]]
            return {name: file[f"thermo/{name}"][:] for name in (*names, *self.units)}

    def rows(self, system: int) -> slice:
        """Which rows of the tables are its atoms."""
        number = range(self.systems)[system]
        first, last = np.searchsorted(self._of_particle, [number, number + 1])
        return slice(int(first), int(last))

    def _column(self, name: str, system: int) -> np.ndarray:
        with open_recording(self.path) as file:
            return file[f"frames/{name}"][: self.count(system), self.rows(system)]
