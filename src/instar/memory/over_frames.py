"""`over_frames`: a function of one frame over a long trajectory, within a budget.

Frames are read, computed and let go batch by batch. The batches come from a plan, so the result
is there in the end, whatever the length of the trajectory; it equals the unbatched one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from instar.memory.amounts import show
from instar.memory.batches import Plan
from instar.memory.budget import HEADROOM, Budget, find_budget
from instar.memory.frames import Carry, FrameError, FramesWork, frames_of
from instar.memory.plan import MemoryPlanError
from instar.memory.reduction import reduction_of
from instar.memory.run import Event, Outcome, run
from instar.memory.work import plan_work, programs_of

__all__ = ["Evaluated", "Watcher", "over_frames"]

WORTHWHILE = 16 * 2**20
"""Bytes of a batch beyond which a CPU gets slower: they leave its caches, and the C library asks
the system for such blocks again each time. Measured in ``bench/memory.py``."""


class Watcher:
    """Is told how an evaluation goes; does nothing by itself."""

    def planned(self, plan: Plan) -> None:
        """Before the first batch."""

    def done(self, frames: int) -> None:
        """After each batch: how many frames are done by now."""

    def happened(self, event: Event) -> None:
        """When a buffer grew, or what is left was planned again."""


@dataclasses.dataclass(frozen=True)
class Evaluated:
    """The result, and how the run went."""

    value: Any
    outcome: Outcome


def over_frames(
    function: Any,
    frames: Any,
    *,
    budget: str | int | float | Budget | None = None,
    reduce: str | Callable[[Any, Any], Any] | None = None,
    initial: Any = None,
    out: Any = None,
    headroom: int | float = HEADROOM,
    watcher: Watcher | None = None,
) -> Evaluated:
    """The function for every frame; or, with ``reduce``, one value for all of them.

    See `instar.over_frames`. Frames keep their precision; in double precision, call it under
    ``jax.enable_x64(True)``.
    """
    if not callable(function):
        raise TypeError(
            f"A function of one frame is asked for first, then the frames; not {function!r:.50}."
        )
    watcher = watcher or Watcher()
    found = frames_of(frames, function)
    work = FramesWork(function, found)
    like = work.value_of_one()
    if not jax.tree.leaves(like):
        raise FrameError("The function returns no arrays, so there is nothing to evaluate.")
    budget = find_budget(budget)
    if reduce is None:
        if initial is not None:
            raise ValueError("initial= belongs to a reduction of your own: give reduce=, too.")
        results, held = _results(like, found.count, out, budget.usable(headroom))
        work = dataclasses.replace(work, held=held)
    else:
        if out is not None:
            raise ValueError("A reduction returns one value; out= is for the values of all frames.")
        reduction = reduction_of(reduce, initial)
        work = dataclasses.replace(work, reduction=reduction, carry=Carry(reduction.start(like)))
        results = None
    programs = programs_of(work)
    worthwhile = WORTHWHILE if jax.default_backend() == "cpu" else None
    plan = plan_work(work, budget, programs=programs, headroom=headroom, worthwhile=worthwhile)
    watcher.planned(plan)

    def consume(items: Any, value: Any) -> None:
        if results is None:
            work.carry.value = value
        else:
            _write(results, value, range(int(items[0]), int(items[-1]) + 1))
        watcher.done(int(items[-1]) + 1)

    outcome = run(work, plan, consume, programs=programs, on_event=watcher.happened)
    if work.reduction is None:
        return Evaluated(results, outcome)
    return Evaluated(_on_host(work.reduction.finish(work.carry.value, found.count)), outcome)


def _results(like: Any, frames: int, out: Any, limit: int) -> tuple[Any, int]:
    """Where values are written, and the bytes that this takes."""
    for one in jax.tree.leaves(like):
        if jax.numpy.issubdtype(one.dtype, jax.dtypes.extended):
            raise FrameError(f"Values are numbers, not {one.dtype}.")
    if out is None:
        held = sum(frames * math.prod(a.shape) * a.dtype.itemsize for a in jax.tree.leaves(like))
        if held > limit:
            raise MemoryPlanError(
                f"The values of {frames} frames take {show(held)} by themselves, of {show(limit)}."
                "\nGive out=, a memory map or a dataset to write them to, or reduce=."
            )
        return jax.tree.map(lambda a: np.empty((frames, *a.shape), a.dtype), like), held
    expected, structure = jax.tree.flatten(like)
    given, given_structure = jax.tree.flatten(out)
    if structure != given_structure:
        raise FrameError(f"out has the structure {given_structure}; values have {structure}.")
    for target, one in zip(given, expected, strict=True):
        if not hasattr(target, "shape") or isinstance(target, jax.Array):
            raise FrameError(
                f"out is written to: arrays of NumPy, memory maps or datasets; not {type(target)}."
            )
        if tuple(target.shape) != (frames, *one.shape) or np.dtype(target.dtype) != one.dtype:
            raise FrameError(
                f"out has the shape {tuple(target.shape)} and {target.dtype}, but the values are "
                f"{(frames, *one.shape)} in {one.dtype}."
            )
    return out, 0


def _write(results: Any, values: Any, frames: range) -> None:
    for target, value in zip(jax.tree.leaves(results), jax.tree.leaves(values), strict=True):
        target[frames.start : frames.stop] = np.asarray(value)[: len(frames)]


def _on_host(tree: Any) -> Any:
    return jax.tree.map(np.asarray, tree)
