"""Batched particle simulation on JAX: ragged systems as tables, in one compiled program."""

from instar.core.data import Buffered, Index, Table
from instar.core.lens import bind, lens, view
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field

__version__ = "0.1.0"

__all__ = [
    "Buffered",
    "Index",
    "Label",
    "ParticleId",
    "SystemId",
    "Table",
    "__version__",
    "bind",
    "dataclass",
    "field",
    "lens",
    "view",
]
