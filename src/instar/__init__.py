"""Batched particle simulation on JAX: ragged systems as tables, in one compiled program."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from instar.core.data import Buffered, Index, Table
from instar.core.lens import bind, lens, view
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field

__version__ = "0.1.0"

if TYPE_CHECKING:
    from instar.app.api.calculator import calculator
    from instar.app.api.over_frames import over_frames
    from instar.app.api.run import resume, run
    from instar.app.api.single_point import single_point
    from instar.app.ase.potential import ase_potential
    from instar.app.topology import read_topology

_DOORS = {
    "ase_potential": "instar.app.ase.potential",
    "calculator": "instar.app.api.calculator",
    "over_frames": "instar.app.api.over_frames",
    "read_topology": "instar.app.topology",
    "resume": "instar.app.api.run",
    "run": "instar.app.api.run",
    "single_point": "instar.app.api.single_point",
}
"""Public doors, loaded when they are first used: what they need takes time to import."""


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'instar' has no attribute {name!r}")
    return getattr(importlib.import_module(_DOORS[name]), name)


__all__ = [
    "Buffered",
    "Index",
    "Label",
    "ParticleId",
    "SystemId",
    "Table",
    "__version__",
    "ase_potential",
    "bind",
    "calculator",
    "dataclass",
    "field",
    "lens",
    "over_frames",
    "read_topology",
    "resume",
    "run",
    "single_point",
    "view",
]
