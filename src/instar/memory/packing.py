"""Items of different sizes into batches, and batches into few compiled shapes.

Items go, the heaviest first, into the batch that is lightest so far: batches come out alike, in
weight and in what they are made of. Batches that share a shape are padded to the largest of each
measure; which share one is found by dynamic programming over the batches, sorted by weight, or by
what they are made of:

    padded(j, g) = min over i of  padded(i, g − 1) + (j − i) · weight(largest of i … j)

where a shape that is too heavy counts as infinite.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Packed", "once", "pack"]

ENOUGH = 0.02
"""More shapes are worth compiling if they save this much of what is computed."""

MOST_UNITS = 500
"""Batches beyond this many are put into shapes a few at a time."""

ROUNDING = 1e-6
"""Sums of weights in another order may differ by this part."""


class Packed(NamedTuple):
    """Batches as arrays of item numbers, the shape of each, and the sizes of the shapes."""

    batches: list[Any]
    shape_of: list[int]
    shapes: list[dict[str, int]]


def pack(
    measures: Mapping[str, np.ndarray],
    weigh: Callable[[Mapping[str, Any]], Any],
    capacity: float,
    most_shapes: int,
    heaviest_shape: float,
) -> Packed:
    """All items in batches of at most ``capacity``; what is heavier has a batch of its own.

    There are at most ``most_shapes`` shapes, unless more are needed for none to be heavier than
    ``heaviest_shape``.
    """
    if _all_alike(measures):
        weight = float(np.asarray(weigh(once(measures)), float)[0])
        return _uniform(measures, len(next(iter(measures.values()))), weight, capacity)
    weights = np.asarray(weigh(measures), float)
    batches = _balanced(weights, capacity)
    totals = {
        name: np.array([int(values[items].sum()) for items in batches])
        for name, values in measures.items()
    }
    orders = _orders(totals, weigh)
    found = [
        _shared_shapes(_ordered(totals, order), weigh, most_shapes, heaviest_shape)
        for order in orders
    ]
    best = min(range(len(found)), key=lambda k: found[k])
    _, ends = found[best]
    totals = _ordered(totals, orders[best])
    shape_of, shapes = [], []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        shape_of += [len(shapes)] * (end - start)
        shapes.append({name: int(values[start:end].max()) for name, values in totals.items()})
    return Packed([batches[i] for i in orders[best]], shape_of, shapes)


def _orders(
    totals: Mapping[str, np.ndarray], weigh: Callable[[Mapping[str, Any]], Any]
) -> list[np.ndarray]:
    """Batches by their weight, and by the part that each measure has in it."""
    weight = np.asarray(weigh(totals), float)
    shares = [values / np.maximum(weight, 1e-300) for values in totals.values()]
    return [np.argsort(-key, kind="stable") for key in (weight, *shares)]


def _ordered(totals: Mapping[str, np.ndarray], order: np.ndarray) -> dict[str, np.ndarray]:
    return {name: values[order] for name, values in totals.items()}


def once(measures: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One item for all, where they are one item repeated: there may be many millions."""
    repeated = all(values.strides == (0,) and len(values) for values in measures.values())
    return {name: values[:1] if repeated else values for name, values in measures.items()}


def _all_alike(measures: Mapping[str, np.ndarray]) -> bool:
    return all((values == values[0]).all() for values in once(measures).values())


def _uniform(
    measures: Mapping[str, np.ndarray], count: int, weight: float, capacity: float
) -> Packed:
    """As few batches as there can be, all as long as the longest must be."""
    room = count if weight <= 0 else max(1, min(count, int(capacity / weight + ROUNDING)))
    batches = math.ceil(count / room)
    length = math.ceil(count / batches)
    ranges = [range(k, min(k + length, count)) for k in range(0, count, length)]
    shape = {name: int(values[0]) * length for name, values in measures.items()}
    return Packed(ranges, [0] * len(ranges), [shape])


def _balanced(weights: np.ndarray, capacity: float) -> list[np.ndarray]:
    """Batches of about the same weight, as few as keep within the capacity.

    An item that is heavier by itself has a batch of its own.
    """
    order = np.argsort(-weights, kind="stable")
    within = weights[order] <= capacity * (1 + ROUNDING)
    alone, order = [np.array([item]) for item in order[~within]], order[within]
    count = max(1, math.ceil(weights[order].sum() / capacity - ROUNDING)) if capacity > 0 else 1
    while len(order):
        loads = [(0.0, number) for number in range(count)]
        contents: list[list[int]] = [[] for _ in range(count)]
        for item in order:
            load, number = loads[0]
            contents[number].append(int(item))
            heapq.heapreplace(loads, (load + float(weights[item]), number))
        if max(loads)[0] <= capacity * (1 + ROUNDING):
            return alone + [np.sort(np.array(items)) for items in contents if items]
        count += max(1, count // 50)
    return alone


def _shared_shapes(
    totals: Mapping[str, np.ndarray],
    weigh: Callable[[Mapping[str, Any]], Any],
    most: int,
    heaviest: float,
) -> tuple[float, list[int]]:
    """Where shapes end among the batches: few, unless more save enough; and what they weigh."""
    count = len(next(iter(totals.values())))
    ends = np.unique(np.linspace(0, count, min(count, MOST_UNITS) + 1).astype(int))[1:]
    starts = np.array([0, *ends[:-1]])
    units = len(ends)
    padded = _padded(totals, weigh, heaviest, starts, ends)
    best, choices = [padded[0]], [np.zeros(units, int)]
    while len(best) < min(most, units):
        before = np.concatenate([[0.0], best[-1][:-1]])
        candidates = before[:, None] + padded
        choices.append(np.argmin(candidates, axis=0))
        best.append(candidates.min(axis=0))
    if not np.isfinite(best[-1][-1]):
        return _as_few_as_fit(totals, weigh, heaviest)
    finals = [float(costs[-1]) for costs in best]
    chosen = next(g for g, cost in enumerate(finals) if cost <= (1 + ENOUGH) * min(finals))
    cost, found, at = finals[chosen], [], units
    while at > 0:
        found.append(int(ends[at - 1]))
        at, chosen = int(choices[chosen][at - 1]), chosen - 1
    return cost, found[::-1]


def _as_few_as_fit(
    totals: Mapping[str, np.ndarray], weigh: Callable[[Mapping[str, Any]], Any], heaviest: float
) -> tuple[float, list[int]]:
    """Where shapes end if each takes in batches, one after the other, until it gets too heavy."""
    count = len(next(iter(totals.values())))
    cost, ends, start = 0.0, [], 0
    while start < count:
        largest = {n: np.maximum.accumulate(values[start:]) for n, values in totals.items()}
        shape = np.asarray(weigh(largest), float)
        within = int(np.searchsorted(shape, heaviest * (1 + ROUNDING), side="right"))
        length = max(1, within)
        cost += float(shape[length - 1]) * length
        start += length
        ends.append(start)
    return cost, ends


def _padded(
    totals: Mapping[str, np.ndarray],
    weigh: Callable[[Mapping[str, Any]], Any],
    heaviest: float,
    starts: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """What units i … j weigh in one shape, for all i and j."""
    units = len(ends)
    padded = np.full((units, units), np.inf)
    tops = {name: np.maximum.reduceat(values, starts) for name, values in totals.items()}
    for i in range(units):
        largest = {name: np.maximum.accumulate(values[i:]) for name, values in tops.items()}
        shape = np.asarray(weigh(largest), float)
        shape[shape > heaviest * (1 + ROUNDING)] = np.inf
        padded[i, i:] = shape * (ends[i:] - starts[i])
    return padded
