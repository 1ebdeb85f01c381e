"""ASE structures as tables of particles and systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from ase import Atoms
from jax import Array

from instar.core.data import Index, Table
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell
from instar.geometry.cell import CellError

__all__ = ["Particles", "StructureError", "Systems", "labels_of", "tables"]


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


def tables(
    structures: Iterable[Any], dtype: Any, charges: Mapping[str, float] | None = None
) -> tuple[Table[ParticleId, Particles], Table[SystemId, Systems]]:
    """All structures side by side, one system each.

    ``charges`` (e) by label replace those of the structures.
    """
    structures = list(structures)
    for number, atoms in enumerate(structures):
        _check(number, atoms)
    counts = [len(atoms) for atoms in structures]
    labels = [label for atoms in structures for label in labels_of(atoms)]
    names = sorted(set(labels))
    numbers = {name: number for number, name in enumerate(names)}
    vocabulary = Index.new([Label(name) for name in names], label=Label).vocabulary
    codes = np.array([numbers[label] for label in labels], np.int32)
    particles = Particles(
        positions=jnp.asarray(_positions(structures, dtype), dtype),
        system=Index.integer(
            np.repeat(np.arange(len(counts), dtype=np.int32), counts),
            n=len(counts),
            label=SystemId,
        ),
        labels=Index(vocabulary, jnp.asarray(codes)),
        charges=jnp.asarray(_charges(structures, labels, charges), dtype),
    )
    cell = _cells(structures, dtype)
    return Table.arange(particles, label=ParticleId), Table.arange(Systems(cell), label=SystemId)


def _check(number: int, atoms: Any) -> None:
    if not isinstance(atoms, Atoms):
        raise StructureError(f"Structure {number} is no ase.Atoms, but {type(atoms).__name__}.")
    if not np.isfinite(atoms.get_initial_charges()).all():
        raise StructureError(f"Structure {number} has charges that are not finite numbers.")
    if not np.isfinite(atoms.positions).all():
        bad = int(np.argmin(np.isfinite(atoms.positions).all(axis=1)))
        raise StructureError(
            f"Atom {bad} of structure {number} has the position {atoms.positions[bad].tolist()}."
        )


def _cells(structures: list[Atoms], dtype: Any) -> Cell:
    vectors = np.stack([np.asarray(atoms.cell.array, dtype) for atoms in structures])
    periodic = np.stack([np.asarray(atoms.pbc, bool) for atoms in structures])
    try:
        return Cell.of(vectors, periodic)
    except CellError as error:
        raise StructureError(str(error).replace("(system ", "(structure ")) from error


def _charges(
    structures: list[Atoms], labels: list[str], by_label: Mapping[str, float] | None
) -> np.ndarray:
    if by_label is None:
        return np.concatenate([atoms.get_initial_charges() for atoms in structures] or [[]])
    for label in labels:
        if label not in by_label:
            raise StructureError(
                f"There is no charge for {label!r}; there are some for {', '.join(by_label)}."
            )
    return np.array([by_label[label] for label in labels], float)


def _positions(structures: list[Atoms], dtype: Any) -> np.ndarray:
    """All positions; brought into their cells where single precision would lose their digits."""
    parts = [np.reshape(atoms.positions, (-1, 3)) for atoms in structures]
    for number, atoms in enumerate(structures):
        coarse = np.finfo(dtype).eps * np.abs(parts[number]).max(initial=0)
        if coarse > 1e-6:
            parts[number] = atoms.get_positions(wrap=True)
            coarse = np.finfo(dtype).eps * np.abs(parts[number]).max(initial=0)
        if coarse > 1e-3:
            raise StructureError(
                f"Structure {number} has atoms so far from the origin that {np.dtype(dtype)} "
                f"resolves only {coarse:.1g} Å.\nCentre it, or compute in float64."
            )
    return np.concatenate(parts or [np.zeros((0, 3))])
