"""A configuration as a state and the steps to make: all wiring, no loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from instar.app.config import Loaded
from instar.app.config.schema import MdMethod
from instar.app.models.base import ConfigurationError
from instar.app.molecular_dynamics import state_of
from instar.app.recorder import Notes, Recorded
from instar.app.units import parse_unit
from instar.dynamics import md
from instar.memory import Budget, MemoryPlanError, find_budget, show
from instar.storage import StorageError

__all__ = ["Job", "Phase", "built"]

_NOTED_BYTES = 2**22
"""Frames that wait for the host take about this much: a step's state is copied now and then."""

_MOST_ROWS = 64
_DEFAULTS = {
    "friction": 1 / (1000 * parse_unit("fs")[0]),
    "time_constant": 100 * parse_unit("fs")[0],
    "pressure_time_constant": 1000 * parse_unit("fs")[0],
    "compressibility": 4.5e-5 / parse_unit("bar")[0],
}


_THERMOSTATS: dict[str, tuple[Callable[..., md.Step], str]] = {
    "langevin": (md.langevin, "friction"),
    "brownian": (md.brownian, "friction"),
    "velocity_rescaling": (md.velocity_rescaling, "time_constant"),
    "nose_hoover": (md.nose_hoover, "time_constant"),
}


class Phase(NamedTuple):
    """A method, and the step at which it ends."""

    name: str
    step: Recorded
    last: int


@dataclasses.dataclass(frozen=True)
class Job:
    """What a run does: a state at its beginning, phases, and how many steps fit into a chunk."""

    state: md.State
    phases: tuple[Phase, ...]
    seed: int
    longest_chunk: int

    @property
    def last(self) -> int:
        """The number of steps in all."""
        return self.phases[-1].last

    def phase_at(self, step: int) -> Phase:
        """The phase that the step with this number belongs to."""
        return next(phase for phase in self.phases if step < phase.last)


def built(loaded: Loaded) -> Job:
    """The job of a configuration; call under ``jax.enable_x64`` for double precision.

    What turns out not to fit together is a `ConfigurationError`.
    """
    try:
        return _built(loaded)
    except (StorageError, ConfigurationError, MemoryPlanError):
        raise
    except ValueError as error:
        raise ConfigurationError(str(error)) from error


def _built(loaded: Loaded) -> Job:
    config = loaded.config
    temperatures = [wanted.temperature for wanted in loaded.systems]
    state = state_of(
        list(loaded.structures),
        loaded.potential,
        temperatures,
        config.seed,
        config.method.skin,
        config.precision,
        {"mesh": _mesh()},
    )
    steps = _methods(loaded)
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
    state = dataclasses.replace(state, observed=notes)
    _check_budget(state, find_budget(config.memory.budget))
    return Job(state, phases, config.seed, longest)


_COPIES = 3
"""Copies of a state that a chunk holds at least: as it was given, saved, and moving."""


def _check_budget(state: md.State, budget: Budget) -> None:
    need = _COPIES * sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    if need > budget.bytes:
        raise MemoryPlanError(
            f"The run needs {show(need)} at least, and may take {show(budget.bytes)} "
            f"({budget.source}).\nGive it a larger memory.budget, or fewer systems."
        )


def _recorded(step: md.Step, origin: int, every: Any) -> Recorded:
    first = np.asarray(origin, np.uint32)
    return Recorded(step, first, every.thermo_every, every.trajectory_every)


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


def _methods(loaded: Loaded) -> tuple[md.Step, md.Step]:
    """The steps of the equilibration and of the production: the same, but for NVE.

    A system can't find its temperature at constant energy: it is equilibrated with a thermostat.
    """
    method = loaded.config.method
    hot = _column(wanted.temperature for wanted in loaded.systems)
    step = _step(method, hot, _column(wanted.pressure for wanted in loaded.systems))
    if method.ensemble != "nve" or loaded.config.run.equilibration == 0 or np.isnan(hot).any():
        return step, step
    return md.velocity_rescaling(method.time_step, hot, _DEFAULTS["time_constant"]), step


def _column(values: Any) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values])


def _step(method: MdMethod, hot: np.ndarray, pressures: np.ndarray) -> md.Step:
    def knob(name: str) -> float:
        given = getattr(method, name)
        return _DEFAULTS[name] if given is None else given

    dt = method.time_step
    if method.ensemble == "nve":
        return md.nve(dt)
    if method.thermostat is not None:
        make, strength = _THERMOSTATS[method.thermostat]
        return make(dt, hot, knob(strength))
    shared: dict[str, Any] = {
        "time_constant": knob("time_constant"),
        "pressure_time_constant": knob("pressure_time_constant"),
        "coupling": method.coupling,
    }
    if method.barostat == "mtk":
        return md.mtk(dt, hot, pressures, **shared)
    shared["compressibility"] = knob("compressibility")
    return md.cell_rescaling(dt, hot, pressures, **shared)
