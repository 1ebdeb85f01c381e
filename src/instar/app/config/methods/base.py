"""`Method`: what a configuration says about how systems change; one model per kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from instar.app.config.base import Strict

__all__ = ["Method"]


class Method(Strict):
    """The model of ``method:`` of one kind; abstract.

    What a run does with it is in `instar.app.run.kinds`, under the same ``type``.
    """

    type: Any

    @property
    def label(self) -> str:
        """What it is, in a word or two."""
        return self.type

    @property
    def has_set_points(self) -> bool:
        """Whether it keeps systems at temperatures or pressures, which may then be ramps."""
        return False

    @property
    def needs_volume(self) -> bool:
        """Whether it changes the cells of systems, which they then need."""
        return False

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults that depend on what was chosen, as they could have been given."""
        return {}

    def lacking(self, temperature: float | None, pressure: float | None) -> Iterator[str]:
        """What a system with this temperature (K) and pressure lacks, or has too much."""
        yield from ()

    def keys_with_units(self) -> Iterator[str]:
        """Keys that were left out and whose defaults have units."""
        yield from ()

    def time(self, steps: Any) -> Any:
        """The time (fs) after that many steps; None where steps have no length."""
        return None

    def pace(self, speed: float) -> str:
        """How fast that many steps per second are, in words; nothing if there is no more to say."""
        return ""
