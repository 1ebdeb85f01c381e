"""`Trajectory`: frames and thermo of a run, read when they are asked for."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms, units
from ase.data import chemical_symbols
from ase.stress import full_3x3_to_voigt_6_stress

from instar.app.config.names import unique_names
from instar.app.results.consistency import inconsistency
from instar.core.utils.html_text import html_table
from instar.storage import StorageError, open_recording

__all__ = ["Trajectory"]

_MOST_HELD = 2**28
"""Bytes of a column that is kept once it was read: systems share chunks on disk."""


_SHOWN = 3
"""Systems that are listed when a trajectory is printed."""


class Trajectory:
    """Frames and thermo of a run, system by system; read when asked for.

    ``names`` are those of the systems, in their order; ``steps`` and ``times`` (fs) those of the
    frames. ``len(trajectory)`` is the number of frames.

    Parameters
    ----------
    path
        The file ``trajectory.h5`` of a run.

    Raises
    ------
    StorageError
        If the file can't be read, or its tables do not fit together.
    """

    names: list[str]

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: dict[str, np.ndarray] = {}
        with open_recording(path) as file:
            if (wrong := inconsistency(file)) is not None:
                raise StorageError(f"{path} is damaged: {wrong}.")
            self._of_particle = file["particles/system"][:]
            self._numbers = file["particles/numbers"][:]
            self._masses = file["particles/masses"][:]
            self._periodic = file["systems/periodic"][:]
            bounded = file["systems"].get("bounded")
            self._bounded = np.ones_like(self._periodic) if bounded is None else bounded[:]
            names = file["systems"].get("names")
            self.names = unique_names([""] * self.systems) if names is None else _text(names[:])
            self.has_velocities = "velocities" in file["frames"]
            self.has_results = {"energy", "forces", "stress"} <= set(file["frames"])
            self.steps = file["frames/step"][:]
            self._stages = _stages(file.attrs)
            self.times = file["frames/time"][:] if "time" in file["frames"] else None
            self._counts = np.isfinite(file["frames/cell"][:, :, 0, 0]).sum(axis=0)

    def __repr__(self) -> str:
        lines = [f"system {n}: {self._about(n)}" for n in range(min(self.systems, _SHOWN))]
        more = [f"… {self.systems} systems"] if self.systems > _SHOWN else []
        return "\n  ".join([self._headline, *lines, *more])

    def _repr_html_(self) -> str:
        shown = range(min(self.systems, _SHOWN))
        rows = [(n, self.names[n], self._formula(n), self.count(n)) for n in shown]
        more = [("…", "", "", "")] if self.systems > _SHOWN else []
        heads = ("system", "name", "formula", "frames")
        return html_table(self._headline, heads, [*rows, *more])

    @property
    def _headline(self) -> str:
        systems = "1 system" if self.systems == 1 else f"{self.systems} systems"
        return f"Trajectory('{self.path}'): {len(self)} frames of {systems}"

    def _about(self, system: int) -> str:
        return f"{self._formula(system)}, {self.count(system)} frames"

    def _formula(self, system: int) -> str:
        return Atoms(self.numbers(system)).get_chemical_formula()

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.steps)

    @property
    def stages(self) -> dict[str, int]:
        """The stages of the run, and how many steps were made before each."""
        return dict(self._stages)

    @property
    def production(self) -> slice:
        """Frames of the last stage, from its start on."""
        first = list(self._stages.values())[-1]
        return slice(int(np.searchsorted(self.steps, first)), None)

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self._periodic)

    @property
    def recorded(self) -> list[int]:
        """Systems that have frames: those of a later batch may have none yet."""
        return [system for system in range(self.systems) if self.count(system)]

    def count(self, system: int) -> int:
        """How many frames there are of a system: those of a later batch come later."""
        return int(self._counts[self._number(system)])

    def numbers(self, system: int) -> np.ndarray:
        """(atoms,) atomic numbers."""
        return self._numbers[self.rows(system)]

    def symbols(self, system: int) -> list[str]:
        """Chemical symbols of the atoms."""
        return [chemical_symbols[number] for number in self.numbers(system)]

    def periodic(self, system: int) -> np.ndarray:
        """(3,) whether the system repeats along each vector of its cell."""
        return self._periodic[self._number(system)]

    def positions(self, system: int) -> np.ndarray:
        """The positions of a system in all of its frames.

        Parameters
        ----------
        system
            Its number.

        Returns
        -------
        array
            (frames, atoms, 3) in Å, not wrapped into the cell.
        """
        return self._column("positions", system)

    def velocities(self, system: int) -> np.ndarray:
        """The velocities of a system in all of its frames.

        Parameters
        ----------
        system
            Its number.

        Returns
        -------
        array
            (frames, atoms, 3) in Å/fs.

        Raises
        ------
        StorageError
            If velocities were not recorded (``output: {velocities: true}``).
        """
        if not self.has_velocities:
            raise StorageError(
                f"{self.path} has no velocities.\nRecord them: output: {{velocities: true}}"
            )
        return self._column("velocities", system)

    def cells(self, system: int) -> np.ndarray:
        """The cells of a system in all of its frames.

        Parameters
        ----------
        system
            Its number.

        Returns
        -------
        array
            (frames, 3, 3) in Å, vectors as rows; zeros where the structure has no vector.
        """
        cells = self.complete_cells(system)
        return np.where(self._bounded[system][:, None], cells, 0.0)

    def complete_cells(self, system: int) -> np.ndarray:
        """(frames, 3, 3) Å: as `cells`, with unit vectors where the structure has no vector."""
        return self._frames("cell", system, system)

    def atoms(self, system: int, frame: int = -1) -> Atoms:
        """One frame of a system as an ASE structure.

        Parameters
        ----------
        system
            Its number.
        frame
            The number of the frame; the last one if left out.

        Returns
        -------
        ase.Atoms
            With masses, the cell and, in ASE's units, velocities if they were recorded.

        Raises
        ------
        IndexError
            If there is no such system, or it does not have that frame.
        """
        count = self.count(system)
        if not -count <= frame < count:
            raise IndexError(f"System {system} has {count} frames; there is no frame {frame}.")
        frame = range(count)[frame]
        with open_recording(self.path) as file:
            rows = self.rows(system)
            columns = {name: file[f"frames/{name}"][frame, rows] for name in self._moving}
            return self._structure(system, file["frames/cell"][frame, system], columns)

    def history(self, system: int) -> list[Atoms]:
        """All frames of a system as ASE structures.

        Parameters
        ----------
        system
            Its number.

        Returns
        -------
        list of ase.Atoms
            With velocities, or energies, forces and stresses, if they were recorded.
        """
        moving = {name: self._column(name, system) for name in self._moving}
        frames = [
            self._structure(system, cell, {name: column[n] for name, column in moving.items()})
            for n, cell in enumerate(self.cells(system))
        ]
        if self.has_results:
            self._with_results(system, frames)
        return frames

    def _with_results(self, system: int, frames: list[Atoms]) -> None:
        """Energy, forces and stress of each frame, where they were recorded and known."""
        from ase.calculators.singlepoint import SinglePointCalculator

        forces = self._column("forces", system)
        energies, stresses = (self._frames(name, system, system) for name in ("energy", "stress"))
        for n, atoms in enumerate(frames):
            if np.isfinite(energies[n]):
                known = {"energy": float(energies[n]), "forces": forces[n]}
                if np.isfinite(stresses[n]).all():
                    known["stress"] = full_3x3_to_voigt_6_stress(stresses[n])
                atoms.calc = SinglePointCalculator(atoms, **known)

    def structures(self, frame: int) -> list[Atoms]:
        """One frame of all systems as ASE structures.

        Parameters
        ----------
        frame
            The number of the frame.

        Returns
        -------
        list of ase.Atoms
            One per system, with velocities if they were recorded.
        """
        with open_recording(self.path) as file:
            cells = file["frames/cell"][frame]
            moving = {name: file[f"frames/{name}"][frame] for name in self._moving}
        return [
            self._structure(
                system, cell, {n: column[self.rows(system)] for n, column in moving.items()}
            )
            for system, cell in enumerate(cells)
        ]

    @property
    def _moving(self) -> tuple[str, ...]:
        """Columns of frames that have a row per atom."""
        return ("positions", "velocities") if self.has_velocities else ("positions",)

    def _structure(self, system: int, cell: np.ndarray, columns: dict[str, np.ndarray]) -> Atoms:
        velocities = columns.get("velocities")
        return Atoms(
            self.numbers(system),
            columns["positions"],
            masses=self._masses[self.rows(system)],
            velocities=None if velocities is None else velocities.astype(float) / units.fs,
            cell=np.where(self._bounded[system][:, None], cell, 0.0),
            pbc=self._periodic[system],
        )

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
        number = self._number(system)
        first, last = np.searchsorted(self._of_particle, [number, number + 1])
        return slice(int(first), int(last))

    def _number(self, system: int) -> int:
        """From 0 on; those below zero count from the end."""
        if not -self.systems <= system < self.systems:
            count = "is 1 system" if self.systems == 1 else f"are {self.systems} systems"
            raise IndexError(f"There {count}, counted from 0; there is no system {system}.")
        return system % self.systems

    def _column(self, name: str, system: int) -> np.ndarray:
        return self._frames(name, system, self.rows(system))

    def _frames(self, name: str, system: int, rows: int | slice) -> np.ndarray:
        """Rows of a column in all frames of a system; a small column is read as a whole, once."""
        count = self.count(system)
        if name in self._held:
            return self._held[name][:count, rows].copy()
        with open_recording(self.path) as file:
            column = file[f"frames/{name}"]
            if column.nbytes > _MOST_HELD:
                return column[:count, rows]
            self._held[name] = column[:]
        return self._held[name][:count, rows].copy()


def _text(names: np.ndarray) -> list[str]:
    return [name.decode() for name in names.tolist()]


def _stages(about: Mapping[str, Any]) -> dict[str, int]:
    """The first steps of stages by name; folders from before there were stages name none."""
    names, first = (np.atleast_1d(about.get(key, [])) for key in ("stages", "first"))
    if len(names) and names.shape == first.shape and first.dtype.kind in "iu":
        return {str(name): int(step) for name, step in zip(names, first, strict=True)}
    before = np.asarray(about.get("equilibration", 0))
    return {"production": int(before) if before.ndim == 0 and before.dtype.kind in "iu" else 0}
