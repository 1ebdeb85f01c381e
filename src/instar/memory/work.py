"""`Work`: items that a program is to be run on, some at a time; and its footprint."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from instar.core.result import as_result_function
from instar.memory.batches import Plan
from instar.memory.budget import HEADROOM, Budget, find_budget
from instar.memory.calibrate import fit
from instar.memory.footprint import Footprint, Sizes
from instar.memory.need import Need, Programs, abstract
from instar.memory.packing import once
from instar.memory.plan import TooLargeError, plan

__all__ = ["Work", "plan_work", "programs_of", "some_of"]

LARGEST_PROBE = 2**30
"""Bytes of arguments up to which a program is compiled for all items at once: compilers crash
where arrays get too many elements."""


@runtime_checkable
class Work(Protocol):
    """What is to be computed, and how a batch of it is made.

    A batch is a ``state``, which repairs of failed checks are made to, and the ``inputs`` that
    come with it: any trees of arrays.
    """

    @property
    def measures(self) -> Mapping[str, np.ndarray]:
        """What each item adds to the size of a batch, by measure."""
        ...

    @property
    def held(self) -> int:
        """Bytes that are held all the time, beside any batch."""
        ...

    def program(self, state: Any, inputs: Any, /) -> Any:
        """What is compiled: pure; its checks may carry repairs of the state."""
        ...

    def abstract(self, sizes: Sizes) -> tuple[Any, Any]:
        """The state and the inputs of a batch of these sizes, as abstract arrays."""
        ...

    def load(self, items: np.ndarray | range, sizes: Sizes) -> tuple[Any, Any]:
        """The state and the inputs of these items, padded to these sizes."""
        ...

    def grown(self, sizes: Sizes, larger: Any, repair: Callable[[Any], Any]) -> Work:
        """The same work with the room that a repaired state has.

        ``sizes`` are those of its batch; ``larger`` is the state, abstract; ``repair`` makes the
        repair to a real one.
        """
        ...


def some_of(measures: Mapping[str, np.ndarray], items: np.ndarray | range) -> dict[str, np.ndarray]:
    """The measures of some items."""
    at: Any = slice(items.start, items.stop) if isinstance(items, range) else items
    return {name: values[at] for name, values in measures.items()}


def programs_of(work: Work) -> Programs:
    """The program of some work, with its checks collected."""
    return Programs(as_result_function(work.program))


def plan_work(
    work: Work,
    budget: str | int | float | Budget | None = None,
    *,
    items: np.ndarray | range | None = None,
    programs: Programs | None = None,
    headroom: int | float = HEADROOM,
    worthwhile: int | None = None,
) -> Plan:
    """Batches of some work, all of it or some ``items``, that fit into a budget.

    ``worthwhile``: bytes of a batch beyond which larger ones would not be faster.
    """
    programs = programs_of(work) if programs is None else programs
    found = find_budget(budget)
    measures = dict(work.measures) if items is None else some_of(work.measures, items)
    limit = found.usable(headroom)
    if not len(next(iter(measures.values()))):
        nothing = Footprint(0.0, dict.fromkeys(measures, 0.0), "no items")
        return plan(nothing, measures, found, headroom=headroom)
    try:
        footprint = _footprint(work, measures, programs, limit, worthwhile)
        return plan(footprint, measures, found, headroom=headroom, worthwhile=worthwhile)
    except TooLargeError as error:
        raise error if items is None else error.called(int(items[error.item])) from None


def _footprint(
    work: Work,
    measures: dict[str, np.ndarray],
    programs: Programs,
    limit: int,
    worthwhile: int | None,
) -> Footprint:
    """From the program for all items if one batch will do; else by calibration at good sizes."""

    def need(sizes: Sizes) -> Need:
        return programs.need(*work.abstract(sizes))

    everything = {name: int(values.sum()) for name, values in measures.items()}
    largest = {name: int(values.max(initial=1)) for name, values in measures.items()}
    given = sum(_nbytes(leaf) for leaf in jax.tree.leaves(abstract(work.abstract(everything))))
    enough = limit - work.held
    part = min(1.0, min(enough, worthwhile or LARGEST_PROBE) / max(1, given))
    if part > 0:
        probe = {name: max(largest[name], int(part * n)) for name, n in everything.items()}
        needed = need(probe).bytes
        if needed <= enough and (part == 1 or (worthwhile or math.inf) <= needed):
            return _proportional(probe, needed, need).holding(work.held)
        given = max(needed / part, 1)
    share = enough / given
    _refuse_early(work, measures, need, limit, share)
    high = {name: max(2 * largest[name], int(share * n)) for name, n in everything.items()}
    low = {name: max(1, math.ceil(n / 2)) for name, n in high.items()}
    return fit(need, low, high).holding(work.held)


def _refuse_early(
    work: Work, measures: dict[str, np.ndarray], need: Any, limit: int, share: float
) -> None:
    """Where one item is most of what fits, it is looked at before anything is calibrated."""
    one_of_all = once(measures)
    totals = {name: max(1, int(values.sum())) for name, values in measures.items()}
    parts = np.mean([values / totals[name] for name, values in one_of_all.items()], axis=0)
    worst = int(np.argmax(parts))
    if parts[worst] > share / 2:
        sizes = {name: int(values[worst]) for name, values in measures.items()}
        alone = need(sizes).bytes + work.held
        if alone > limit:
            raise TooLargeError(worst, sizes, alone, limit)


def _proportional(sizes: Sizes, needed: int, need: Any) -> Footprint:
    """Each measure with the same part of the bytes: good enough where memory is no concern."""
    per = {name: needed / len(sizes) / max(1, n) for name, n in sizes.items()}
    return Footprint(0.0, per, "the compiler", exact=lambda sizes: need(sizes).bytes)


def _nbytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize
