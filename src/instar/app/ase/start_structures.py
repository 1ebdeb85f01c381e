"""What a run began with as arrays in one file, to the bit: structures, names, conditions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.ase.fixed import fixed_in
from instar.app.ase.structures import charges_of, distinct, labels_of, unfit, wrong_column
from instar.app.config.systems import Beginning, Wanted
from instar.app.config.text import wrong_text
from instar.storage import StorageError, read_arrays, read_whole

__all__ = ["packed", "unpacked"]


def packed(systems: Sequence[Wanted], structures: Sequence[Atoms]) -> bytes:
    """Structures one after the other, those of copies once; and a row per system."""
    one_each, which = distinct(structures)
    content: dict[str, Any] = {**_structures(one_each), "structure": which, **_systems(systems)}
    buffer = io.BytesIO()
    np.savez(buffer, **content)
    return buffer.getvalue()


def _structures(structures: Sequence[Atoms]) -> dict[str, np.ndarray]:
    return {
        "counts": np.array([len(atoms) for atoms in structures]),
        "cell": np.array([atoms.cell.array for atoms in structures]).reshape(-1, 3, 3),
        "pbc": np.array([atoms.pbc for atoms in structures]).reshape(-1, 3),
        "numbers": np.concatenate([atoms.numbers for atoms in structures]),
        "positions": np.concatenate([atoms.positions for atoms in structures]),
        "momenta": np.concatenate([atoms.get_momenta() for atoms in structures]),
        "masses": np.concatenate([atoms.get_masses() for atoms in structures]),
        "charges": np.concatenate([charges_of(atoms) for atoms in structures]),
        "labels": np.concatenate([np.array(labels_of(atoms), str) for atoms in structures]),
        "fixed": np.concatenate([fixed_in(atoms) for atoms in structures]),
    }


def _systems(systems: Sequence[Wanted]) -> dict[str, np.ndarray]:
    """The fields of `Wanted`, a row per system; NaN where a system has none."""
    columns = zip(Wanted._fields, zip(*systems, strict=True), strict=True)
    return {name: np.array(column, _SYSTEMS.get(name, float)) for name, column in columns}


_LONGEST = 1000
"""Characters of a name."""

_SYSTEMS: dict[str, Any] = {"entry": np.int64, "name": str}
"""Fields of `Wanted` that are not numbers that may be missing."""


def unpacked(path: Path) -> Beginning:
    """What `packed` was called with, as far as a run is concerned; else a `StorageError`."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise StorageError("it is not a file")
    content = read_arrays(read_whole(path))
    _check(content)
    structures = list(_unpacked_structures(content))
    _check_systems(content, len(structures))
    columns = (content[name].tolist() for name in Wanted._fields)
    systems = tuple(
        Wanted(entry, name, *map(_known, conditions))
        for entry, name, *conditions in zip(*columns, strict=True)
    )
    return Beginning(systems, tuple(structures[n] for n in content["structure"].tolist()))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _check_systems(content: dict[str, np.ndarray], structures: int) -> None:
    """Refuse systems that are not each one of the structures."""
    rows = content.get("structure", np.zeros(0))
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
        raise StorageError("structure is missing, or does not hold whole numbers")
    if np.any(rows < 0) or np.any(rows >= structures):
        raise StorageError(f"structure has entries beyond the {structures} structures")
    for name in Wanted._fields:
        column, kind = content.get(name), np.dtype(_SYSTEMS.get(name, float)).kind
        if column is None or column.shape != rows.shape or column.dtype.kind != kind:
            raise StorageError(f"{name} is missing, or does not fit {len(rows)} systems")
        if name == "name" and any(len(n) > _LONGEST or wrong_text(n) for n in set(column.tolist())):
            raise StorageError("name has entries that are not names")
        if kind == "f" and np.isinf(column).any():
            raise StorageError(f"{name} has entries that are not finite")
        if name.endswith("temperature") and np.any(column < 0):
            raise StorageError(f"{name} has entries below 0")


def _check(content: dict[str, np.ndarray]) -> None:
    """Refuse arrays that do not fit together: a file may come from anywhere."""
    counts = content.get("counts", np.zeros(0))
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or np.any(counts < 1):
        raise StorageError("counts are not whole numbers above 0")
    systems, atoms = len(counts), sum(map(int, counts))
    for name, (shape, kinds) in _COLUMNS.items():
        rows = systems if name in ("cell", "pbc") else atoms
        array = content.get(name)
        if array is None or array.shape != (rows, *shape) or array.dtype.kind not in kinds:
            raise StorageError(f"{name} is missing, or does not fit {systems} structures")
        told = array[~np.isnan(array)] if name == "charges" else array  # NaN: none were given
        if array.dtype.kind == "f" and not np.isfinite(told).all():
            raise StorageError(f"{name} has entries that are not finite")
    if np.any(content["numbers"] < 0) or np.any(content["numbers"] > 118):
        raise StorageError("numbers has entries that are not atomic numbers")


_COLUMNS = {
    "cell": ((3, 3), "f"),
    "pbc": ((3,), "b"),
    "numbers": ((), "iu"),
    "positions": ((3,), "f"),
    "momenta": ((3,), "f"),
    "masses": ((), "f"),
    "charges": ((), "f"),
    "labels": ((), "U"),
    "fixed": ((), "b"),
}
"""For each array the shape of one row, and the kinds of its numbers."""


def _given(charges: np.ndarray) -> np.ndarray | None:
    """Charges of a structure; None if it was given none."""
    missing = np.isnan(charges)
    if missing.any() and not missing.all():
        raise StorageError("charges has entries that are not finite")
    return None if missing.all() else charges


def _wrong_cell(atoms: Atoms) -> str | None:
    if not np.linalg.norm(atoms.cell.array, axis=1)[atoms.pbc].all():
        return "its cell repeats along a vector of length 0"
    return unfit(atoms)


def _unpacked_structures(content: dict[str, np.ndarray]) -> Any:
    first = 0
    for number, count in enumerate(content["counts"]):
        rows = slice(first, first + count)
        atoms = Atoms(
            content["numbers"][rows],
            content["positions"][rows],
            cell=content["cell"][number],
            pbc=content["pbc"][number],
            masses=content["masses"][rows],
            charges=_given(content["charges"][rows]),
        )
        atoms.set_array("labels", content["labels"][rows])
        atoms.set_momenta(content["momenta"][rows])
        if (why := _wrong_cell(atoms) or wrong_column(atoms)) is not None:
            raise StorageError(f"structure {number}: {why}")
        if content["fixed"][rows].any():
            from ase.constraints import FixAtoms  # takes a while to import

            atoms.set_constraint(FixAtoms(np.flatnonzero(content["fixed"][rows])))
        yield atoms
        first += count
