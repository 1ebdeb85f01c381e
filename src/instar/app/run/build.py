"""A configuration as a state and the steps to make: all wiring, no loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from instar.app.config import Loaded
from instar.app.config.base import ConfigurationError
from instar.app.run.kinds import Kind, kind_of
from instar.app.run.rows import watched
from instar.app.run.snapshot import sizes_of
from instar.core.propagator import Repair, advance, program
from instar.core.utils.random import key_of
from instar.dynamics import Observing
from instar.memory import MemoryPlanError, need_of
from instar.memory.budget import FIXED, taken_by
from instar.storage import StorageError

__all__ = ["Job", "OutgrownError", "Phase", "built", "bytes_of", "need_of_chunk", "prepared"]


class Phase(NamedTuple):
    """The step of a stage, where that ends, and how many are made before the host reads rows.

    ``begins_at`` is the step at which its method begins afresh; None where it goes on with the
    state of the stage before.
    """

    name: str
    step: Observing
    last: int
    longest_chunk: int
    begins_at: int | None


@dataclasses.dataclass(frozen=True)
class Job:
    """What is done with some systems: a state at its beginning, phases, and what a step needs."""

    kind: Kind
    systems: range
    state: Any
    phases: tuple[Phase, ...]
    seed: int
    need: int = 0
    sizes: Mapping[str, int] | None = None
    """Room before the first forces were made: it may have grown then."""

    @property
    def last(self) -> int:
        """The number of steps in all."""
        return self.phases[-1].last

    @property
    def key(self) -> jax.Array:
        """What all random numbers come from."""
        return key_of(self.seed)

    def phase_at(self, step: int) -> Phase:
        """The phase that the step with this number belongs to."""
        return next(phase for phase in self.phases if step < phase.last)


class OutgrownError(Exception):
    """Systems that need more than they may take."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


def built(
    loaded: Loaded,
    systems: range | None = None,
    limit: int | None = None,
    blocks: int | None = None,
    *,
    ready: bool = True,
) -> Job:
    """The job of some systems of a configuration; call under ``jax.enable_x64`` for float64.

    They move in so many blocks (`Kind.blocks_of`), or as is fastest. What turns out not to fit
    together is a `ConfigurationError`. Nothing is computed for systems that need more than
    ``limit`` bytes, or if they need not be ``ready`` for their first step.
    """
    some = range(len(loaded.systems)) if systems is None else systems
    try:
        job = _wired(loaded, some, blocks)
        return _made_ready(job, limit) if ready else job
    except (StorageError, ConfigurationError, MemoryPlanError):
        raise
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _wired(loaded: Loaded, systems: range, blocks: int | None = None) -> Job:
    kind = kind_of(loaded)
    state = kind.state(systems, blocks)
    steps = kind.steps(systems)
    for step in reversed(steps):  # the first one comes last, and is what the state is ready for
        state = step.laid_out(state)
    state, longest = watched(kind, state)
    before = [None, *(stage.method for stage in loaded.stages)]
    phases = tuple(
        Phase(
            stage.name,
            Observing(step, np.zeros((), bool)),
            stage.last,
            most,
            stage.first if stage.first and stage.method != method else None,
        )
        for stage, step, most, method in zip(loaded.stages, steps, longest, before, strict=False)
    )
    return Job(kind, systems, kind.placed(state), phases, loaded.config.seed)


def _made_ready(job: Job, limit: int | None) -> Job:
    """With what its steps need, and what the first of them begins with."""
    need, sizes = 0, sizes_of(job.state)

    def fits(state: Any) -> None:
        nonlocal need
        need = need_of_chunk(job, state)
        if limit is not None and need > limit:
            raise OutgrownError(need)

    fits(job.state)
    state = prepared(job, job.state, lambda repair: fits(repair.state))
    return dataclasses.replace(job, state=state, need=need, sizes=sizes)


def prepared(job: Job, state: Any, on_repair: Callable[[Repair], None]) -> Any:
    """The state with what its next step begins with, such as forces, and a first look at it.

    It is the program of the steps that makes it; nothing else is compiled.
    """
    first = int(state.step)
    step = job.phase_at(first).step
    if not step.step.prepares:
        state = job.kind.placed(job.kind.ready(state))
    return advance(step.preparing, job.key, state, 1, start=first, on_repair=on_repair)


def need_of_chunk(job: Job, state: Any) -> int:
    """Bytes that a run takes with such a state; compiles the program that is run next.

    On a CPU all devices share the memory of the host, and the C library keeps some of what is
    freed between chunks.
    """
    phase = job.phase_at(min(int(state.step), job.last - 1))
    chunk = need_of(program(phase.step, job.key, state).compile()).bytes
    if jax.default_backend() != "cpu":
        return chunk + FIXED
    live = chunk * len(state.step.sharding.device_set) + bytes_of(state)  # and a checkpoint's copy
    return taken_by(live)


def bytes_of(state: Any) -> int:
    """Bytes that are held, on the memory that this process shares with its devices."""
    leaves = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
    return sum(part.data.nbytes for leaf in leaves for part in leaf.addressable_shards)
