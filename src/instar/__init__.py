"""Batched particle simulation on JAX: ragged systems as tables, in one compiled program."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from instar import units
    from instar.app.api.calculator import calculator
    from instar.app.api.md_state import md_blocks, md_state
    from instar.app.api.over_frames import over_frames
    from instar.app.api.relax import relax
    from instar.app.api.run import open_run as open  # noqa: A004 (as Image.open has it)
    from instar.app.api.run import resume, run
    from instar.app.api.single_point import single_point
    from instar.app.ase.potential import ase_potential
    from instar.app.topology import combined_topologies, read_topology
    from instar.core.data import Buffered, Index, Table
    from instar.core.lens import bind, lens, view
    from instar.core.typing import Label, ParticleId, SystemId
    from instar.core.utils.jax import dataclass, field
    from instar.dynamics import md

_DOORS = {
    "Buffered": "instar.core.data:Buffered",
    "Index": "instar.core.data:Index",
    "Label": "instar.core.typing:Label",
    "ParticleId": "instar.core.typing:ParticleId",
    "SystemId": "instar.core.typing:SystemId",
    "Table": "instar.core.data:Table",
    "ase_potential": "instar.app.ase.potential:ase_potential",
    "bind": "instar.core.lens:bind",
    "calculator": "instar.app.api.calculator:calculator",
    "combined_topologies": "instar.app.topology:combined_topologies",
    "dataclass": "instar.core.utils.jax:dataclass",
    "field": "instar.core.utils.jax:field",
    "lens": "instar.core.lens:lens",
    "md": "instar.dynamics.md:",
    "md_blocks": "instar.app.api.md_state:md_blocks",
    "md_state": "instar.app.api.md_state:md_state",
    "open": "instar.app.api.run:open_run",
    "over_frames": "instar.app.api.over_frames:over_frames",
    "read_topology": "instar.app.topology:read_topology",
    "relax": "instar.app.api.relax:relax",
    "resume": "instar.app.api.run:resume",
    "run": "instar.app.api.run:run",
    "single_point": "instar.app.api.single_point:single_point",
    "units": "instar.units:",
    "view": "instar.core.lens:view",
}
"""Public doors, loaded when they are first used: what they need takes time to import."""


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'instar' has no attribute {name!r}")
    module, _, attribute = _DOORS[name].partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return __all__


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
    "combined_topologies",
    "dataclass",
    "field",
    "lens",
    "md",
    "md_blocks",
    "md_state",
    "open",
    "over_frames",
    "read_topology",
    "relax",
    "resume",
    "run",
    "single_point",
    "units",
    "view",
]
