"""Systems of a configuration as structures: sweeps written out, lattices cut, files read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, atomic_numbers
from ase.neighborlist import neighbor_list

from instar.app.ase.structures import unfit
from instar.app.config.entries import nearest
from instar.app.config.schema import (
    FileStructure,
    LatticeStructure,
    RandomStructure,
    SystemConfig,
)
from instar.app.config.structure_files import StructureFileError, read_structure
from instar.memory import find_budget, show

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
_MOST_PACKED = 20_000
"""Atoms; the time goes with the square of their number."""

BYTES_PER_ATOM = 800
"""What an atom takes at least, about."""


class UnmadeStructureError(ValueError):
    """A structure that can't be made."""


class Wanted(NamedTuple):
    """One system: what it starts from, its temperature (K) and pressure (eV/Å³)."""

    entry: int
    structure: LatticeStructure | FileStructure | RandomStructure
    temperature: float | None
    pressure: float | None


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
    _check_room(len(places), structure.repeat)
    species = [structure.species] * len(places)
    cell = Atoms(species, scaled_positions=places, cell=[a, a, a], pbc=True)
    return cell.repeat(structure.repeat)


def _read(structure: FileStructure, folder: Path) -> Atoms:
    path = folder / structure.file
    try:
        atoms = read_structure(path, structure.frame)
    except StructureFileError as error:
        raise UnmadeStructureError(str(error)) from error
    if len(atoms) == 0:
        raise UnmadeStructureError(f"{path} has no atoms")
    _check_room(len(atoms), structure.repeat)
    return atoms.repeat(structure.repeat) if structure.repeat != (1, 1, 1) else atoms


def _check_room(atoms: int, repeat: tuple[int, int, int]) -> None:
    """Refuse more atoms than memory can hold, before any is made."""
    count, limit = atoms * math.prod(repeat), find_budget(None).bytes
    if (need := count * BYTES_PER_ATOM) > limit:
        raise UnmadeStructureError(
            f"{count} atoms need {show(need)} at least, and there are {show(limit)} of memory; "
            "repeat it less often"
        )


def _packed(structure: RandomStructure, rng: np.random.Generator) -> Atoms:
    """Atoms one after the other, at random places that are still free."""
    if (count := sum(structure.random.values())) > _MOST_PACKED:
        raise UnmadeStructureError(
            f"{count} atoms at random places would take too long to find; at most {_MOST_PACKED} "
            "are placed like that: start from a lattice or a file"
        )
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
    if (
        np.abs(atoms.cell.array).max() < 1e7
        and abs(np.linalg.det(atoms.cell.array)) < 1e-6
        and atoms.pbc.any()
        and atoms.pbc.all()
    ):
        raise UnmadeStructureError(f"its cell {atoms.cell.array.tolist()} has no volume")
    if (why := unfit(atoms)) is not None:
        raise UnmadeStructureError(why)
    first, second = neighbor_list("ij", atoms, _TOO_CLOSE)
    if len(first):
        raise UnmadeStructureError(f"atoms {first[0]} and {second[0]} are at the same place")
