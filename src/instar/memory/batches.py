"""`Plan`: which items go together, in which compiled shapes, and what that takes.

It is data: it prints as text, is written as JSON and read back equal, so that a run that goes on
another day need not plan again.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from instar.memory.amounts import show
from instar.memory.budget import Budget
from instar.memory.footprint import Footprint, Sizes

__all__ = ["Batch", "Plan", "Shape"]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes that a program is compiled for, and the bytes that it takes."""

    sizes: Sizes
    bytes: int


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """Items, by number, that are computed together in one of the shapes of a plan."""

    items: np.ndarray | range
    shape: int

    def __len__(self) -> int:
        return len(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self.items, other.items)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def to_json(self) -> dict[str, Any]:
        """As plain data; numbers in a row by their first and last."""
        if isinstance(self.items, range):
            return {"from": self.items.start, "to": self.items.stop, "shape": self.shape}
        return {"items": [int(i) for i in self.items], "shape": self.shape}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Batch:
        """What `to_json` wrote."""
        if "items" in data:
            return Batch(np.array(data["items"], int), data["shape"])
        return Batch(range(data["from"], data["to"]), data["shape"])


@dataclasses.dataclass(frozen=True)
class Plan:
    """Batches that fit into a budget, and why these."""

    budget: Budget
    headroom: int | float
    shapes: tuple[Shape, ...]
    batches: tuple[Batch, ...]
    footprint: Footprint
    waste: float = 0.0
    kept: int = 0
    worthwhile: int | None = None

    @property
    def limit(self) -> int:
        """Bytes that a batch may take."""
        return self.budget.usable(self.headroom)

    @property
    def largest(self) -> int:
        """Bytes that the largest shape takes."""
        return max((shape.bytes for shape in self.shapes), default=0)

    @property
    def predicted_peak(self) -> int:
        """Bytes that the run takes at most: `peak_with` the largest shape."""
        return self.peak_with(self.largest)

    def peak_with(self, need: int) -> int:
        """The most that is taken if a batch takes ``need``.

        Of one batch to the next a few freed blocks may be kept (``kept``), but no more than there
        is room for within the limit.
        """
        return need if len(self.batches) <= 1 else max(need, min(self.limit, need + self.kept))

    @property
    def limited_by(self) -> str:
        """What keeps batches from being larger."""
        if len(self.batches) <= 1:
            return "the number of items: all fit into one batch"
        if self.worthwhile is not None and self.largest < self.limit / 2:
            return "speed: larger batches would be slower, or did not fit"
        largest = max(self.shapes, key=lambda shape: shape.bytes)
        parts = {m: slope * largest.sizes[m] for m, slope in self.footprint.per.items()}
        most = max(parts, key=lambda name: parts[name])
        return f"memory: {most} take {parts[most] / max(1, largest.bytes):.0%} of the largest batch"

    @property
    def _figures(self) -> str:
        line = "" if len(self.batches) == 1 else f": {self.footprint}"
        return f"from {self.footprint.source}{line}"

    def to_json(self) -> dict[str, Any]:
        """As plain data: numbers, texts, lists and dictionaries."""
        return {
            "budget": self.budget.to_json(),
            "headroom": float(self.headroom),
            "shapes": [dataclasses.asdict(shape) for shape in self.shapes],
            "batches": [batch.to_json() for batch in self.batches],
            "footprint": {
                "fixed": float(self.footprint.fixed),
                "per": {name: float(slope) for name, slope in self.footprint.per.items()},
                "source": self.footprint.source,
                "linear": self.footprint.linear,
            },
            "waste": self.waste,
            "kept": self.kept,
            "worthwhile": self.worthwhile,
            "predicted_peak": self.predicted_peak,
            "limited_by": self.limited_by,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        """What `to_json` wrote; the footprint can no longer compile."""
        return Plan(
            Budget.from_json(data["budget"]),
            data["headroom"],
            tuple(Shape(dict(shape["sizes"]), shape["bytes"]) for shape in data["shapes"]),
            tuple(map(Batch.from_json, data["batches"])),
            Footprint(**data["footprint"]),
            data["waste"],
            data["kept"],
            data["worthwhile"],
        )

    def __str__(self) -> str:
        budget = f"{show(self.budget.bytes)} ({self.budget.source}), {self.headroom:.0%} kept free"
        items = sum(map(len, self.batches))
        shapes = "1 compiled shape" if len(self.shapes) == 1 else f"{len(self.shapes)} shapes"
        batches = f"{len(self.batches)} for {items} items, in {shapes}"
        rows = [("budget", budget), ("batches", batches)]
        uses = collections.Counter(batch.shape for batch in self.batches)
        for number, shape in enumerate(self.shapes):
            sizes = ", ".join(f"{n} {name}" for name, n in shape.sizes.items())
            rows.append((f"  {uses[number]} ×", f"{sizes}: {show(shape.bytes)}"))
        rows += [
            ("predicted peak", f"{show(self.predicted_peak)} of {show(self.limit)}"),
            ("figures", self._figures),
            ("padding", f"{self.waste:.1%}"),
            ("limited by", self.limited_by),
        ]
        return "\n".join(f"{name:16}{value}" for name, value in rows)
