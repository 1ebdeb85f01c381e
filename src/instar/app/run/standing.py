"""`Standing`: how far the batches of a run have come, and which systems have exploded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from instar.dynamics import Explosion

__all__ = ["End", "Exploded", "ExplodedError", "Standing"]


class ExplodedError(RuntimeError):
    """All systems of a run have exploded."""


class End(NamedTuple):
    """Where a batch has ended: a step, and the number of the checkpoint with its state."""

    step: int
    checkpoint: int


class Exploded(NamedTuple):
    """A system of a run that could not make a step."""

    system: int
    step: int
    text: str


@dataclasses.dataclass
class Standing:
    """What checkpoints say of batches besides the one whose state they hold.

    ``ends`` are those of batches that have ended, by the number of their first system: each goes on
    from there if the run is extended.
    """

    ends: dict[int, End] = dataclasses.field(default_factory=dict)
    exploded: dict[int, Exploded] = dataclasses.field(default_factory=dict)

    @staticmethod
    def from_json(meta: Mapping[str, Any]) -> Standing:
        """What `to_json` made."""
        ends = {int(first): End(*end) for first, end in meta["ends"].items()}
        exploded = (Exploded(*one) for one in meta["exploded"])
        return Standing(ends, {one.system: one for one in exploded})

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        exploded = [list(one) for one in sorted(self.exploded.values())]
        return {"ends": {str(n): list(end) for n, end in self.ends.items()}, "exploded": exploded}

    @property
    def checkpoints(self) -> set[int]:
        """Numbers of the checkpoints that are needed to go on."""
        return {end.checkpoint for end in self.ends.values()}

    def reached(self, systems: range) -> int:
        """The step at which a batch has ended; 0 if it has not."""
        end = self.ends.get(systems.start)
        return 0 if end is None else end.step

    def is_lost(self, systems: range) -> bool:
        """Whether all systems of a batch have exploded, so that no step changes any of them."""
        return all(number in self.exploded for number in systems)

    def note(self, found: Iterable[Explosion]) -> list[Explosion]:
        """Remember explosions, numbered within the run; returns those that are new."""
        new = [one for one in found if one.system not in self.exploded]
        self.exploded |= {one.system: Exploded(one.system, one.step, str(one)) for one in new}
        return new
