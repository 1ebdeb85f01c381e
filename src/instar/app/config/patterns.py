"""Patterns of file names, such as ``mofs/**/*.cif``; how much is looked through is bounded."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

__all__ = ["PatternError", "is_pattern", "matching"]

_MOST = 100_000
"""Files and folders that are looked at: a few seconds on a local disk."""


class PatternError(ValueError):
    """A pattern with which too much would have to be looked through."""


def is_pattern(name: str) -> bool:
    """Whether a name has wildcards."""
    return glob.has_magic(name)


def matching(pattern: str, folder: Path) -> list[str]:
    """Names of files and folders that match, each once; they are relative if the pattern is.

    As in `glob`, ``**`` is any number of folders and hidden names have to be written out. ``**``
    does not follow links to folders.
    """
    return list(_Walk(folder).found("", _parts(pattern)))


def _parts(pattern: str) -> list[str]:
    """Its parts; several ``**`` in a row are one, and one at the end has files, too."""
    parts = [*PurePath(pattern).parts]
    if parts[-1:] == ["**"]:
        parts.append("*")
    return [
        part
        for part, after in zip(parts, [*parts[1:], ""], strict=True)
        if not part == after == "**"
    ]


class _Walk:
    """A look through folders that counts what it sees, and takes no way twice."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._seen = str(folder), 0
        self._taken: set[tuple[str, int]] = set()

    def found(self, base: str, parts: Sequence[str]) -> Iterator[str]:
        """Names that begin with ``base`` and continue as the parts of a pattern."""
        if (base, len(parts)) in self._taken:
            return
        self._taken.add((base, len(parts)))
        if not parts:
            yield base
            return
        first, *rest = parts
        if first == "**":
            for below in self._folders(base):
                yield from self.found(below, rest)
        elif is_pattern(first):
            for entry in self._entries(base):
                if _fits(entry.name, first) and (not rest or entry.is_dir()):
                    yield from self.found(os.path.join(base, entry.name), rest)
        elif os.path.lexists(os.path.join(self._folder, base, first)):
            yield from self.found(os.path.join(base, first), rest)

    def _folders(self, base: str) -> Iterator[str]:
        """The folder itself, and all below it."""
        waiting = [base]
        while waiting:
            yield (here := waiting.pop())
            for entry in self._entries(here):
                if _fits(entry.name, "*") and entry.is_dir(follow_symlinks=False):
                    waiting.append(os.path.join(here, entry.name))

    def _entries(self, base: str) -> list[os.DirEntry[str]]:
        """What is in a folder; nothing if it can't be read."""
        found: list[os.DirEntry[str]] = []
        with contextlib.suppress(OSError), os.scandir(os.path.join(self._folder, base)) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > _MOST:
                    raise PatternError(
                        f"would look through more than {_MOST} files and folders; make the "
                        "pattern narrower"
                    )
                found.append(entry)
        return found


def _fits(name: str, pattern: str) -> bool:
    """Whether a name matches; a hidden one only where the pattern begins with a point, too."""
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    return not is_hidden and fnmatch.fnmatch(name, pattern)
