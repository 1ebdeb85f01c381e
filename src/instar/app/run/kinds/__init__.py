"""What a run does with a method: one kind per file."""

from __future__ import annotations

from instar.app.config import Loaded
from instar.app.run.kinds.base import Kind
from instar.app.run.kinds.md import MolecularDynamics

__all__ = ["Kind", "kind_of"]

_KINDS: dict[str, type[Kind]] = {"md": MolecularDynamics}
"""Kinds by the ``type`` of a method."""


def kind_of(loaded: Loaded) -> Kind:
    """The kind of method that a configuration asks for."""
    return _KINDS[loaded.method.type](loaded)
