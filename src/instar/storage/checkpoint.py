"""Checkpoints: the arrays of a state, from which a run can go on.

A file is one line with the name and version of the format, one with the SHA-256 of the rest, and
an archive of arrays as NumPy writes them (``.npz``), among them one with JSON. It is written beside
its place and moved there when it is on disk. The last two are kept, in case one is damaged, and
those that a run goes on from when it is extended.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from instar.storage.arrays import packed_arrays, unpacked_arrays
from instar.storage.files import StorageError, read_whole, write_atomically

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "checkpoint_path",
    "newest_checkpoint",
    "read_checkpoint",
    "write_checkpoint",
]

_FORMAT = b"instar checkpoint "
_VERSION = b"3"
_NAME = re.compile(r"(\d{12})\.checkpoint")
KEPT = 2


class CheckpointError(StorageError):
    """A checkpoint that is damaged, of another version, or not there."""


class Checkpoint(NamedTuple):
    """Arrays by name, and what else is to be known."""

    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]


def checkpoint_path(folder: Path, number: int) -> Path:
    """Where the checkpoint with this number is."""
    return folder / f"{number:012}.checkpoint"


def write_checkpoint(
    folder: Path,
    number: int,
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    keep: Container[int] = (),
) -> Path:
    """Write a checkpoint, then remove all but the newest two and those with numbers to ``keep``.

    Larger numbers are newer.
    """
    payload = packed_arrays(arrays, meta)
    digest = hashlib.sha256(payload).hexdigest().encode()
    path = checkpoint_path(folder, number)
    write_atomically(path, _FORMAT + _VERSION + b"\n" + digest + b"\n" + payload)
    for old in _listed(folder)[KEPT:]:
        if int(old.stem) not in keep:
            old.unlink(missing_ok=True)
    return path


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that is whole; else an error that says what is wrong with it."""
    if path.is_fifo():  # nobody may ever write to it
        raise CheckpointError(f"{path} can't be read: it is a pipe, not a file.")
    try:
        content = read_whole(path)
    except OSError as error:
        raise CheckpointError(f"{path} can't be read: {error.strerror}.") from error
    except StorageError as error:
        raise CheckpointError(f"{path} can't be read: {error}.") from error
    except MemoryError as error:
        raise CheckpointError(f"{path} is larger than the memory.") from error
    first, _, rest = content.partition(b"\n")
    if not first.startswith(_FORMAT):
        raise CheckpointError(f"{path} is not a checkpoint, or its first line is damaged.")
    version = first.removeprefix(_FORMAT)
    if version != _VERSION:
        raise CheckpointError(
            f"{path} is a checkpoint of version {version.decode(errors='replace')}; this instar "
            f"reads version {_VERSION.decode()}."
        )
    digest, _, payload = rest.partition(b"\n")
    if hashlib.sha256(payload).hexdigest().encode() != digest:
        raise CheckpointError(f"{path} is damaged: its checksum is another one.")
    try:
        return Checkpoint(*unpacked_arrays(payload))
    except StorageError as error:
        raise CheckpointError(f"{path} is damaged: {error}.") from error


def newest_checkpoint(folder: Path) -> tuple[Checkpoint, list[str]]:
    """The newest checkpoint that is whole, and what is wrong with newer ones."""
    problems = []
    for path in _listed(folder):
        try:
            return read_checkpoint(path), problems
        except CheckpointError as error:
            problems.append(str(error))
    raise CheckpointError(
        "\n".join([f"There is no checkpoint to go on from in {folder}.", *problems])
    )


def _listed(folder: Path) -> list[Path]:
    """Checkpoints, the newest first."""
    return sorted((p for p in folder.glob("*.checkpoint") if _NAME.fullmatch(p.name)), reverse=True)
