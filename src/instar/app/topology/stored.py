"""A topology as the folder of a run has it: one JSON file, all digits kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.data import chemical_symbols

from instar.app.ase.structures import labels_of
from instar.app.topology.base import Topology, TopologyError

__all__ = ["as_json", "read_stored"]

_VERSION = 1
_ARRAYS = ("numbers", "positions", "cell", "pbc", "masses", "momenta", "charges")
"""What `Atoms` is made with, by the names that it has there."""


def as_json(topology: Topology) -> str:
    """The structure and the potential as text."""
    atoms = topology.atoms
    arrays = {
        "numbers": atoms.numbers,
        "positions": atoms.positions,
        "cell": atoms.cell.array,
        "pbc": atoms.pbc,
        "masses": atoms.get_masses(),
        "momenta": atoms.get_momenta(),
        "charges": atoms.get_initial_charges(),
        "labels": np.array(labels_of(atoms)),
    }
    content = {"instar topology": _VERSION, "structure": arrays, "potential": topology.potential}
    return json.dumps(content, default=lambda value: value.tolist())


def read_stored(path: Path) -> Topology:
    """What `as_json` wrote."""
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version, arrays = content["instar topology"], content["structure"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise TopologyError(f"{path.name} is not a topology that a run has stored.") from error
    if version != _VERSION:
        raise TopologyError(
            f"{path.name} is of version {version}; this instar reads version {_VERSION}."
        )
    try:
        atoms = Atoms(**{name: arrays[name] for name in _ARRAYS})
        atoms.set_array("labels", np.array(arrays["labels"], str))
        _check_elements(atoms.numbers)
        if not isinstance(content["potential"], list):
            raise ValueError("potential is not a list")
        return Topology(atoms, content["potential"])
    except KeyError as error:
        raise TopologyError(f"{path.name} is damaged: {error} is missing.") from error
    except (ValueError, TypeError, AssertionError, OverflowError, MemoryError) as error:
        raise TopologyError(f"{path.name} is damaged: {str(error).rstrip('.!')}.") from error


def _check_elements(numbers: np.ndarray) -> None:
    if np.any(numbers < 0) or np.any(numbers >= len(chemical_symbols)):
        raise ValueError("numbers has entries that are not atomic numbers")
