"""Files that are there wholly or not at all.

StorageError
├── CheckpointError    a checkpoint that can't be trusted
└── RecordingError     a recording that can't be read or written
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PatientFile", "StorageError", "read_whole", "synced", "write_atomically"]


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


def read_whole(path: Path) -> bytes:
    """The content of a file that may come from anywhere, and of any size.

    A file of holes takes no room on disk; one that is larger than half of the memory is refused.
    """
    size, most = path.stat().st_size, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if size > most:
        raise StorageError(f"it has {size} bytes, more than half of the memory")
    return path.read_bytes()


def synced(path: Path) -> None:
    """Make sure that a file, or the names in a folder, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class PatientFile(io.FileIO):
    """A new file whose first failure is kept in ``error``, and whose writer is told of none.

    HDF5 can't close a file that it could not write to, and takes the process down in trying. So it
    is let to go on, and who gave it the file looks at ``error``.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "w+")
        self.error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """All of the bytes, or none if there was a failure before."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while len(rest) and self.error is None:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.error = error
        self.seek(len(rest), io.SEEK_CUR)
        return size

    def truncate(self, size: int | None = None, /) -> int:
        """Of this size, unless there was a failure before."""
        try:
            return super().truncate(size) if self.error is None else 0
        except OSError as error:
            self.error = error
            return 0
