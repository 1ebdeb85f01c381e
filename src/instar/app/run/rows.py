"""What a run writes down, as observers of its state: thermo, frames, and what it measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.config.units import parse_unit
from instar.app.run.kinds import Kind
from instar.dynamics import Schedule, Watch, place_of
from instar.observables import Finding, Quantity, Rows

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
    thermo_room, frame_room, longest = _room(state, every.thermo_every, every.trajectory_every)
    observers: dict[str, Any] = {THERMO: Rows.of(kind.thermo_row(), state, thermo_room)}
    schedules = {THERMO: Schedule(every.thermo_every, origin)}
    if frame_room:
        observers[FRAMES] = Rows.of(kind.frame(), state, frame_room)
        schedules[FRAMES] = Schedule(every.trajectory_every, origin, after=True)
    for one in loaded.observations:
        looks = loaded.config.run.steps // one.every
        observers[one.title] = one.made(state, place_of(one.title), looks)
        schedules[one.title] = Schedule(one.every, origin, after=True)
    return dataclasses.replace(state, observed=Watch(observers, schedules)), longest


def _room(state: Any, thermo_every: int, frame_every: int) -> tuple[int, int, int]:
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


def fetched(kind: Kind, state: Any) -> tuple[Any, Table, Table]:
    """The state without rows, and the rows of thermo and of frames that it had, in their units."""
    watch = state.observed
    thermo = _in_units(watch[THERMO], kind.THERMO)
    frames = _in_units(watch[FRAMES], kind.FRAME) if FRAMES in watch.observers else {}
    emptied = {name: one.erased() for name, one in watch.observers.items() if isinstance(one, Rows)}
    new = dataclasses.replace(watch, observers={**watch.observers, **emptied})
    return dataclasses.replace(state, observed=new), thermo, frames


def _in_units(rows: Rows, columns: Mapping[str, Quantity]) -> Table:
    steps, found = rows.result()
    values = {
        name: (column / parse_unit(columns[name].unit)[0]).astype(columns[name].dtype)
        for name, column in found.items()
    }
    return {"step": steps, **values}


def findings(loaded: Loaded, state: Any) -> dict[str, Finding]:
    """What all observations of a run have found so far."""
    fs = parse_unit("fs")[0]
    found = {}
    for one in loaded.observations:
        time = loaded.config.method.time(one.every)
        interval = None if time is None else time * fs
        found[one.title] = one.found(state.observed[one.title], interval)
    return found
