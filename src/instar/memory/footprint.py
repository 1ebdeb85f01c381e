"""`Footprint`: what a program takes, as a function of the size of its batch.

bytes = fixed + Σₘ per[m] · size[m]      m: frames; or systems, atoms, edges
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from instar.memory.amounts import show
from instar.statefunc.memhint import MemHint

__all__ = ["Footprint", "Sizes"]

type Sizes = dict[str, int]
"""How large a batch is, by measure: {"frames": 64}, or {"systems": 10, "atoms": 5000}."""


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Bytes of a batch by its size; ``source`` tells where the figures are from.

    Where the compiler's figures are not a straight line (``linear`` False) they give only the
    direction, and sizes are looked for with ``exact``, which compiles.
    """

    fixed: float
    per: Mapping[str, float]
    source: str
    linear: bool = True
    exact: Callable[[Sizes], int] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )

    @staticmethod
    def of_hint(hint: MemHint, measure: str = "frames") -> Footprint:
        """From a static hint: nothing is compiled."""
        per = {measure: float(hint.per_sample_bytes)}
        return Footprint(float(hint.persistent_bytes), per, "a static hint")

    def bytes(self, sizes: Mapping[str, Any]) -> Any:
        """Bytes of a batch of these sizes; of several batches, for arrays of sizes."""
        return np.ceil(self.fixed + self.weight(sizes)).astype(np.int64)[()]

    def weight(self, sizes: Mapping[str, Any]) -> Any:
        """The bytes that grow with the batch."""
        parts = [np.asarray(sizes[name], float) * slope for name, slope in self.per.items()]
        return np.sum(parts, axis=0)

    def holding(self, more: int) -> Footprint:
        """The same beside ``more`` bytes that are held all the time."""
        exact = self.exact
        return dataclasses.replace(
            self,
            fixed=self.fixed + more,
            exact=None if exact is None else lambda sizes: exact(sizes) + more,
        )

    def __str__(self) -> str:
        parts = [f"{show(slope)} × {name}" for name, slope in self.per.items() if slope]
        return " + ".join([show(self.fixed), *parts])
