"""What a run began with as arrays in one file, to the bit: structures, names, conditions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.ase.structures import distinct, labels_of
from instar.app.config.systems import Beginning, Wanted

__all__ = ["packed", "unpacked"]


def packed(systems: Sequence[Wanted], structures: Sequence[Atoms]) -> bytes:
    """Structures one after the other, those of copies once; and a row per system."""
    one_each, which = distinct(structures)
    content = {**_structures(one_each), "structure": which, **_systems(systems)}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **content)
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
        "charges": np.concatenate([atoms.get_initial_charges() for atoms in structures]),
        "labels": np.concatenate([np.array(labels_of(atoms), str) for atoms in structures]),
        "fixed": np.concatenate([_fixed(atoms) for atoms in structures]),
    }


def _systems(systems: Sequence[Wanted]) -> dict[str, np.ndarray]:
    """The entry of each system, its name, its temperature and pressure; NaN where it has none."""
    entries, names, temperatures, pressures = zip(*systems, strict=True)
    return {
        "entry": np.array(entries, np.int64),
        "name": np.array(names, str),
        "temperature": np.array(temperatures, float),
        "pressure": np.array(pressures, float),
    }


def _fixed(atoms: Atoms) -> np.ndarray:
    fixed = np.zeros(len(atoms), bool)
    if atoms.constraints:
        from ase.constraints import FixAtoms  # takes a while to import

        for constraint in atoms.constraints:
            if isinstance(constraint, FixAtoms):  # others are refused before a run begins
                fixed[constraint.index] = True
    return fixed


def unpacked(path: Path) -> Beginning:
    """What `packed` was called with, as far as a run is concerned."""
    with np.load(path, allow_pickle=False) as file:
        content = {name: file[name] for name in file.files}
    structures = list(_unpacked_structures(content))
    columns = (content[name].tolist() for name in ("entry", "name", "temperature", "pressure"))
    systems = tuple(
        Wanted(entry, name, _known(temperature), _known(pressure))
        for entry, name, temperature, pressure in zip(*columns, strict=True)
    )
    return Beginning(systems, tuple(structures[n] for n in content["structure"].tolist()))


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


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
            charges=content["charges"][rows],
        )
        atoms.set_array("labels", content["labels"][rows])
        atoms.set_momenta(content["momenta"][rows])
        if content["fixed"][rows].any():
            from ase.constraints import FixAtoms  # takes a while to import

            atoms.set_constraint(FixAtoms(np.flatnonzero(content["fixed"][rows])))
        yield atoms
        first += count
