"""What was given to a configuration as objects, as files of the run's folder."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from ase import Atoms

from instar.app.config.given import Input
from instar.app.topology import Topology
from instar.app.topology.stored import as_json
from instar.storage import write_atomically

__all__ = ["write_input"]


def write_input(path: Path, given: Input) -> None:
    """Write a topology, or structures, so that the configuration can be run again.

    Structures are rounded there; a run that goes on has those of ``structures.npz``.
    """
    path.parent.mkdir(exist_ok=True)
    text = as_json(given) if isinstance(given, Topology) else _extxyz(given)
    write_atomically(path, text.encode())


def _extxyz(structures: Sequence[Atoms]) -> str:
    from ase.io import write  # takes a while to import

    buffer = io.StringIO()
    write(buffer, [_of_a_run(atoms) for atoms in structures], format="extxyz")
    return buffer.getvalue()


def _of_a_run(atoms: Atoms) -> Atoms:
    """A copy with what a run is about: arrays and notes of other programs are left out."""
    kept = Atoms(
        atoms.numbers,
        atoms.positions,
        cell=atoms.cell.array,
        pbc=atoms.pbc,
        constraint=atoms.constraints,
    )
    for name in ("masses", "momenta", "initial_charges", "labels"):
        if name in atoms.arrays:
            kept.set_array(name, atoms.arrays[name])
    if isinstance(atoms.info.get("name"), str):
        kept.info["name"] = atoms.info["name"]
    return kept
