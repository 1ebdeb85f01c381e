"""Names of systems: unique, and as names of files."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence

__all__ = ["file_name", "unique_names"]

_LONGEST = 120
"""Characters of a file's name: file systems take 255 bytes, and an ending comes behind."""


def file_name(name: str) -> str:
    """A name as that of a file: letters, digits, ``.``, ``_`` and ``-``; never empty or hidden."""
    return re.sub(r"[^\w.+-]+", "-", name)[:_LONGEST].strip("-.") or "system"


def unique_names(names: Sequence[str]) -> list[str]:
    """Names of systems, in their order; those that several have are numbered from 0.

    A system without a name is called by its number: system-7. No two names are that of one file,
    on disks that do not tell upper from lower case either.
    """
    digits = len(str(max(0, len(names) - 1)))
    given = [name or f"system-{number:0{digits}}" for number, name in enumerate(names)]
    keys = {name: file_name(name).casefold() for name in dict.fromkeys(given)}
    counts = collections.Counter(keys[name] for name in given)
    taken = {key for key, count in counts.items() if count == 1}
    seen: collections.Counter[str] = collections.Counter()
    return [
        name if counts[keys[name]] == 1 else _numbered(name, keys[name], counts, seen, taken)
        for name in given
    ]


def _numbered(
    name: str,
    key: str,
    counts: collections.Counter[str],
    seen: collections.Counter[str],
    taken: set[str],
) -> str:
    """The name with the next number behind it that nobody else has."""
    digits = len(str(counts[key] - 1))
    while True:
        found = f"{name[: _LONGEST - 20]}-{seen[key]:0{digits}}"  # whose end is never cut off
        seen[key] += 1
        if file_name(found).casefold() not in taken:
            taken.add(file_name(found).casefold())
            return found
