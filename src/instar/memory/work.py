"""`Work`: items that a program is to be run on, some at a time; and its footprint."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from instar.core.result import as_result_function
from instar.memory.batches import Plan
from instar.memory.budget import Budget, find_budget
from instar.memory.calibrate import fit
from instar.memory.footprint import Footprint, Sizes
from instar.memory.need import Need, Programs, abstract
from instar.memory.plan import HEADROOM, plan, too_large

__all__ = ["Work", "plan_work", "programs_of"]


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


def programs_of(work: Work) -> Programs:
    """The program of some work, with its checks collected."""
    return Programs(as_result_function(work.program))


def plan_work(
    work: Work,
    budget: str | int | float | Budget | None = None,
    *,
    items: np.ndarray | None = None,
    programs: Programs | None = None,
    headroom: int | float = HEADROOM,
    worthwhile: int | None = None,
) -> Plan:
    """Batches of some work, all of it or some ``items``, that fit into a budget."""
    programs = programs_of(work) if programs is None else programs
    found = find_budget(budget)
    measures = dict(work.measures)
    if items is not None:
        measures = {name: values[items] for name, values in measures.items()}
    footprint = _footprint(work, measures, programs, int(found.bytes * (1 - headroom)))
    return plan(footprint, measures, found, headroom=headroom, worthwhile=worthwhile)


def _footprint(
    work: Work, measures: dict[str, np.ndarray], programs: Programs, limit: int
) -> Footprint:
    """From the program for all items if they fit; else from calibration at sizes that do."""

    def need(sizes: Sizes) -> Need:
        return programs.need(*work.abstract(sizes))

    everything = {name: int(values.sum()) for name, values in measures.items()}
    largest = {name: int(values.max(initial=1)) for name, values in measures.items()}
    given = sum(_nbytes(leaf) for leaf in jax.tree.leaves(abstract(work.abstract(everything))))
    if given + work.held <= limit:
        whole = need(everything).bytes
        if whole + work.held <= limit:
            return _proportional(everything, whole, need).holding(work.held)
        given = whole
    share = (limit - work.held) / max(1, given)
    _refuse_early(work, measures, need, limit, share)
    high = {name: max(2 * largest[name], int(share * n)) for name, n in everything.items()}
    low = {name: max(1, math.ceil(n / 2)) for name, n in high.items()}
    return fit(need, low, high).holding(work.held)


def _refuse_early(
    work: Work, measures: dict[str, np.ndarray], need: Any, limit: int, share: float
) -> None:
    """Where one item is most of what fits, it is looked at before anything is calibrated."""
    parts = np.mean([values / max(1, values.sum()) for values in measures.values()], axis=0)
    worst = int(np.argmax(parts))
    if parts[worst] > share / 2:
        sizes = {name: int(values[worst]) for name, values in measures.items()}
        alone = need(sizes).bytes + work.held
        if alone > limit:
            raise too_large(worst, sizes, alone, limit)


def _proportional(everything: Sizes, whole: int, need: Any) -> Footprint:
    """Each measure with the same part of the bytes: there is one batch, so nothing asks more."""
    per = {name: whole / len(everything) / max(1, n) for name, n in everything.items()}
    return Footprint(0.0, per, "the compiler", exact=lambda sizes: need(sizes).bytes)


def _nbytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize
