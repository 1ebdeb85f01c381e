"""Whether the tables of a recording fit together: it may come from anywhere."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

__all__ = ["inconsistency"]


def inconsistency(file: Any) -> str | None:
    """What is wrong with the tables of a recording, in words; None if nothing is."""
    for group in ("particles", "systems", "frames", "thermo"):
        if not isinstance(file.get(group), h5py.Group):
            return f"it has no group {group}"
    particles, systems = (_length(file, n) for n in ("particles/system", "systems/periodic"))
    frames, rows = (_length(file, name) for name in ("frames/step", "thermo/step"))
    wanted = {
        "particles/system": (particles,),
        "particles/numbers": (particles,),
        "particles/masses": (particles,),
        "systems/periodic": (systems, 3),
        "systems/bounded": (systems, 3),
        "frames/step": (frames,),
        "frames/time": (frames,),
        "frames/cell": (frames, systems, 3, 3),
        "frames/positions": (frames, particles, 3),
        "frames/velocities": (frames, particles, 3),
        "frames/forces": (frames, particles, 3),
        "frames/energy": (frames, systems),
        "frames/stress": (frames, systems, 3, 3),
        "thermo/step": (rows,),
        "thermo/time": (rows,),
    }
    wanted |= {
        f"thermo/{name}": (rows, systems) for name in file["thermo"] if name not in ("step", "time")
    }
    return _wrong_shape(file, wanted) or _wrong_rows(file, systems)


_OPTIONAL = {
    "systems/bounded",
    "frames/time",
    "frames/velocities",
    "frames/forces",
    "frames/energy",
    "frames/stress",
    "thermo/time",
}


def _length(file: Any, name: str) -> int:
    found = file.get(name)
    return found.shape[0] if isinstance(found, h5py.Dataset) and found.shape else 0


def _wrong_shape(file: Any, wanted: dict[str, tuple[int, ...]]) -> str | None:
    for name, shape in wanted.items():
        found = file.get(name)
        if found is None and name in _OPTIONAL:
            continue
        if not isinstance(found, h5py.Dataset):
            return f"it has no table {name}"
        if found.shape != shape:
            return f"{name} has the shape {found.shape} where {shape} was expected"
    return None


def _wrong_rows(file: Any, systems: int) -> str | None:
    system, numbers = file["particles/system"][:], file["particles/numbers"][:]
    if system.dtype.kind not in "iu" or numbers.dtype.kind not in "iu":
        return "systems and numbers of particles are not whole numbers"
    if np.any(system < 0) or np.any(system >= systems) or np.any(np.diff(system) < 0):
        return "particles/system names systems that do not exist, or not in their order"
    if np.any(numbers < 0) or np.any(numbers > 118):
        return "particles/numbers holds numbers that are not atomic numbers"
    return None
