"""What a run writes down: streams of rows, constants, and rows as they stand on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from instar.app.config import Loaded
from instar.app.config.units import parse_unit
from instar.app.run.recorder import THERMO
from instar.storage import Column, Recording

__all__ = ["appending", "recording_of"]

FEMTOSECOND = parse_unit("fs")[0]


def recording_of(path: Any, loaded: Loaded, segments: int, systems: range) -> Recording:
    """The recording of a run, which goes on with rows of these systems."""
    counts = np.array([len(atoms) for atoms in loaded.structures])
    ends = np.concatenate([[0], np.cumsum(counts)])
    atoms = range(int(ends[systems.start]), int(ends[systems.stop]))
    part = {"systems": systems, "particles": atoms}
    return Recording(
        path, _streams(loaded), _constants(loaded, counts), _about(loaded), segments, part
    )


def _streams(loaded: Loaded) -> dict[str, dict[str, Column]]:
    systems, particles = len(loaded.structures), sum(map(len, loaded.structures))
    common = {"step": Column((), "int64"), "time": Column((), "float64", "fs")}
    vectors = {"positions": "angstrom"}
    if loaded.config.output.velocities:
        vectors["velocities"] = "angstrom/fs"
    frames = {
        **common,
        "cell": Column((systems, 3, 3), "float64", "angstrom", "systems"),
        **{name: Column((particles, 3), "float32", u, "particles") for name, u in vectors.items()},
    }
    thermo = {name: Column((systems,), "float64", u, "systems") for name, u in THERMO.items()}
    return {"frames": frames, "thermo": {**common, **thermo}}


def _constants(loaded: Loaded, counts: np.ndarray) -> dict[str, dict[str, Any]]:
    structures = loaded.structures
    wanted = [(w.temperature, w.pressure) for w in loaded.systems]
    asked = np.array([[np.nan if x is None else x for x in row] for row in wanted])
    return {
        "particles": {
            "system": np.repeat(np.arange(len(structures), dtype=np.int32), counts),
            "numbers": np.concatenate([atoms.numbers for atoms in structures]).astype(np.int32),
            "masses": np.concatenate([atoms.get_masses() for atoms in structures]),
        },
        "systems": {
            "particles": counts,
            "periodic": np.array([atoms.pbc for atoms in structures]),
            "temperature": asked[:, 0],
            "pressure": asked[:, 1] / parse_unit("bar")[0],
        },
    }


def _about(loaded: Loaded) -> dict[str, Any]:
    return {
        "title": loaded.config.title,
        "time_step": loaded.config.method.time(1),
        "equilibration": loaded.config.run.equilibration,
    }


def appending(
    recording: Recording,
    thermo: Mapping[str, np.ndarray],
    frames: Mapping[str, np.ndarray],
    loaded: Loaded,
) -> Callable[[], None]:
    """Work for the background: rows as they stand on disk."""

    def append() -> None:
        for stream, rows in (("thermo", thermo), ("frames", frames)):
            if len(rows["step"]):
                timed = {**rows, "time": loaded.config.method.time(rows["step"])}
                if "velocities" in timed:
                    timed["velocities"] = timed["velocities"] * FEMTOSECOND
                recording.append(stream, timed)

    return append
