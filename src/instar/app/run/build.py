"""A configuration as a state and the steps to make: all wiring, no loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from instar.app.api.md_state import state_of
from instar.app.config import Loaded
from instar.app.config.base import ConfigurationError
from instar.app.config.systems import Wanted
from instar.app.run.recorder import Notes, Recorded
from instar.app.run.snapshot import sizes_of
from instar.core.propagator import program
from instar.dynamics import md
from instar.memory import MemoryPlanError, need_of
from instar.storage import StorageError

__all__ = ["FIXED", "Job", "OutgrownError", "Phase", "built", "bytes_of", "need_of_chunk", "placed"]

_NOTED_BYTES = 2**22
"""Frames that wait for the host take about this much: a step's state is copied now and then."""

_MOST_ROWS = 64


class Phase(NamedTuple):
    """A method, and the step at which it ends."""

    name: str
    step: Recorded
    last: int


@dataclasses.dataclass(frozen=True)
class Job:
    """What is done with some systems: a state at its beginning, phases, and what a step needs.

    ``longest_chunk`` is the number of steps that are made before the host reads what was noted.
    """

    systems: range
    state: Any
    phases: tuple[Phase, ...]
    seed: int
    longest_chunk: int
    need: int = 0
    sizes: Mapping[str, int] | None = None
    """Of the neighbor list before the first forces were made: it may have grown then."""

    @property
    def last(self) -> int:
        """The number of steps in all."""
        return self.phases[-1].last

    @property
    def key(self) -> jax.Array:
        """What all random numbers come from."""
        return jax.random.key(self.seed)

    def phase_at(self, step: int) -> Phase:
        """The phase that the step with this number belongs to."""
        return next(phase for phase in self.phases if step < phase.last)


class OutgrownError(Exception):
    """Systems that need more than they may take."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


def built(loaded: Loaded, systems: range | None = None, limit: int | None = None) -> Job:
    """The job of some systems of a configuration; call under ``jax.enable_x64`` for float64.

    What turns out not to fit together is a `ConfigurationError`. Nothing is computed for systems
    that need more than ``limit`` bytes.
    """
    some = range(len(loaded.systems)) if systems is None else systems
    try:
        return _compiled(_built(loaded, some), loaded.config.precision, limit)
    except (StorageError, ConfigurationError, MemoryPlanError):
        raise
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _built(loaded: Loaded, systems: range) -> Job:
    config = loaded.config
    wanted = [loaded.systems[number] for number in systems]
    state = state_of(
        [loaded.structures[number] for number in systems],
        loaded.recipe,
        [one.temperature for one in wanted],
        config.seed,
        config.method.skin,
        config.precision,
        {"mesh": _mesh(), "streams": np.array(systems), "forces": False},
        potential=loaded.potential_of(systems),
    )
    if config.memory.neighbors is not None and state.neighbors is not None:
        room = state.neighbors.resized(neighbors=config.memory.neighbors)
        state = dataclasses.replace(state, neighbors=room)
    steps = _methods(loaded, wanted)
    origin, every = config.run.equilibration, config.output
    for step in {id(step): step for step in steps}.values():
        state = step.begin(state)
    thermo_room, frame_room, longest = _room(state, every.thermo_every, every.trajectory_every)
    notes = Notes.empty(state, thermo_room, frame_room, every.velocities)
    ends = {"equilibration": origin, "production": origin + config.run.steps}
    phases = tuple(
        Phase(name, _recorded(step, origin, every), ends[name])
        for name, step in zip(ends, steps, strict=True)
    )
    state = placed(dataclasses.replace(state, observed=notes))
    return Job(systems, state, phases, config.seed, longest)


def _compiled(job: Job, precision: str, limit: int | None) -> Job:
    """With forces, and what a chunk of its steps needs: two programs, compiled side by side."""
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(_need_in, precision, job)
        md.compile_forces(job.state)
        need = beside.result()
    if limit is not None and need > limit:
        raise OutgrownError(need)
    state, sizes = md.computed(job.state), sizes_of(job.state)
    if sizes_of(state) != sizes:
        need = need_of_chunk(job, state)
    return dataclasses.replace(job, state=state, need=need, sizes=sizes)


def _need_in(precision: str, job: Job) -> int:
    with jax.enable_x64(precision == "float64"):  # each thread has its own
        return need_of_chunk(job, job.state)


def need_of_chunk(job: Job, state: md.State) -> int:
    """Bytes that a run takes with such a state; compiles the program that is run next.

    On a CPU all devices share the memory of the host, and the C library keeps some of what is
    freed between chunks.
    """
    phase = job.phase_at(min(int(state.step), job.last - 1))
    chunk = need_of(program(phase.step, job.key, state).compile()).bytes
    if jax.default_backend() != "cpu":
        return chunk + FIXED
    live = chunk * len(state.step.sharding.device_set) + bytes_of(state)  # and a checkpoint's copy
    return live + live // 3 + FIXED


FIXED = 48 * 2**20
"""Bytes that do not grow with the systems: a writer's buffers, small programs, threads."""


def bytes_of(state: Any) -> int:
    """Bytes that are held, on the memory that this process shares with its devices."""
    leaves = [leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array)]
    return sum(part.data.nbytes for leaf in leaves for part in leaf.addressable_shards)


def _recorded(step: md.Step, origin: int, every: Any) -> Recorded:
    first = np.asarray(origin, np.uint32)
    return Recorded(step, first, every.thermo_every, every.trajectory_every)


def placed(state: md.State) -> md.State:
    """The state where steps leave it: a program is compiled for that place as well."""
    neighbors = state.neighbors
    if neighbors is None or neighbors.mesh is None:
        return jax.device_put(state, jax.local_devices()[0])
    everywhere = jax.device_put(state, NamedSharding(neighbors.mesh, PartitionSpec()))
    return dataclasses.replace(everywhere, neighbors=neighbors.placed())


def _mesh() -> Mesh | None:
    devices = jax.local_devices()
    return Mesh(np.array(devices), ("rows",)) if len(devices) > 1 else None


def _room(state: md.State, thermo_every: int, frame_every: int) -> tuple[int, int, int]:
    """Rows of thermo and of frames that are noted at once, and the steps that fill neither."""
    frame = 12 * max(1, len(state.particles))
    frames = int(np.clip(_NOTED_BYTES // frame, 1, _MOST_ROWS)) if frame_every else 0
    longest = _MOST_ROWS * thermo_every
    if frame_every:
        longest = min(longest, frames * frame_every)
    longest = max(1, longest)
    return (
        longest // thermo_every + 1,
        min(frames, longest // frame_every + 1) if frames else 0,
        longest,
    )


def _methods(loaded: Loaded, wanted: Sequence[Wanted]) -> tuple[md.Step, md.Step]:
    """The steps of the equilibration and of the production."""
    hot, pressures = (_column(getattr(o, n) for o in wanted) for n in ("temperature", "pressure"))
    method = loaded.config.method
    step = method.step(hot, pressures)
    unknown = any(one.temperature is None for one in loaded.systems)  # of all: not of this batch
    if loaded.config.run.equilibration == 0 or unknown:
        return step, step
    return method.settling(hot) or step, step


def _column(values: Any) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values])
