"""What a run writes down, as observers of its state: thermo, frames, and what it measures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.config.base import ConfigurationError
from instar.app.config.units import UnitSystem, parse_unit
from instar.app.run.findings import in_units
from instar.app.run.kinds import Kind
from instar.dynamics import Schedule, Watch, place_of
from instar.observables import Finding, Observation, Quantity, Rows

__all__ = ["FRAMES", "THERMO", "fetched", "findings", "watched"]

THERMO, FRAMES = "record: thermo", "record: frames"
"""What the two recorders are called among the observers; no observation has a colon in its name."""

_NOTED_BYTES = 2**22
"""Frames that wait for the host take about this much: a step's state is copied now and then."""

_MOST_ROWS = 64
_MOST_STEPS = 2**31

type Table = dict[str, np.ndarray]


def watched(kind: Kind, state: Any) -> tuple[Any, list[int]]:
    """The state with all observers of a run, and the steps of each stage that fill no rows."""
    loaded, stages = kind.loaded, kind.loaded.stages
    first = [stage.first for stage in stages]
    thermo, frames = ([s.thermo_every for s in stages], [s.trajectory_every for s in stages])
    room = _frames_at_once(kind, state)
    observers: dict[str, Any] = {THERMO: Rows.of(kind.thermo_row(), state, _MOST_ROWS + 1)}
    end = [loaded.production.last] if kind.TELLS_END else []
    schedules = {THERMO: Schedule.of([*thermo, *([1] * len(end))], [*first, *end])}
    if any(frames):
        observers[FRAMES] = Rows.of(kind.frame(), state, room + 1)
        schedules[FRAMES] = Schedule.of(frames, first)
    for number, one in enumerate(loaded.observations):
        try:
            observers[one.title] = one.made(state, place_of(one.title))
            _found(loaded, one, observers[one.title])  # what fails, fails now
        except Exception as error:  # a function of the user's may raise anything
            raise ConfigurationError(
                f"observe[{number}] ({one.title}): {type(error).__name__}: {error}"
            ) from error
        schedules[one.title] = Schedule.of(one.every, loaded.production.first, after=True)
    longest = [
        min(_MOST_ROWS * stage.thermo_every, room * stage.trajectory_every or _MOST_STEPS)
        for stage in stages
    ]
    return dataclasses.replace(state, observed=Watch(observers, schedules)), longest


def _frames_at_once(kind: Kind, state: Any) -> int:
    """Frames that are noted before the host reads them; one more is the start of a stage."""
    numbers = sum(
        math.prod(one.shape) * len(state.particles if one.of == "particles" else state.systems)
        for one in kind.frame_columns.values()
    )
    return int(np.clip(_NOTED_BYTES // max(1, 4 * numbers), 1, _MOST_ROWS))


def fetched(kind: Kind, state: Any) -> tuple[Any, Table, Table]:
    """The state without rows, and the rows of thermo and of frames that it had, in their units."""
    watch = state.observed
    thermo = _in_units(watch[THERMO].result(), kind.THERMO, kind.loaded.units)
    frames: Table = {}
    if FRAMES in watch.observers:
        frames = _in_units(watch[FRAMES].result(), kind.FRAME, UnitSystem())
    emptied = {name: one.erased() for name, one in watch.observers.items() if isinstance(one, Rows)}
    new = dataclasses.replace(watch, observers={**watch.observers, **emptied})
    return dataclasses.replace(state, observed=new), thermo, frames


def _in_units(
    rows: tuple[np.ndarray, Table], columns: Mapping[str, Quantity], units: UnitSystem
) -> Table:
    steps, found = rows
    values = {
        name: (column / units.size(columns[name].unit)).astype(columns[name].dtype)
        for name, column in found.items()
    }
    return {"step": steps, **values}


def findings(loaded: Loaded, state: Any) -> dict[str, Finding]:
    """What all observations of a run have found so far, in the units that it is shown in."""
    return {
        one.title: _found(loaded, one, state.observed[one.title]) for one in loaded.observations
    }


def _found(loaded: Loaded, one: Observation, observer: Any) -> Finding:
    time = loaded.method.time(one.every)
    interval = None if time is None else time * parse_unit("fs")[0]
    return in_units(one.found(observer, interval), loaded.units)
