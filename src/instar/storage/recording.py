"""`Recording`: rows of numbers that a run gives, in HDF5, safe at any moment.

Rows come in streams (frames, thermo), each with columns of a fixed shape. They are written to a
segment, a file of its own; `commit` closes it for good, and puts a small main file in place whose
datasets are views (virtual datasets, with relative paths) of all closed segments as one. So the
main file can be opened at any moment, also while the run goes on, and a run that is killed loses at
most the segment that was open, which is after its last checkpoint.

    trajectory.h5             constants, and streams as views of
    trajectory/00000.h5       closed segments
    trajectory/00001.h5

What is computed in batches is written in batches: a segment may hold a part of each row, some of
the particles. The views put the parts beside each other; what no segment holds yet reads as NaN.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from instar.storage.files import PatientFile, StorageError, synced, write_atomically
from instar.storage.within import RecordingError, check_main, check_segment

__all__ = ["Column", "Recording", "RecordingError", "open_recording", "recorded_segments"]

_VERSION = 1
"""Of the format of the main file, and of segments; those without a version are of version 1."""

_CHUNK_BYTES = 2**20
"""About what one chunk holds: compressed and read as one."""


@dataclasses.dataclass(frozen=True)
class Column:
    """The shape of one row of a column, its type on disk, its unit.

    ``axis`` names the first axis of a row if it can be cut into parts: "particles".
    """

    shape: tuple[int, ...]
    dtype: str
    unit: str = ""
    axis: str = ""

    def within(self, part: Part) -> Column:
        """The column of a part."""
        if self.axis not in part:
            return self
        return dataclasses.replace(self, shape=(len(part[self.axis]), *self.shape[1:]))

    @property
    def rows_per_chunk(self) -> int:
        """Rows that make a chunk of about a megabyte."""
        row = max(1, math.prod(self.shape) * np.dtype(self.dtype).itemsize)
        return max(1, min(1024, _CHUNK_BYTES // row))


Streams = Mapping[str, Mapping[str, Column]]
Part = Mapping[str, range]
"""What a segment holds of each axis; all of those that are not named."""


@dataclasses.dataclass(frozen=True)
class _Segment:
    """What a closed segment holds: rows of each stream, of a part of each axis."""

    rows: Mapping[str, int]
    part: Part


class Recording:
    """A recording that is being written.

    ``streams`` are those of all parts; rows that are appended are those of ``part``. ``constants``
    (columns by group) and ``about`` are written once, into the main file. ``segments`` says how
    many of those that are there to keep: all others are removed.
    """

    def __init__(
        self,
        path: Path,
        streams: Streams,
        constants: Mapping[str, Mapping[str, Any]],
        about: Mapping[str, str],
        segments: int = 0,
        part: Part | None = None,
    ) -> None:
        self.path, self.folder, self._part = path, path.with_suffix(""), part or {}
        self._all, self._constants, self._about = streams, constants, about
        self._streams: Streams = {
            stream: {name: column.within(self._part) for name, column in columns.items()}
            for stream, columns in streams.items()
        }
        self._open: _OpenSegment | None = None
        self._pending: dict[str, list[Mapping[str, np.ndarray]]] = {name: [] for name in streams}
        self.folder.mkdir(exist_ok=True)
        if segments and not self._segment(segments - 1).is_file():
            raise RecordingError(f"{self._segment(segments - 1)} is not there, and is needed.")
        kept = [self._segment(number) for number in range(segments)]
        self._closed = [_segment_at(segment, streams) for segment in kept]
        self._write_main()
        for old in self.folder.iterdir():
            if old not in kept:
                old.unlink()

    @property
    def segments(self) -> int:
        """How many segments are closed."""
        return len(self._closed)

    def append(self, stream: str, rows: Mapping[str, np.ndarray]) -> None:
        """Add rows to a stream: arrays (rows, ...) for each of its columns."""
        self._pending[stream].append(rows)
        held = sum(len(next(iter(block.values()))) for block in self._pending[stream])
        columns = self._streams[stream].values()
        if held >= min(column.rows_per_chunk for column in columns):
            with _writing(self.folder):
                self._flush(stream, whole_chunks=True)

    def commit(self) -> None:
        """Close the segment, if there is anything in it: from now on its rows stay."""
        segment = self._segment(self.segments)
        with _writing(self.folder):
            for stream in self._streams:
                self._flush(stream, whole_chunks=False)
            if self._open is None:
                return
            opened, self._open = self._open, None
            opened.close()
            synced(segment)
        self._closed.append(_segment_at(segment, self._streams))
        self._write_main()

    def abandon(self) -> None:
        """Close without keeping what was not committed."""
        opened, self._open = self._open, None
        with contextlib.suppress(OSError, RuntimeError):  # of a disk that is full
            if opened is not None:
                opened.close()
        self._segment(self.segments).unlink(missing_ok=True)

    def _segment(self, number: int) -> Path:
        return self.folder / f"{number:05}.h5"

    def _flush(self, stream: str, whole_chunks: bool) -> None:
        blocks = self._pending[stream]
        if not blocks:
            return
        rows = {name: np.concatenate([b[name] for b in blocks]) for name in blocks[0]}
        count = len(next(iter(rows.values())))
        chunk = min(column.rows_per_chunk for column in self._streams[stream].values())
        written = count // chunk * chunk if whole_chunks else count
        self._write(stream, {name: values[:written] for name, values in rows.items()}, written)
        rest = {name: values[written:] for name, values in rows.items()}
        self._pending[stream] = [rest] if written < count else []

    def _write(self, stream: str, rows: Mapping[str, np.ndarray], count: int) -> None:
        if self._open is None:
            self._open = _new_segment(self._segment(self.segments), self._streams, self._part)
        for name in self._streams[stream]:
            dataset: Any = self._open.file[f"{stream}/{name}"]
            before = dataset.shape[0]
            dataset.resize(before + count, axis=0)
            dataset[before:] = rows[name]
        self._open.check()

    def _write_main(self) -> None:
        with _writing(self.path):
            write_atomically(self.path, self._main())

    def _main(self) -> bytes:
        content = io.BytesIO()  # HDF5 can't close a file that does not fit on the disk
        with h5py.File(content, "w") as file:
            file.attrs.update({"format": "instar recording", "version": _VERSION, **self._about})
            for group, columns in self._constants.items():
                for name, values in columns.items():
                    file.create_dataset(f"{group}/{name}", data=values)
            for stream, columns in self._all.items():
                file.create_group(stream, track_order=True)  # columns are read in their order
                for name, column in columns.items():
                    dataset = self._view(file, stream, name, column)
                    dataset.attrs["unit"] = column.unit
        return content.getvalue()

    def _view(self, file: h5py.File, stream: str, name: str, column: Column) -> h5py.Dataset:
        """A dataset that shows those of all segments as one; NaN where there is nothing yet."""
        dtype, made = np.dtype(column.dtype), self._rows_of_parts(stream)
        rows = max(made.values(), default=0)
        layout = h5py.VirtualLayout((rows, *column.shape), dtype)
        farthest = max(made, key=lambda part: made[part], default=None)
        first = dict.fromkeys(made, 0)
        for number, segment in enumerate(self._closed):
            part, count = _key(segment.part), segment.rows[stream]
            begin, end = first[part], first[part] + count
            first[part] = end
            if count == 0 or (not column.axis and part != farthest):
                continue
            here = column.within(segment.part)
            where = f"{self.folder.name}/{self._segment(number).name}"
            source = h5py.VirtualSource(where, f"{stream}/{name}", (count, *here.shape), dtype)
            if column.axis in segment.part:
                some = segment.part[column.axis]
                layout[begin:end, some.start : some.stop] = source
            else:
                layout[begin:end] = source
        missing = np.nan if dtype.kind == "f" else -1
        return file.create_virtual_dataset(f"{stream}/{name}", layout, fillvalue=missing)

    def _rows_of_parts(self, stream: str) -> dict[Any, int]:
        """How many rows there are of each part."""
        made: dict[Any, int] = {}
        for segment in self._closed:
            part = _key(segment.part)
            made[part] = made.get(part, 0) + segment.rows[stream]
        return made


def _key(part: Part) -> tuple[Any, ...]:
    return tuple(sorted((axis, some.start, some.stop) for axis, some in part.items()))


class _OpenSegment:
    """A segment that is being written."""

    def __init__(self, path: Path) -> None:
        self._sink = PatientFile(path)
        self.file = h5py.File(self._sink, "w")

    def check(self) -> None:
        """Raise what has gone wrong in writing."""
        if self._sink.error is not None:
            raise self._sink.error

    def close(self) -> None:
        """All is written, or an error says why not."""
        try:
            self.file.close()
        finally:
            self._sink.close()
        self.check()


def _new_segment(path: Path, streams: Streams, part: Part) -> _OpenSegment:
    opened = _OpenSegment(path)
    file = opened.file
    file.attrs["version"] = _VERSION
    for axis, some in part.items():
        file.attrs[axis] = [some.start, some.stop]
    for stream, columns in streams.items():
        for name, column in columns.items():
            file.create_dataset(
                f"{stream}/{name}",
                shape=(0, *column.shape),
                maxshape=(None, *column.shape),
                chunks=(column.rows_per_chunk, *(max(1, n) for n in column.shape)),
                dtype=column.dtype,
                compression="gzip",
                compression_opts=1,
                shuffle=True,
            )
    return opened


def _segment_at(path: Path, streams: Streams) -> _Segment:
    check_segment(path)
    with _opened(path) as file:
        counts = {}
        for stream, columns in streams.items():
            missing = [name for name in columns if f"{stream}/{name}" not in file]
            if missing:
                raise RecordingError(
                    f"{path} has no {stream}/{missing[0]}, which is asked for now."
                )
            lengths = {(file[f"{stream}/{name}"].shape or (-1,))[0] for name in columns}
            if len(lengths) > 1:
                raise RecordingError(f"{path} is damaged: columns of {stream} differ in length.")
            counts[stream] = lengths.pop()
        _check_version(path, file)
        ends = {axis: ends for axis, ends in file.attrs.items() if axis != "version"}
        return _Segment(counts, {axis: _range(path, axis, one) for axis, one in ends.items()})


def _check_version(path: Path, file: h5py.File) -> None:
    version = file.attrs.get("version", _VERSION)
    if version != _VERSION:
        raise RecordingError(
            f"{path} is a recording of version {version}; this instar reads {_VERSION}."
        )


def recorded_segments(path: Path) -> int:
    """How many closed segments the main file of a recording shows; none if it is not there."""
    if not path.is_file():
        return 0
    with open_recording(path) as file:
        datasets: list[Any] = []
        file.visititems(lambda _, item: datasets.append(item))
        return len(
            {
                source.file_name
                for one in datasets
                if isinstance(one, h5py.Dataset) and one.is_virtual
                for source in one.virtual_sources()
            }
        )


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """What goes wrong in writing, in one sentence; HDF5 has many of them."""
    try:
        yield
    except StorageError:
        raise
    except (OSError, RuntimeError) as error:
        told = re.search(r"errno = (\d+)", str(error))
        number = int(told[1]) if told else getattr(error, "errno", None)
        reason = os.strerror(number) if number else str(error).splitlines()[0]
        raise RecordingError(f"{path} can't be written: {reason}.") from error


def _range(path: Path, axis: str, ends: Any) -> range:
    """The part of an axis that a segment says it holds."""
    try:
        first, last = (int(end) for end in ends)
    except (TypeError, ValueError):
        first, last = 1, 0
    if not 0 <= first <= last:
        raise RecordingError(f"{path} is damaged: it holds no range of {axis}.")
    return range(first, last)


@contextlib.contextmanager
def open_recording(path: Path) -> Any:
    """The main file of a recording, for reading; all that it shows must be there.

    A file that points to places outside of its own folder is refused, and so is one that claims
    more numbers than there are: see `instar.storage.within`.
    """
    with _opened(path) as file:
        if file.attrs.get("format") != "instar recording":
            raise RecordingError(f"{path} is not a recording of instar.")
        _check_version(path, file)
        check_main(path, file)
        yield file


@contextlib.contextmanager
def _opened(path: Path) -> Any:
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise RecordingError(f"{path} can't be read as HDF5: {error}.") from error
    with file:
        try:
            yield file
        except (OSError, KeyError) as error:
            told = error.args[0] if error.args else type(error).__name__
            raise RecordingError(f"{path} is damaged: {told}.") from error
