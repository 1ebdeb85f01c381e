"""Structures of a configuration: lattices cut, files read, atoms packed at random."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, atomic_numbers

from instar.app.ase.coincidence import coincident
from instar.app.ase.fixed import wrong_constraint
from instar.app.ase.structures import unfit, wrong_column
from instar.app.config.files import Frame, Inputs, UnmadeStructureError, frames_of
from instar.app.config.schema import FileStructure, LatticeStructure, RandomStructure
from instar.app.config.units import is_reduced
from instar.app.config.words import nearest
from instar.memory import find_budget, show

__all__ = ["made", "made_at_random"]

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


def made(structure: LatticeStructure | FileStructure, folder: Path, inputs: Inputs) -> list[Frame]:
    """The structures that a system may start from, in their order; more than one from files."""
    if isinstance(structure, LatticeStructure):
        found = [Frame(_lattice(structure), "")]
    else:
        found = frames_of(structure.file, structure.frames, folder, inputs)
        _check_room(sum(len(atoms) for atoms, _ in found), structure.repeat)
        if structure.repeat != (1, 1, 1):
            found = [Frame(atoms.repeat(structure.repeat), name) for atoms, name in found]
    for atoms, name in found:
        _weigh(atoms)
        _check_apart(atoms, name if len(found) > 1 else "")
    return found


def made_at_random(structure: RandomStructure, seed: int, number: int) -> Atoms:
    """Atoms at places of its own for the system with this number."""
    atoms = _packed(structure, np.random.default_rng([seed, number]))
    _weigh(atoms)
    _check_apart(atoms)
    return atoms


def _weigh(atoms: Atoms) -> None:
    """In reduced units a mass is 1, unless a file has another one."""
    if is_reduced() and not atoms.has("masses"):
        atoms.set_array("masses", np.ones(len(atoms)))


def _mass(species: str) -> float:
    if species not in atomic_numbers or species == "X":
        known = list(atomic_numbers)[1:]
        raise UnmadeStructureError(f"there is no element {species!r}{nearest(species, known)}")
    return 1.0 if is_reduced() else float(atomic_masses[atomic_numbers[species]])


def _lattice(structure: LatticeStructure) -> Atoms:
    places = _LATTICES[structure.lattice]
    density, mass = structure.density, len(places) * _mass(structure.species)
    a = structure.a if density is None else (mass / density) ** (1 / 3)
    _check_room(len(places), structure.repeat)
    species = [structure.species] * len(places)
    cell = Atoms(species, scaled_positions=places, cell=[a, a, a], pbc=True)
    return cell.repeat(structure.repeat)


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


def _check_apart(atoms: Atoms, name: str = "") -> None:
    """Refuse atoms that are nowhere, or where another one is; a name says which of many it is."""
    if (said := _wrong(atoms)) is not None:
        raise UnmadeStructureError(f"{name}: {said}" if name else said)


def _wrong(atoms: Atoms) -> str | None:
    if (
        np.abs(atoms.cell.array).max() < 1e7
        and abs(np.linalg.det(atoms.cell.array)) < 1e-6
        and atoms.pbc.any()
        and atoms.pbc.all()
    ):
        return f"its cell {atoms.cell.array.tolist()} has no volume"
    if (why := unfit(atoms) or wrong_column(atoms)) is not None:
        return why
    if (why := wrong_constraint(atoms)) is not None:
        return f"it {why}"
    pair = coincident(atoms, _TOO_CLOSE)
    return None if pair is None else f"atoms {pair[0]} and {pair[1]} are at the same place"
