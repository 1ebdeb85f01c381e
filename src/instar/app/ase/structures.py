"""ASE structures as tables of particles and systems."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from ase import Atoms
from ase.geometry import wrap_positions
from jax import Array

from instar.app.ase.coincidence import coincident
from instar.core.data import Index, Table
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.core.utils.on_device import on_device
from instar.geometry import Cell
from instar.geometry.cell import CellError
from instar.potentials.structures import Structures

__all__ = [
    "Particles",
    "StructureError",
    "Systems",
    "charges_of",
    "coincidence",
    "cut_by_atoms",
    "distinct",
    "labels_of",
    "naming_coincidences",
    "structures_of",
    "tables",
    "unfit",
    "wrong_column",
]


class StructureError(ValueError):
    """A structure that can't be computed with."""


@dataclass
class Particles:
    """Columns of the table of particles."""

    positions: Array
    system: Index[SystemId]
    labels: Index[Label]
    charges: Array


@dataclass
class Systems:
    """Columns of the table of systems."""

    cell: Cell


def labels_of(atoms: Atoms) -> list[str]:
    """The array ``labels`` of a structure if it has one, else its chemical symbols."""
    if "labels" in atoms.arrays:
        return [str(label) for label in atoms.arrays["labels"]]
    return atoms.get_chemical_symbols()


def charges_of(atoms: Atoms) -> np.ndarray:
    """The charges (e) that a structure was given; NaN if it was given none."""
    given = atoms.arrays.get("initial_charges")
    return np.full(len(atoms), np.nan) if given is None else np.asarray(given, float)


def structures_of(given: Iterable[Any], charges: Mapping[str, float] | None = None) -> Structures:
    """ASE structures side by side; ``charges`` (e) by label replace those of the structures."""
    given = list(given)
    one_each, which = distinct(given)
    firsts = np.unique(which, return_index=True)[1].tolist()
    for number, atoms in zip(firsts, one_each, strict=True):
        _check(number, atoms)
    some = _side_by_side(one_each, charges)
    return some if len(one_each) == len(given) else some.chosen(which)


def distinct(given: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Objects that differ, in the order in which they come, and which of them each one is."""
    places: dict[int, int] = {}
    which = [places.setdefault(id(one), len(places)) for one in given]
    firsts = dict(zip(reversed(which), reversed(given), strict=True))
    return [firsts[place] for place in range(len(places))], np.array(which, np.int64)


def _side_by_side(given: list[Atoms], charges: Mapping[str, float] | None) -> Structures:
    labels = [label for atoms in given for label in labels_of(atoms)]
    known = charges is not None
    return Structures(
        np.array([len(atoms) for atoms in given], np.int32),
        np.concatenate([np.reshape(a.positions, (-1, 3)) for a in given] or [np.zeros((0, 3))]),
        np.array(labels, str),
        _charges(given, labels, charges),
        np.array([a.cell.array for a in given], float).reshape(-1, 3, 3),
        np.array([a.pbc for a in given], bool).reshape(-1, 3),
        np.array([known or a.has("initial_charges") for a in given], bool),
        np.array([a.get_initial_magnetic_moments().any() for a in given], bool),
    )


def cut_by_atoms(sizes: Sequence[int], parts: int) -> list[range]:
    """At most so many ranges of structures in their order, of about as many atoms each."""
    atoms = np.cumsum(sizes)
    goals = atoms[-1] * np.arange(1, parts) / parts
    cuts = np.clip(np.searchsorted(atoms, goals) + 1, 1, len(sizes) - 1)
    ends = np.unique([0, *cuts, len(sizes)]).tolist()
    return [range(first, last) for first, last in itertools.pairwise(ends)]


def tables(
    structures: Structures, dtype: Any, rows: int | None = None
) -> tuple[Table[ParticleId, Particles], Table[SystemId, Systems]]:
    """Structures as tables, one system for each; particles in that many rows."""
    names, codes = np.unique(structures.labels, return_inverse=True)
    vocabulary = Index.new([Label(name) for name in names.tolist()], label=Label).vocabulary
    codes = codes.astype(np.int32)
    count = len(structures)
    free = 0 if rows is None else rows - len(codes)
    particles = Particles(
        positions=on_device(np.asarray(_positions(structures, dtype, free), dtype)),
        system=Index.integer(
            np.pad(structures.system, (0, free), constant_values=count), n=count, label=SystemId
        ),
        labels=Index(vocabulary, on_device(np.pad(codes, (0, free)))),
        charges=on_device(np.pad(structures.charges, (0, free)).astype(dtype)),
    )
    cell = _cells(structures, dtype)
    return Table.arange(particles, label=ParticleId), Table.arange(Systems(cell), label=SystemId)


_THINNEST, _LARGEST = 0.1, 1e7
"""Å: cells that repeat are not thinner, and nothing is further away."""


def unfit(atoms: Atoms) -> str | None:
    """What keeps a structure from being computed with, whatever acts in it; None if nothing does.

    Cells much thinner than an atom have too many images to look at.
    """
    positions, vectors = atoms.positions, atoms.cell.array
    if not np.isfinite(positions).all():
        bad = int(np.argmin(np.isfinite(positions).all(axis=1)))
        return f"the position of atom {bad} is not finite: {positions[bad].tolist()}"
    if not np.isfinite(vectors).all():
        return "its cell has entries that are not finite"
    if np.abs(vectors).max() > _LARGEST:
        return f"its cell has a vector longer than {_LARGEST:g} Å: {vectors.tolist()}"
    if np.abs(positions).max(initial=0) > _LARGEST:
        bad = int(np.argmax(np.abs(positions).max(axis=1)))
        return f"atom {bad} is further than {_LARGEST:g} Å away: {positions[bad].tolist()}"
    return _flat(atoms) if atoms.pbc.any() else None


_HEAVIEST = 1e9
"""amu"""


def wrong_column(atoms: Atoms) -> str | None:
    """Which atom can't move, or has a charge that is no number; None if there is none."""
    masses, momenta = atoms.get_masses(), atoms.get_momenta()
    charges = atoms.get_initial_charges()
    heavy = f"must be above 0 and below {_HEAVIEST:g} amu"
    finite = "must be finite"
    columns = (
        ("mass", masses, (masses > 0) & (masses < _HEAVIEST), heavy),
        ("charge", charges, np.isfinite(charges), finite),
        ("momentum", momenta, np.isfinite(momenta).all(axis=1), finite),
    )
    for name, values, right, needed in columns:
        if not right.all():
            bad = int(np.argmin(right))
            return f"atom {bad} has the {name} {values[bad].tolist()}; it {needed}"
    return None


@contextlib.contextmanager
def naming_coincidences(given: Sequence[Any]) -> Iterator[None]:
    """Where a check fails inside, name two atoms at the same place, if there are any."""
    try:
        yield
    except AssertionError as error:
        if (named := coincidence(given)) is not None:
            raise named from error
        raise


def coincidence(given: Iterable[Atoms]) -> StructureError | None:
    """The error that names the first two atoms at the same place, if there are any."""
    for number, atoms in enumerate(given):
        if (pair := coincident(atoms, _SAME_PLACE)) is not None:
            return StructureError(
                f"Atoms {pair[0]} and {pair[1]} of structure {number} are at the same place."
                "\nMove one of them: their energy is not a finite number."
            )
    return None


_SAME_PLACE = 1e-6  # Å


def _flat(atoms: Atoms) -> str | None:
    """Whether a vector that repeats is too short, or a cell too flat or too skewed."""
    lengths = np.linalg.norm(atoms.cell.array, axis=1)
    if not lengths[atoms.pbc].all():
        return None  # a missing vector has an error of its own
    whole = np.asarray(atoms.cell.complete())
    volume = abs(np.linalg.det(whole))
    heights = volume / np.linalg.norm(np.cross(whole[[1, 2, 0]], whole[[2, 0, 1]]), axis=1)
    for axis in np.flatnonzero(atoms.pbc):
        if not heights[axis] >= _THINNEST:
            return (
                f"its cell is {heights[axis]:.3g} Å high along the vector {'abc'[axis]}, which "
                f"repeats; at least {_THINNEST} Å are needed (is it in Å, and not too skewed?)"
            )
    return None


def _check(number: int, atoms: Any) -> None:
    if not isinstance(atoms, Atoms):
        kind = type(atoms).__name__
        raise StructureError(f"Structure {number} must be an ase.Atoms, not {kind}.")
    if not np.isfinite(atoms.get_initial_charges()).all():
        raise StructureError(f"Structure {number} has charges that are not finite numbers.")
    if not np.isfinite(atoms.positions).all():
        bad = int(np.argmin(np.isfinite(atoms.positions).all(axis=1)))
        raise StructureError(
            f"The position of atom {bad} of structure {number} is not finite: "
            f"{atoms.positions[bad].tolist()}."
        )
    if atoms.cell.rank == 3 and (why := unfit(atoms)) is not None:
        raise StructureError(f"Structure {number}: {why}.")


def _cells(structures: Structures, dtype: Any) -> Cell:
    try:
        return Cell.of(structures.vectors.astype(dtype), structures.periodic)
    except CellError as error:
        raise StructureError(str(error).replace("(system ", "(structure ")) from error


def _charges(
    structures: list[Atoms], labels: list[str], by_label: Mapping[str, float] | None
) -> np.ndarray:
    if by_label is None:
        return np.concatenate([charges_of(atoms) for atoms in structures] or [[]])
    for label in labels:
        if label not in by_label:
            raise StructureError(
                f"There is no charge for {label!r}, only for {', '.join(by_label)}."
            )
    return np.array([by_label[label] for label in labels], float)


def _positions(structures: Structures, dtype: Any, free: int) -> np.ndarray:
    """All positions; brought into their cells where single precision would lose their digits."""
    positions = np.concatenate([structures.positions, np.zeros((free, 3))])
    farthest = np.zeros(len(structures))
    np.maximum.at(farthest, structures.system, np.abs(structures.positions).max(axis=1, initial=0))
    for number in np.flatnonzero(np.finfo(dtype).eps * farthest > 1e-6).tolist():
        first = int(structures.starts[number])
        rows = slice(first, first + int(structures.counts[number]))
        cell, periodic = structures.vectors[number], structures.periodic[number]
        positions[rows] = wrap_positions(positions[rows], cell, periodic)
        coarse = np.finfo(dtype).eps * np.abs(positions[rows]).max(initial=0)
        if coarse > 1e-3:
            raise StructureError(
                f"Structure {number} has atoms so far from the origin that {np.dtype(dtype)} "
                f"resolves only {coarse:.1g} Å.\nCentre it, or compute in float64."
            )
    return positions
