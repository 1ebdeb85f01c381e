"""Systems of a configuration as structures: sweeps written out, lattices cut, files read."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, atomic_numbers
from ase.neighborlist import neighbor_list

from instar.app.config.entries import nearest
from instar.app.config.schema import (
    FileStructure,
    LatticeStructure,
    RandomStructure,
    SystemConfig,
)

__all__ = ["UnmadeStructureError", "Wanted", "expanded", "structure_of"]

_CORNER, _CENTRE = [(0, 0, 0)], [(0.5, 0.5, 0.5)]
_FACES = [(0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)]
_QUARTERS = [(0.25, 0.25, 0.25), (0.25, 0.75, 0.75), (0.75, 0.25, 0.75), (0.75, 0.75, 0.25)]
_LATTICES = {
    "sc": _CORNER,
    "bcc": _CORNER + _CENTRE,
    "fcc": _CORNER + _FACES,
    "diamond": _CORNER + _FACES + _QUARTERS,
}
"""Atoms of the cubic cell, in parts of its edge."""

_TOO_CLOSE = 0.05  # Å
_TRIES = 20_000


class UnmadeStructureError(ValueError):
    """A structure that can't be made."""


class Wanted(NamedTuple):
    """One system: what it starts from, its temperature (K) and pressure (eV/Å³)."""

    entry: int
    structure: LatticeStructure | FileStructure | RandomStructure
    temperature: float | None
    pressure: float | None

    @property
    def source(self) -> str:
        """Where the structure comes from, in a word: the name of its file, or what made it."""
        if isinstance(self.structure, FileStructure):
            return Path(self.structure.file).name
        return self.structure.lattice if isinstance(self.structure, LatticeStructure) else "random"


def expanded(entries: Mapping[int, SystemConfig]) -> list[Wanted]:
    """Entries one by one, sweeps as all their combinations, copies beside each other.

    Of a sweep the last key changes fastest.
    """
    found = []
    for number, entry in entries.items():
        swept = {} if entry.sweep is None else entry.sweep.model_dump(exclude_none=True)
        for values in itertools.product(*swept.values()):
            chosen = dict(zip(swept, values, strict=True))
            temperature = chosen.pop("temperature", entry.temperature)
            pressure = chosen.pop("pressure", entry.pressure)
            structure = entry.structure.model_copy(update=chosen)
            found += [Wanted(number, structure, temperature, pressure)] * entry.copies
    return found


def structure_of(wanted: Wanted, folder: Path, seed: int, number: int) -> Atoms:
    """The structure that a system starts from; files are looked for from ``folder``."""
    structure = wanted.structure
    if isinstance(structure, LatticeStructure):
        atoms = _lattice(structure)
    elif isinstance(structure, FileStructure):
        atoms = _read(structure, folder)
    else:
        atoms = _packed(structure, np.random.default_rng([seed, number]))
    _check_apart(atoms)
    return atoms


def _mass(species: str) -> float:
    if species not in atomic_numbers or species == "X":
        known = list(atomic_numbers)[1:]
        raise UnmadeStructureError(f"there is no element {species!r}{nearest(species, known)}")
    return float(atomic_masses[atomic_numbers[species]])


def _lattice(structure: LatticeStructure) -> Atoms:
    places = _LATTICES[structure.lattice]
    density, mass = structure.density, len(places) * _mass(structure.species)
    a = structure.a if density is None else (mass / density) ** (1 / 3)
    species = [structure.species] * len(places)
    cell = Atoms(species, scaled_positions=places, cell=[a, a, a], pbc=True)
    return cell.repeat(structure.repeat)


def _read(structure: FileStructure, folder: Path) -> Atoms:
    path = folder / structure.file
    if not path.is_file():
        raise UnmadeStructureError(f"there is no file {path}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ase.io  # takes a while, and few need it

            atoms: Any = ase.io.read(path, index=structure.frame)
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise UnmadeStructureError(f"{path} can't be read: {reason}") from error
    if len(atoms) == 0:
        raise UnmadeStructureError(f"{path} has no atoms")
    return atoms.repeat(structure.repeat) if structure.repeat != (1, 1, 1) else atoms


def _packed(structure: RandomStructure, rng: np.random.Generator) -> Atoms:
    """Atoms one after the other, at random places that are still free."""
    symbols = [name for name, count in structure.random.items() for _ in range(count)]
    edge = (sum(map(_mass, symbols)) / structure.density) ** (1 / 3)  # pyright: ignore[reportOperatorIssue]
    placed = np.empty((0, 3))
    for number, _ in enumerate(symbols):
        for _ in range(_TRIES):
            place = rng.uniform(0, edge, 3)
            apart = placed - place
            apart -= edge * np.round(apart / edge)
            if np.all(np.sum(apart**2, axis=1) >= structure.distance**2):
                break
        else:
            raise UnmadeStructureError(
                f"only {number} of {len(symbols)} atoms find a place at least "
                f"{structure.distance} Å from all others; make the distance shorter, or start "
                "from a lattice"
            )
        placed = np.vstack([placed, place])
    return Atoms(symbols, placed, cell=[edge] * 3, pbc=True)


def _check_apart(atoms: Atoms) -> None:
    if not (np.isfinite(atoms.positions).all() and np.isfinite(atoms.cell.array).all()):
        bad = np.flatnonzero(~np.isfinite(atoms.positions).all(axis=1))
        where = f"atom {bad[0]} has the position {atoms.positions[bad[0]].tolist()}"
        raise UnmadeStructureError(
            where if len(bad) else "its cell has entries that are not finite"
        )
    if abs(np.linalg.det(atoms.cell.array)) < 1e-6 and atoms.pbc.any() and atoms.pbc.all():
        raise UnmadeStructureError(f"its cell {atoms.cell.array.tolist()} has no volume")
    first, second = neighbor_list("ij", atoms, _TOO_CLOSE)
    if len(first):
        raise UnmadeStructureError(f"atoms {first[0]} and {second[0]} are at the same place")
