"""`plan`: from a budget, a footprint and a list of items to batches that fit.

    held + fixed + Σ per · size  ≤  budget · (1 − headroom)      for every batch

What can't fit alone is refused here, before anything is allocated.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from instar.memory.amounts import show
from instar.memory.batches import Batch, Plan, Shape
from instar.memory.budget import HEADROOM, Budget, find_budget
from instar.memory.footprint import Footprint, Sizes
from instar.memory.packing import Packed, once, pack

__all__ = ["MOST_SHAPES", "MemoryPlanError", "TooLargeError", "plan"]

MOST_SHAPES = 8
"""How many programs a plan may compile, at most: each takes seconds."""

CLOSE = 0.9
"""Where sizes are looked for by compiling, a plan that uses this much of the limit is good."""

MOST_STEPS = 8
"""And so many sizes are tried at most."""

MARGINS = (1.0, 0.98, 0.94, 0.85)
"""Parts of the limit that are planned for, one after the other, until the compiler agrees."""

LARGEST_KEPT = 32 * 2**20
"""Bytes of the largest block that glibc keeps."""


class MemoryPlanError(ValueError):
    """Something can't be planned: it does not fit, and no smaller batch would help."""


class TooLargeError(MemoryPlanError):
    """An item that can't fit alone."""

    def __init__(self, item: int, sizes: Sizes, need: int, limit: int) -> None:
        known = ", ".join(f"{n} {name}" for name, n in sizes.items())
        super().__init__(
            f"Item {item} ({known}) needs {show(need)}, but a batch may take {show(limit)}.\n"
            "Give a larger budget, make the item smaller, or use single precision."
        )
        self.item, self.figures = item, (sizes, need, limit)

    def called(self, number: int) -> TooLargeError:
        """The same of an item that has another number."""
        return TooLargeError(number, *self.figures)


def plan(
    footprint: Footprint,
    items: int | Mapping[str, Any],
    budget: str | int | float | Budget | None = None,
    *,
    headroom: int | float = HEADROOM,
    most_shapes: int = MOST_SHAPES,
    worthwhile: int | None = None,
) -> Plan:
    """Batches of ``items`` that fit into ``budget``, of at most ``most_shapes`` compiled shapes.

    ``items``: their number, if they are all alike; else what each adds to the size of a batch,
    by measure: ``{"systems": [1, 1], "atoms": [120, 40]}``. ``budget``: "8 GiB", "60 %" of what
    is left, or None for all that is left. If the footprint can compile, the chosen shapes are
    compiled and checked. Batches beyond ``worthwhile`` bytes are not made: where they would be
    slower, not faster.
    """
    if not 0 <= headroom < 1:
        raise ValueError(f"Headroom is a part of the budget, from 0 to below 1; not {headroom}.")
    if most_shapes < 1:
        raise ValueError(f"A plan needs at least one shape, not {most_shapes}.")
    measures = _measures(footprint, items)
    found = find_budget(budget)
    limit = found.usable(headroom)
    if not len(next(iter(measures.values()))):
        return Plan(found, headroom, (), (), footprint)
    _refuse_what_is_too_large(footprint, measures, limit)
    most = math.inf if worthwhile is None else float(worthwhile)
    for margin in MARGINS:
        packed = _largest_that_fits(footprint, measures, int(margin * limit), most_shapes, most)
        shapes = tuple(Shape(sizes, _bytes(footprint, sizes)) for sizes in packed.shapes)
        if max(shape.bytes for shape in shapes) <= limit:
            break
    else:
        raise MemoryPlanError(f"The compiler's figures do not agree with {footprint}.")
    batches = tuple(map(Batch, packed.batches, packed.shape_of))
    waste = _waste(footprint, measures, packed)
    return Plan(found, headroom, shapes, batches, footprint, waste, _kept(), worthwhile)


def _measures(footprint: Footprint, items: int | Mapping[str, Any]) -> dict[str, np.ndarray]:
    if not isinstance(items, Mapping):
        if len(footprint.per) != 1:
            raise ValueError(
                f"The footprint has the measures {', '.join(footprint.per)}; give what each item "
                "adds to them."
            )
        (name,) = footprint.per
        return {name: np.broadcast_to(np.int64(1), (int(items),))}
    measures = {name: np.asarray(values) for name, values in items.items()}
    missing = [name for name in footprint.per if name not in measures]
    if missing:
        raise ValueError(f"Items say nothing of {', '.join(missing)}, which the footprint has.")
    lengths = {values.shape for values in measures.values()}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        raise ValueError(f"Measures have one entry for each item; their shapes are {lengths}.")
    for name, values in measures.items():
        if values.dtype.kind not in "iub" and len(values):
            raise ValueError(f"Sizes are whole numbers; those in {name} are of {values.dtype}.")
        if (once({name: values})[name] < 0).any():
            raise ValueError(f"Item {int(np.argmax(values < 0))} has a negative size in {name}.")
    return measures


def _refuse_what_is_too_large(
    footprint: Footprint, measures: dict[str, np.ndarray], limit: int
) -> None:
    alone = np.atleast_1d(footprint.bytes(once(measures)))
    worst = int(np.argmax(alone))
    need = int(alone[worst])
    if not footprint.linear and footprint.exact is not None:
        need = footprint.exact(_sizes_of(measures, worst))
    if need > limit:
        raise TooLargeError(worst, _sizes_of(measures, worst), need, limit)


def _sizes_of(measures: dict[str, np.ndarray], item: int) -> Sizes:
    return {name: int(values[item]) for name, values in measures.items()}


def _largest_that_fits(
    footprint: Footprint,
    measures: dict[str, np.ndarray],
    limit: int,
    most_shapes: int,
    worthwhile: float,
) -> Packed:
    """Items packed as tightly as shapes within the limit allow, and few of them.

    Batches that are filled to the brim and made of different things can't share a shape: then
    less is put into each.
    """
    weights = np.atleast_1d(footprint.weight(once(measures)))
    heaviest, everything = float(weights.max()), _total_weight(footprint, measures)
    most = max(heaviest, min(everything, worthwhile))
    guess = max(heaviest, min(most, limit - footprint.fixed))
    smallest = min(heaviest, guess / 4)
    heaviest_shape = limit - footprint.fixed if footprint.linear else np.inf

    def need_of(packed: Packed) -> int:
        found = footprint.bytes if footprint.linear else functools.partial(_bytes, footprint)
        return max(int(found(sizes)) for sizes in packed.shapes)

    def packed_with(capacity: float) -> tuple[Packed, int]:
        packed = pack(measures, footprint.weight, capacity, most_shapes, heaviest_shape)
        if len(packed.shapes) > most_shapes and capacity > smallest:
            return packed, limit + 1  # not worth compiling
        return packed, need_of(packed)

    packed, need = packed_with(guess)
    if need <= limit:
        if footprint.linear or guess >= most:
            return packed
        low, high = guess, most
    else:
        low, high = smallest, guess
        packed, need = packed_with(low)
        if need > limit:
            packed = _one_shape_each(packed, measures)
            need = need_of(packed)
        if need > limit:
            raise MemoryPlanError(
                f"No batch fits: the smallest takes {show(need)} of {show(limit)}.\n"
                "Give a larger budget."
            )
    close = math.inf if footprint.linear else CLOSE * limit
    return _bisected(packed_with, (low, high), (packed, need), limit, close)


def _bisected(
    packed_with: Callable[[float], tuple[Packed, int]],
    ends: tuple[float, float],
    found: tuple[Packed, int],
    limit: int,
    close: float,
) -> Packed:
    """What was ``found`` for the lower end, or better, between there and where nothing fits."""
    (low, high), (packed, need) = ends, found
    for _ in range(MOST_STEPS):
        if high <= 1.05 * low or need >= close:
            break
        middle = (low * high) ** 0.5
        candidate, its_need = packed_with(middle)
        if its_need <= limit:
            low, packed, need = middle, candidate, its_need
        else:
            high = middle
    return packed


def _one_shape_each(packed: Packed, measures: dict[str, np.ndarray]) -> Packed:
    """Without padding: for batches so different that none can share."""
    shapes = [
        {name: int(values[np.asarray(items)].sum()) for name, values in measures.items()}
        for items in packed.batches
    ]
    return Packed(packed.batches, list(range(len(shapes))), shapes)


def _bytes(footprint: Footprint, sizes: Sizes) -> int:
    """The need of a shape: the compiler's, if it can be asked."""
    return footprint.exact(sizes) if footprint.exact is not None else int(footprint.bytes(sizes))


def _kept() -> int:
    """Bytes that the C library may keep of what was freed: a small block for each thread.

    Larger blocks go back to the system at once.
    """
    on_host = jax.default_backend() == "cpu"
    return (os.cpu_count() or 1) * LARGEST_KEPT if on_host else 0


def _total_weight(footprint: Footprint, measures: dict[str, np.ndarray]) -> float:
    return float(footprint.weight({name: values.sum() for name, values in measures.items()}))


def _waste(footprint: Footprint, measures: dict[str, np.ndarray], packed: Packed) -> float:
    """The part of what is computed that is padding."""
    used = _total_weight(footprint, measures)
    each = [float(footprint.weight(packed.shapes[k])) for k in packed.shape_of]
    return 1 - used / sum(each) if sum(each) > 0 else 0.0
