"""What an HDF5 file may hold to be read: numbers of its own, as many as it really has.

HDF5 can lead anywhere: links, datasets whose bytes are in other files, views of other files. And a
dataset may claim any size without a byte on disk. A recording needs none of it but views of the
segments in its own folder, so that is all that is allowed; segments are looked at as the main file
is, and may have no views either.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from instar.storage.files import StorageError

__all__ = ["RecordingError", "check_main", "check_segment"]

_SEGMENT = re.compile(r"\d{5,9}\.h5")
_DEEPEST = 4
_PACKED = 1100
"""Bytes that one byte on disk can stand for: deflate packs 1032 to 1 at most."""

_ALWAYS = 2**24
"""Bytes that are never too many."""

_WIDEST = 16
"""Numbers of each particle or system in one row of a column."""


class RecordingError(StorageError):
    """A recording that can't be read, or can't be written."""


def check_main(path: Path, file: Any) -> None:
    """Refuse a main file that leads elsewhere, or claims more than it and its segments hold."""
    if path.resolve().parent != path.parent.resolve():
        raise RecordingError(f"{path} is a link to another folder; it is not read.")
    datasets = list(_datasets(path, file, 0))
    views = [one for one in datasets if one.is_virtual]
    own = [one for one in datasets if not one.is_virtual]
    for one in own:
        _check_size(path, one)
    longest = max((one.shape[0] for one in own if one.shape), default=0)
    for one in views:
        _check_view(path, one, longest)


def check_segment(path: Path) -> None:
    """Refuse a segment that leads elsewhere, or claims more than it holds."""
    if path.resolve().parent != path.parent.parent.resolve() / path.parent.name:
        raise RecordingError(f"{path} is a link to another folder; it is not read.")
    try:
        about = path.stat()
    except OSError as error:
        raise RecordingError(f"{path} can't be read: {error.strerror}.") from error
    _check_segment(path, (about.st_mtime_ns, about.st_size, about.st_ino))


@functools.lru_cache(4096)
def _check_segment(path: Path, stamp: tuple[int, ...]) -> None:
    """Once for each state of a file: a recording is opened often."""
    del stamp
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise RecordingError(f"{path} can't be read as HDF5: {error}.") from error
    with file:
        for one in _datasets(path, file, 0):
            if one.is_virtual:
                raise RecordingError(
                    f"{path} shows another file at {one.name}; a segment is not read beyond itself."
                )
            _check_size(path, one)


def _kinds(name: str) -> str:
    """Kinds of numbers; names are text of a fixed length, as any length is kept elsewhere."""
    return "S" if name == "names" else "fiub"


def _datasets(path: Path, group: Any, depth: int) -> Iterator[Any]:
    """All datasets; none that a link leads to, or whose bytes are elsewhere."""
    if depth > _DEEPEST:
        raise RecordingError(f"{path} has groups within groups at {group.name}; it is not read.")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise RecordingError(
                f"{path} has a link at {group.name}/{name}; links are not followed."
            )
        item = group[name]
        if isinstance(item, h5py.Group):
            yield from _datasets(path, item, depth + 1)
            continue
        if not isinstance(item, h5py.Dataset) or item.dtype.kind not in _kinds(name):
            raise RecordingError(f"{path} has something else than numbers at {group.name}/{name}.")
        if item.shape is None:
            raise RecordingError(f"{path} has nothing at {group.name}/{name}.")
        if item.external:
            raise RecordingError(f"{path} keeps {item.name} in another file; it is not read.")
        yield item


def _check_size(path: Path, dataset: Any) -> None:
    """No more numbers than the bytes on disk can stand for."""
    held = dataset.id.get_storage_size() * (_PACKED if dataset.compression else 1)
    if dataset.nbytes > max(held, 1) and not (held and dataset.nbytes <= _ALWAYS):
        raise RecordingError(
            f"{path} claims {dataset.nbytes} bytes at {dataset.name}, and holds "
            f"{dataset.id.get_storage_size()}; it is not read."
        )


def _check_view(path: Path, dataset: Any, longest: int) -> None:
    """Views of segments in the folder beside the file, not larger than what they show."""
    rows, width = 0, math.prod(dataset.shape[1:])
    widest = max(1, longest) * _WIDEST
    for source in dataset.virtual_sources():
        segment = _segment(path, source.file_name)
        check_segment(segment)
        shape = _shape(segment, source.dset_name)
        rows += shape[0] if shape else 0
        widest = max(widest, math.prod(shape[1:]))
    if dataset.nbytes > _ALWAYS and (dataset.shape[0] > rows or width > widest):
        raise RecordingError(
            f"{path} claims {dataset.shape} numbers at {dataset.name}, and its segments hold "
            f"{rows} rows; it is not read."
        )


def _segment(path: Path, name: str) -> Path:
    place = Path(name)
    if place.parts[:-1] != (path.stem,) or not _SEGMENT.fullmatch(place.name):
        raise RecordingError(
            f"{path} shows {name}, which is outside of its folder; it is not read."
        )
    if not (path.parent / place).is_file():
        raise RecordingError(
            f"{path} shows {name}, which is not there.\n"
            f"Keep the folder {path.stem} beside the file."
        )
    return path.parent / place


def _shape(segment: Path, name: str) -> tuple[int, ...]:
    with h5py.File(segment, "r") as file:
        found = file.get(name)
        if not isinstance(found, h5py.Dataset):
            raise RecordingError(f"{segment} has no {name}, which is shown.")
        return found.shape
