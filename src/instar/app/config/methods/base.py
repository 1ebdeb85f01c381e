"""`Method`: what a configuration says about how systems change; one model per kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from instar.app.config.base import Strict

__all__ = ["Method"]


class Method(Strict):
    """The model of ``method:`` of one kind; abstract.

    What a run does with it is a kind in `instar.app.run.kinds`, which names its model.
    """

    COMMON: ClassVar[tuple[str, ...]] = ()
    """Keys that all stages of a run have in common."""

    type: Any

    @classmethod
    def model(cls) -> type[Method]:
        """What validates: this model, with the keys of all that is declared for it."""
        return cls

    @classmethod
    def inherited(cls, top: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of a stage, and those on top that have a meaning for what the stage does."""
        return {**top, **own}

    @property
    def label(self) -> str:
        """What it is, in a word or two."""
        return self.type

    @property
    def has_set_points(self) -> bool:
        """Whether it keeps systems at temperatures or pressures, which may then be ramps."""
        return False

    @property
    def has_pressure(self) -> bool:
        """Whether it keeps systems at pressures."""
        return False

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults that depend on what was chosen, as they could have been given."""
        return {}

    def lacking(self, temperature: float | None, pressure: float | None) -> Iterator[str]:
        """What a system with this temperature (K) and pressure lacks."""
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
