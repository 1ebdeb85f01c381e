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

type Table = dict[str, np.ndarray]


def watched(kind: Kind, state: Any) -> tuple[Any, int]:
    """The state with all observers of a run, and the steps that fill none of their rows."""
    loaded = kind.loaded
    origin, every = np.asarray(loaded.config.run.equilibration, np.uint32), loaded.config.output
    frame = sum(
        math.prod(one.shape) * len(state.particles if one.of == "particles" else state.systems)
        for one in kind.frame_columns.values()
    )
    thermo_room, frame_room, longest = _room(4 * frame, every.thermo_every, every.trajectory_every)
    observers: dict[str, Any] = {THERMO: Rows.of(kind.thermo_row(), state, thermo_room)}
    schedules = {THERMO: Schedule(every.thermo_every, origin)}
    if frame_room:
        observers[FRAMES] = Rows.of(kind.frame(), state, frame_room)
        schedules[FRAMES] = Schedule(every.trajectory_every, origin, after=True)
    for number, one in enumerate(loaded.observations):
        try:
            observers[one.title] = one.made(state, place_of(one.title))
            _found(loaded, one, observers[one.title])  # what fails, fails now
        except Exception as error:  # a function of the user's may raise anything
            raise ConfigurationError(
                f"observe[{number}] ({one.title}): {type(error).__name__}: {error}"
            ) from error
        schedules[one.title] = Schedule(one.every, origin, after=True)
    return dataclasses.replace(state, observed=Watch(observers, schedules)), longest


def _room(frame: int, thermo_every: int, frame_every: int) -> tuple[int, int, int]:
    """Rows of thermo and of frames that are noted at once, and the steps that fill neither."""
    frames = int(np.clip(_NOTED_BYTES // max(1, frame), 1, _MOST_ROWS)) if frame_every else 0
    longest = _MOST_ROWS * thermo_every
    if frame_every:
        longest = min(longest, frames * frame_every)
    longest = max(1, longest)
    return (
        longest // thermo_every + 1,
        min(frames, longest // frame_every + 1) if frames else 0,
        longest,
    )


def fetched(kind: Kind, state: Any) -> tuple[Any, Table, Table]:
    """The state without rows, and the rows of thermo and of frames that it had, in their units."""
    watch = state.observed
    thermo = _in_units(watch[THERMO], kind.THERMO, kind.loaded.units)
    frames = _in_units(watch[FRAMES], kind.FRAME, UnitSystem()) if FRAMES in watch.observers else {}
    emptied = {name: one.erased() for name, one in watch.observers.items() if isinstance(one, Rows)}
    new = dataclasses.replace(watch, observers={**watch.observers, **emptied})
    return dataclasses.replace(state, observed=new), thermo, frames


def _in_units(rows: Rows, columns: Mapping[str, Quantity], units: UnitSystem) -> Table:
    steps, found = rows.result()
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
    time = loaded.config.method.time(one.every)
    interval = None if time is None else time * parse_unit("fs")[0]
    return in_units(one.found(observer, interval), loaded.units)
