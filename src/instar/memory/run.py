"""Running a plan: batch after batch, within the memory that was promised.

    a check asks for a larger buffer   its need is worked out before the buffer is allocated; where
                                       it does not fit, what is left is planned again
    memory runs out all the same       what is left is planned for half of it

A growth that fits keeps every bit. Another plan makes other batches, whose results are equal to
rounding; each such event is logged and told.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import jax
import numpy as np

from instar.core.propagator.settling import MAX_RETRIES, Settling
from instar.core.result import Result
from instar.memory.amounts import show
from instar.memory.batches import Batch, Plan
from instar.memory.footprint import Sizes
from instar.memory.need import Compiled, Programs
from instar.memory.peak import HighWater
from instar.memory.plan import plan as make_plan
from instar.memory.work import Work, plan_work, programs_of, some_of

__all__ = ["Event", "OutOfMemoryError", "Outcome", "is_out_of_memory", "run"]

MOST_ATTEMPTS = 40
"""Plans that may be made one after the other before anything gets done: halving takes few."""

_log = logging.getLogger("instar.memory")


class OutOfMemoryError(MemoryError):
    """Memory ran out although one item alone was computed."""


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that changed a run: "grown", "re-planned" or "halved", after so many items."""

    kind: str
    done: int
    text: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run went: the plan in force at its end, what it really took, and what happened.

    ``measured_peak`` is None where the system does not tell.
    """

    plan: Plan
    predicted_peak: int
    measured_peak: int | None
    events: tuple[Event, ...]


def run(
    work: Work,
    plan: Plan,
    consume: Callable[[Any, Any], None],
    *,
    programs: Programs | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> Outcome:
    """Compute all batches of a plan; ``consume(items, value)`` is called after each.

    Values are let go after ``consume``: what it keeps must be copied, or it adds to the peak.
    """
    running = _Running(work, plan, programs or programs_of(work), on_event)
    return running.all(consume)


class _PlanAnewError(Exception):
    """What is left must be planned again; with batches of at most ``most`` bytes, if given."""

    def __init__(self, kind: str, text: str, most: int | None = None) -> None:
        super().__init__(text)
        self.kind, self.text, self.most = kind, text, most


class _Running:
    def __init__(
        self,
        work: Work,
        plan: Plan,
        programs: Programs,
        on_event: Callable[[Event], None] | None,
    ) -> None:
        self.work, self.plan, self.programs = work, plan, programs
        self.on_event, self.events, self.done = on_event, [], 0
        self.total = max(1, sum(map(len, plan.batches)))
        self.predicted, self.peak = 0, HighWater()
        self.attempts, self.done_before = 0, -1

    def all(self, consume: Callable[[Any, Any], None]) -> Outcome:
        todo = collections.deque(self.plan.batches)
        while todo:
            try:
                self._one(todo[0], consume)
            except _PlanAnewError as why:
                todo = self._planned_again(todo, why)
                continue
            self.done += len(todo.popleft())
        return Outcome(self.plan, self.predicted, self.peak.growth(), tuple(self.events))

    def _one(self, batch: Batch, consume: Callable[[Any, Any], None]) -> None:
        shape = self.plan.shapes[batch.shape]
        sizes = shape.sizes
        written = self.work.held * self.done / self.total
        self.peak.give_back_beyond(self.plan.peak_with(shape.bytes) - shape.bytes + written)
        try:
            state, inputs = self.work.load(batch.items, sizes)
            value = self._settled(batch, sizes, state, inputs)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise self._halved(batch, error) from error
        del state, inputs
        consume(batch.items, value)

    def _settled(self, batch: Batch, sizes: Sizes, state: Any, inputs: Any) -> Any:
        """The value, once all checks pass: repaired, and run again, as often as needed."""
        settling = Settling(MAX_RETRIES)
        while True:
            result = self._program_for(batch, state, inputs)(state, inputs)
            if bool(np.all(result.all_assertions_pass)):
                return result.value
            result = _checks_of(result)
            if not _can_be_repaired(result, state):
                _raise_of_batch(result, batch)
            larger = jax.eval_shape(result.fix_or_raise, state)
            self.work = self.work.grown(sizes, larger, result.fix_or_raise)
            need = self._program_for(batch, larger, inputs).need.bytes + self.work.held
            self._tell("grown", f"a buffer grew; the batch now takes {show(need)}")
            state = settling.repaired(result, state)

    def _program_for(self, batch: Batch, state: Any, inputs: Any) -> Compiled:
        """The compiled program, if what it takes is within the plan's limit."""
        known = (state, inputs) in self.programs
        with contextlib.nullcontext() if known else self.peak.apart():
            program = self.programs(state, inputs)
        need = program.need.bytes + self.work.held
        if need > self.plan.limit and len(batch) > 1:
            text = (
                f"a batch of {len(batch)} items would take {show(need)} of {show(self.plan.limit)}"
            )
            raise _PlanAnewError("re-planned", text)
        if need > self.plan.limit:
            raise OutOfMemoryError(
                f"Item {int(batch.items[0])} alone needs {show(need)} now that its buffers have "
                f"grown, but a batch may take {show(self.plan.limit)}.\nGive a larger budget."
            )
        self.predicted = max(self.predicted, self.plan.peak_with(need))
        return program

    def _halved(self, batch: Batch, error: Exception) -> Exception:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        shape = self.plan.shapes[batch.shape]
        if len(batch) == 1:
            return OutOfMemoryError(
                f"Memory ran out with item {int(batch.items[0])} alone, which takes "
                f"{show(shape.bytes)}: {text}\nFree some memory, or give smaller items."
            )
        half = int(self.plan.footprint.weight(shape.sizes) / 2)
        return _PlanAnewError("halved", f"memory ran out ({text})", half)

    def _planned_again(
        self, todo: collections.deque[Batch], why: _PlanAnewError
    ) -> collections.deque[Batch]:
        self.attempts = self.attempts + 1 if self.done == self.done_before else 1
        self.done_before = self.done
        if self.attempts > MOST_ATTEMPTS:
            raise RuntimeError(
                f"{MOST_ATTEMPTS} plans in a row did not hold: {why.text}.\n"
                "The work must take what it has grown by into account (Work.grown)."
            )
        items = _all_items(todo)
        with self.peak.apart():
            self.plan = _renumbered(self._plan_for(items, why.most), items)
        batches = f"{len(self.plan.batches)} batches"
        self._tell(why.kind, f"{why.text}; {len(items)} items are left, in {batches}")
        return collections.deque(self.plan.batches)

    def _plan_for(self, items: np.ndarray | range, most: int | None) -> Plan:
        present = self.plan
        if most is not None:  # nothing has grown: the footprint is the same
            measures = some_of(self.work.measures, items)
            options: Any = {"headroom": present.headroom, "worthwhile": most}
            return make_plan(present.footprint, measures, present.budget, **options)
        options = {"programs": self.programs, "headroom": present.headroom}
        options["worthwhile"] = present.worthwhile
        return plan_work(self.work, present.budget, items=items, **options)

    def _tell(self, kind: str, text: str) -> None:
        event = Event(kind, self.done, text)
        self.events.append(event)
        rounding = "" if kind == "grown" else " (other batches: results are equal to rounding)"
        _log.info("%s after %d items: %s%s", kind, self.done, text, rounding)
        if self.on_event is not None:
            self.on_event(event)


def _checks_of(result: Result[Any]) -> Result[None]:
    """The checks alone, on the host; the value of a failed attempt makes room for the next."""

    def on_host(leaf: Any) -> Any:
        is_key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return leaf if is_key else np.asarray(leaf)

    return Result(None, jax.tree.map(on_host, result.assertions), np.asarray(False))


def _can_be_repaired(result: Result[None], state: Any) -> bool:
    """Whether there is a state, and repairs of it for all that failed."""
    has_state = not (isinstance(state, tuple) and state == ())
    return has_state and all(check.fix_fn is not None for check in result.failed_assertions)


def _raise_of_batch(result: Result[None], batch: Batch) -> NoReturn:
    """Raise the first failure that has no repair, and tell what was computed then."""
    failed = result.failed_assertions
    error = next((c for c in failed if c.fix_fn is None), failed[0]).exception()
    shown = ", ".join(str(int(item)) for item in batch.items[:8])
    more = ", …" if len(batch) > 8 else ""
    error.add_note(f"In a batch of the items {shown}{more}; numbers above count within it.")
    if all(check.fix_fn is not None for check in failed):
        error.add_note("What grows is not known: give the object itself, not a function of it.")
    raise error


def _all_items(batches: Iterable[Batch]) -> np.ndarray | range:
    """What is in the batches, in order; as a range if it is one."""
    parts = [batch.items for batch in batches]
    if all(isinstance(part, range) for part in parts):
        first, last = min(part[0] for part in parts), max(part[-1] for part in parts)
        if last - first + 1 == sum(map(len, parts)):
            return range(first, last + 1)
    return np.sort(np.concatenate([np.asarray(part) for part in parts]))


def _renumbered(plan: Plan, items: np.ndarray | range) -> Plan:
    """A plan for some items, by their numbers among all."""

    def moved(batch: Batch) -> Batch:
        if isinstance(items, range) and isinstance(batch.items, range):
            return Batch(items[batch.items.start : batch.items.stop], batch.shape)
        return Batch(np.asarray(items)[np.asarray(batch.items)], batch.shape)

    return dataclasses.replace(plan, batches=tuple(map(moved, plan.batches)))


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was asked for and not there."""
    if isinstance(error, OutOfMemoryError):
        return False
    told = ("RESOURCE_EXHAUSTED", "Out of memory")  # the latter where a program runs by itself
    return isinstance(error, MemoryError) or any(text in str(error) for text in told)
