"""What a run writes down: streams of rows, constants, and rows as they stand on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.config.units import UnitSystem
from instar.app.run.kinds import Kind
from instar.observables import Quantity
from instar.storage import Column, Recording

__all__ = ["appending", "recording_of"]


def recording_of(path: Any, kind: Kind, segments: int, systems: range) -> Recording:
    """The recording of a run, which goes on with rows of these systems."""
    loaded = kind.loaded
    counts = loaded.counts
    ends = np.concatenate([[0], np.cumsum(counts)])
    atoms = range(int(ends[systems.start]), int(ends[systems.stop]))
    part = {"systems": systems, "particles": atoms}
    return Recording(
        path, _streams(kind), _constants(loaded, counts), _about(loaded), segments, part
    )


def _streams(kind: Kind) -> dict[str, dict[str, Column]]:
    counts = kind.loaded.counts
    rows = {"systems": len(counts), "particles": int(counts.sum())}
    common = {"step": Column((), "int64")}
    if kind.loaded.time(1) is not None:
        common["time"] = Column((), "float64", "fs")

    def of(columns: Mapping[str, Quantity], units: UnitSystem) -> dict[str, Column]:
        return common | {
            name: Column((rows[q.of], *q.shape), q.dtype, units.label(q.unit), q.of)
            for name, q in columns.items()
        }

    thermo = of(kind.THERMO, kind.loaded.units)
    return {"frames": of(kind.frame_columns, UnitSystem()), "thermo": thermo}


def _constants(loaded: Loaded, counts: np.ndarray) -> dict[str, dict[str, Any]]:
    structures = loaded.structures
    conditions = map(loaded.asked, loaded.systems)
    wanted = [(w.temperature, w.pressure) for w in conditions]
    asked = np.array([[np.nan if x is None else x for x in row] for row in wanted])
    return {
        "particles": {
            "system": np.repeat(np.arange(len(structures), dtype=np.int32), counts),
            "numbers": np.concatenate([atoms.numbers for atoms in structures]).astype(np.int32),
            "masses": np.concatenate([atoms.get_masses() for atoms in structures]),
        },
        "systems": {
            "particles": counts,
            "names": np.array([name.encode() for name in loaded.names]),
            "periodic": np.array([atoms.pbc for atoms in structures]),
            "bounded": np.array([atoms.cell.array.any(axis=1) for atoms in structures]),
            "temperature": asked[:, 0] / loaded.units.size("K"),
            "pressure": asked[:, 1] / loaded.units.size("bar"),
        },
    }


def _about(loaded: Loaded) -> dict[str, Any]:
    stages = loaded.stages
    times = [stage.method.time(1) for stage in stages]
    known = not loaded.units.reduced and None not in times
    return {
        "title": loaded.config.title,
        "equilibration": loaded.production.first,
        "stages": [stage.name for stage in stages],
        "first": [stage.first for stage in stages],
        **({"time_step": times[0] if len(set(times)) == 1 else times} if known else {}),
    }


def appending(
    recording: Recording,
    thermo: Mapping[str, np.ndarray],
    frames: Mapping[str, np.ndarray],
    time_of: Callable[[Any], Any],
) -> Callable[[], None]:
    """Work for the background: rows as they stand on disk."""

    def append() -> None:
        for stream, rows in (("thermo", thermo), ("frames", frames)):
            if len(rows.get("step", ())):
                time = time_of(rows["step"])
                recording.append(stream, {**rows} if time is None else {**rows, "time": time})

    return append
