"""What a run does with a method: one kind per file."""

from __future__ import annotations

from instar.app.config import Loaded
from instar.app.config.registry import import_all
from instar.app.run.kinds.base import Kind

__all__ = ["Kind", "kind_of"]


def kind_of(loaded: Loaded) -> Kind:
    """The kind of method that a configuration asks for; a new file is found automatically."""
    import_all(__name__)
    kind = next(kind for kind in Kind.__subclasses__() if isinstance(loaded.method, kind.METHOD))
    return kind(loaded)
