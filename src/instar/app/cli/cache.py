"""`ProgramCache`: compiled programs on disk, so that a second run does not compile them again.

The folder is the user's own, bounded in size, and any number of processes may use it at once: a
file appears whole or not at all, and one that another process has removed is compiled again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

__all__ = ["MOST_BYTES", "ProgramCache", "cache_folder"]

MOST_BYTES = 2**30
"""Size of the folder beyond which programs that were not used for longest are removed."""

_KEPT = 0.8
"""The part of it that is left then: looking through the folder takes time."""


def cache_folder() -> Path:
    """Where programs of this user keep what can be made again, on this platform."""
    if sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "instar" / "programs"


class ProgramCache:
    """Programs by their keys; nothing that goes wrong with the folder stops a run."""

    def __init__(self, path: Path, most: int = MOST_BYTES) -> None:
        self._path, self._most = path, most
        self._held: int | None = None
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """The program with this key, which counts as used now; None if there is none."""
        file = self._file(key)
        try:
            value = file.read_bytes()
        except OSError:
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return value

    def put(self, key: str, value: bytes) -> None:
        """Keep a program; the ones that were not used for longest make room for it."""
        if len(value) > self._most * _KEPT:
            return
        part = self._path / f"{key}.{os.getpid()}.{threading.get_ident()}.part"
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            part.write_bytes(value)
            part.replace(self._file(key))
        except OSError:  # a full disk, or a folder that can't be written
            with contextlib.suppress(OSError):
                part.unlink()
            return
        with self._lock:
            self._held = self.size() if self._held is None else self._held + len(value)
            if self._held > self._most:
                self._held = self._shrunk()

    def size(self) -> int:
        """Bytes of all files in the folder."""
        return sum(size for _, size, _ in self._files())

    def _shrunk(self) -> int:
        """Remove what was not used for longest; the bytes that are left."""
        files = sorted(self._files())
        held = sum(size for _, size, _ in files)
        for _, size, file in files:
            if held <= self._most * _KEPT:
                break
            with contextlib.suppress(OSError):
                os.unlink(file)
            held -= size
        return held

    def _files(self) -> list[tuple[float, int, str]]:
        """When each file was used, its size, and its path."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self._path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # another process has just removed it
                    about = entry.stat()
                    found.append((about.st_mtime, about.st_size, entry.path))
        return found

    def _file(self, key: str) -> Path:
        return self._path / f"{key}.program"
