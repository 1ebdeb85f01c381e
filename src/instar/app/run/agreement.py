"""What a checkpoint was made for, and whether that is what is asked for now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.run.directory import RunDirectoryError

__all__ = ["check_agreement", "marks_of"]

_FREE = ("output", "memory", "title", "run")
"""Entries that may change while a run is stopped; what may not of them is looked at one by one."""

_SPACED = ("trajectory_every", "thermo_every", "velocities")
"""Entries of ``output`` that all rows of a file have in common."""


def marks_of(loaded: Loaded) -> dict[str, Any]:
    """What a run depends on: digests by the entry of the configuration, and some values as such."""
    config = loaded.config
    said = {**loaded.data, "seed": config.seed, "precision": config.precision}
    digests = {name: _digest(entry) for name, entry in said.items() if name not in _FREE}
    output = {f"output.{name}": getattr(config.output, name) for name in _SPACED}
    structures = {"structures.npz": _digest_of_structures(loaded)}
    return digests | output | _marks_of_stages(loaded) | structures


def _marks_of_stages(loaded: Loaded) -> dict[str, Any]:
    """Of the last stage only the number of steps may change, where no ramp ends with them."""
    run, last = loaded.data["run"], loaded.production
    if isinstance(run, list):
        *before, end = run
        marks: dict[str, Any] = {"run": _digest([*before, {**end, "steps": None}])}
    else:
        marks = {"run.equilibration": last.first, "run.start_from": run.get("start_from")}
    return marks | ({"run.steps": last.steps} if loaded.ends_with_ramp else {})


def _digest(entry: Any) -> str:
    text = json.dumps(entry, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _digest_of_structures(loaded: Loaded) -> str:
    digest = hashlib.sha256()
    for atoms in loaded.structures:
        arrays = (atoms.numbers, atoms.positions, atoms.cell.array, atoms.get_momenta())
        for array in (*arrays, atoms.get_masses()):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def check_agreement(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on in the folder ``path`` with another configuration than before."""
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not changed:
        return
    shown = ", ".join(_difference(name, before.get(name), now.get(name)) for name in changed)
    raise RunDirectoryError(
        f"The checkpoints in {path} are those of another configuration: {shown}.\n"
        f"Set it back in {path / 'config.yaml'}, or begin a new run: instar run CONFIG --out DIR"
    )


def _difference(name: str, before: Any, now: Any) -> str:
    """In words; of digests there is no more to say."""
    known = all(isinstance(value, int) for value in (before, now))
    return f"{name} was {before} and is {now}" if known else f"{name} differs"
