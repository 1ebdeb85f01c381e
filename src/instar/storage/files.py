"""Files that are there wholly or not at all.

StorageError
├── CheckpointError    a checkpoint that can't be trusted
└── RecordingError     a recording that can't be read or written
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["StorageError", "synced", "write_atomically"]


class StorageError(RuntimeError):
    """Something on disk that can't be read, or can't be written."""


def write_atomically(path: Path, content: bytes | Callable[[Path], None]) -> None:
    """Write a file so that its old content is there until the new one is, come what may.

    ``content`` is what it holds, or writes it to the path that it is given.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        if callable(content):
            content(beside)
        else:
            beside.write_bytes(content)
        synced(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    synced(path.parent)


def synced(path: Path) -> None:
    """Make sure that a file, or the names in a folder, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
