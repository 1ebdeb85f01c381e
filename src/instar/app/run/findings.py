"""What observers of a run have found, on disk: one file per batch of systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from instar.app.config.text import wrong_text
from instar.app.config.units import UnitSystem
from instar.observables import Curve, Finding, Value
from instar.storage import (
    StorageError,
    packed_arrays,
    read_whole,
    unpacked_arrays,
    write_atomically,
)

__all__ = ["in_units", "read_findings", "remove_findings", "write_findings"]

_VERSION = 1
_KINDS = {"curves": (Curve, ("x", "y")), "values": (Value, ("value", "error"))}


def write_findings(folder: Path, systems: range, found: Mapping[str, Finding]) -> None:
    """Write what was found in some systems."""
    if not found:
        return
    arrays: dict[str, np.ndarray] = {}
    about: dict[str, Any] = {}
    for title, finding in found.items():
        parts = [(kind, *item) for kind in _KINDS for item in getattr(finding, kind).items()]
        for kind, name, one in parts:
            key, fields = str(len(about)), _KINDS[kind][1]
            arrays |= {f"{key}/{field}": getattr(one, field) for field in fields}
            text = {k: v for k, v in vars(one).items() if k not in fields}
            about[key] = {"of": title, "kind": kind, "name": name, "text": text}
    folder.mkdir(exist_ok=True)
    meta = {"version": _VERSION, "systems": [systems.start, systems.stop], "about": about}
    write_atomically(_path(folder, systems.start), packed_arrays(arrays, meta))


def in_units(found: Finding, system: UnitSystem) -> Finding:
    """What was found in the units that it is shown in, in double precision."""
    parts: dict[str, Any] = {
        kind: {name: _in_units(one, system) for name, one in getattr(found, kind).items()}
        for kind in _KINDS
    }
    return Finding(**parts)


def _in_units(found: Curve | Value, system: UnitSystem) -> Curve | Value:
    if isinstance(found, Curve):
        units = {"x": found.x_unit, "y": found.y_unit}
        labels = {"x_unit": system.label(found.x_unit), "y_unit": system.label(found.y_unit)}
    else:
        units = {"value": found.unit, "error": found.unit}
        labels = {"unit": system.label(found.unit)}
    scaled = {
        name: np.asarray(getattr(found, name), np.float64) / system.size(unit)
        for name, unit in units.items()
    }
    return dataclasses.replace(found, **scaled, **labels)


def read_findings(folder: Path, systems: int) -> dict[str, Finding]:
    """What was found in all systems so far, in the units that it is shown in; NaN elsewhere."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.npz")):
        arrays, meta = _read(path)
        try:
            _put(found, arrays, meta, systems)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise StorageError(
                f"{path} is damaged: what was found does not fit together ({error})."
            ) from error
    return {title: Finding(**parts) for title, parts in found.items()}


def _put(
    found: dict[str, dict[str, dict[str, Any]]],
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    systems: int,
) -> None:
    """What one batch has found, at the places of its systems."""
    first, last = (range(systems + 1)[end] for end in meta["systems"])
    if len(meta["about"]) > _MOST:
        raise ValueError(f"there are {len(meta['about'])} of them, and {_MOST} at most")
    for key, about in meta["about"].items():
        kind, fields = _KINDS[about["kind"]]
        _check_words(about["of"], about["name"], *about["text"].values())
        new = {field: arrays[f"{key}/{field}"] for field in fields}
        _check_rows(about, new, last - first)
        of = found.setdefault(str(about["of"]), {}).setdefault(about["kind"], {})
        if about["name"] not in of:
            empty = {f: np.full((systems, *a.shape[1:]), np.nan) for f, a in new.items()}
            of[about["name"]] = kind(**empty, **about["text"])
        for field, array in new.items():
            getattr(of[about["name"]], field)[first:last] = array


_MOST, _LONGEST = 1000, 200
"""Curves and values of a file, and characters of their names."""


def _check_words(*words: Any) -> None:
    for word in words:
        if not isinstance(word, str) or len(word) > _LONGEST or wrong_text(word):
            raise ValueError(f"{word!r:.40} is not a name or a unit")


def _check_rows(about: Mapping[str, Any], new: Mapping[str, np.ndarray], rows: int) -> None:
    """Numbers: a row for each system of curves, one for each of values."""
    (shape, *others) = {array.shape for array in new.values()}
    flat = about["kind"] == "values"
    if others or shape[:1] != (rows,) or len(shape) != (1 if flat else 2):
        raise ValueError(f"{about['name']} does not have a row for each system")
    if any(array.dtype.kind not in "fiu" for array in new.values()):
        raise ValueError(f"{about['name']} is not made of numbers")


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        arrays, meta = unpacked_arrays(read_whole(path))
    except (OSError, StorageError) as error:
        raise StorageError(f"{path} can't be read: {error}.") from error
    if meta.get("version") != _VERSION:
        raise StorageError(
            f"{path} is of version {meta.get('version')}; this instar reads version {_VERSION}."
        )
    return arrays, meta


def remove_findings(folder: Path, first: int) -> None:
    """Forget what was found in the batch that begins with this system."""
    _path(folder, first).unlink(missing_ok=True)


def _path(folder: Path, first: int) -> Path:
    return folder / f"{first:09}.npz"
