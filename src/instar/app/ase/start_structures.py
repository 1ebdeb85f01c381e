"""Structures as arrays in one file, to the bit: what a run began with."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from ase import Atoms

from instar.app.ase.structures import labels_of
from instar.storage import StorageError, read_arrays

__all__ = ["packed", "unpacked"]


def packed(structures: Sequence[Atoms]) -> bytes:
    """Structures one after the other."""
    content = {
        "counts": np.array([len(atoms) for atoms in structures]),
        "cell": np.array([atoms.cell.array for atoms in structures]).reshape(-1, 3, 3),
        "pbc": np.array([atoms.pbc for atoms in structures]).reshape(-1, 3),
        "numbers": np.concatenate([atoms.numbers for atoms in structures]),
        "positions": np.concatenate([atoms.positions for atoms in structures]),
        "momenta": np.concatenate([atoms.get_momenta() for atoms in structures]),
        "masses": np.concatenate([atoms.get_masses() for atoms in structures]),
        "charges": np.concatenate([atoms.get_initial_charges() for atoms in structures]),
        "labels": np.concatenate([np.array(labels_of(atoms), str) for atoms in structures]),
        "fixed": np.concatenate([_fixed(atoms) for atoms in structures]),
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **content)
    return buffer.getvalue()


def _fixed(atoms: Atoms) -> np.ndarray:
    fixed = np.zeros(len(atoms), bool)
    if atoms.constraints:
        from ase.constraints import FixAtoms  # takes a while to import

        for constraint in atoms.constraints:
            if isinstance(constraint, FixAtoms):  # others are refused before a run begins
                fixed[constraint.index] = True
    return fixed


def _check(content: dict[str, np.ndarray]) -> None:
    """Refuse arrays that do not fit together: a file may come from anywhere."""
    counts = content.get("counts", np.zeros(0))
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or np.any(counts < 1):
        raise StorageError("counts are no whole numbers above 0")
    systems, atoms = len(counts), sum(map(int, counts))
    for name, (shape, kinds) in _COLUMNS.items():
        rows = systems if name in ("cell", "pbc") else atoms
        array = content.get(name)
        if array is None or array.shape != (rows, *shape) or array.dtype.kind not in kinds:
            raise StorageError(f"{name} is missing, or is not what {systems} structures need")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise StorageError(f"{name} has entries that are not finite")
    if np.any(content["numbers"] < 0) or np.any(content["numbers"] > 118):
        raise StorageError("numbers has entries that no element has")


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


def unpacked(path: Path) -> tuple[Atoms, ...]:
    """What `packed` was called with, as far as a run is concerned; else a `StorageError`."""
    content = read_arrays(path.read_bytes())
    _check(content)
    found, first = [], 0
    for number, count in enumerate(content["counts"]):
        rows = slice(first, first + count)
        atoms = Atoms(
            content["numbers"][rows],
            content["positions"][rows],
            cell=content["cell"][number],
            pbc=content["pbc"][number],
            masses=content["masses"][rows],
            charges=content["charges"][rows],
        )
        atoms.set_array("labels", content["labels"][rows])
        atoms.set_momenta(content["momenta"][rows])
        if content["fixed"][rows].any():
            from ase.constraints import FixAtoms  # takes a while to import

            atoms.set_constraint(FixAtoms(np.flatnonzero(content["fixed"][rows])))
        found.append(atoms)
        first += count
    return tuple(found)
