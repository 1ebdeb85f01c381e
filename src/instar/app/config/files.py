"""Structures from files: patterns such as ``mofs/*.cif``, one frame or many, databases of ASE."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ase import Atoms

from instar.app.config.patterns import PatternError, is_pattern, matching
from instar.app.config.structure_files import (
    StructureFileError,
    check_size,
    first_line,
    read_structure,
)

__all__ = ["Frame", "Inputs", "UnmadeStructureError", "frames_key", "frames_of", "sorted_naturally"]

type Inputs = Mapping[str, Sequence[Atoms]]
"""Structures that were given as objects, by the file that a run's folder has them in."""

_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?")


class UnmadeStructureError(ValueError):
    """A structure that can't be made."""


class Frame(NamedTuple):
    """A structure from a file, and the name that it has from there; empty if it has none."""

    atoms: Atoms
    name: str


def frames_key(value: Any) -> int | str:
    """The key ``frames``: a number, ``all``, or a slice such as "0:100:10"."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text == "all":
        return ":"
    if (match := _SLICE.fullmatch(text)) is not None and match[3] not in ("0", "-0"):
        return text
    raise ValueError(
        f"{value!r} names no frames; write a number (-1 is the last), all, or a slice: '0:100:10'"
    )


def frames_of(file: str, frames: int | str, folder: Path, inputs: Inputs) -> list[Frame]:
    """The structures of a file, or of all files of a pattern; looked for from ``folder``."""
    if file in inputs:
        return [Frame(atoms.copy(), _own_name(atoms)) for atoms in inputs[file]]
    return [frame for path in _paths(file, folder) for frame in _read(path, frames)]


def sorted_naturally(names: Sequence[str]) -> list[str]:
    """Text in the order that people expect: 2 before 10."""
    return sorted(
        names,
        key=lambda name: [(int(p), "") if p.isdecimal() else (-1, p) for p in _PARTS.split(name)],
    )


_PARTS = re.compile(r"(\d+)")


def _paths(file: str, folder: Path) -> list[Path]:
    path = folder / file
    try:
        if path.is_file():
            return [path]
    except OSError as error:  # a name that is too long
        text = f"{file[:40]}… can't be read: {error.strerror}"
        raise UnmadeStructureError(text) from error
    if not is_pattern(file):
        raise UnmadeStructureError(f"there is no file {path}")
    try:
        found = matching(file, folder)
    except PatternError as error:
        raise UnmadeStructureError(f"{file} {error}") from error
    paths = [folder / name for name in sorted_naturally(found) if (folder / name).is_file()]
    if not paths:
        raise UnmadeStructureError(f"no file matches {file}, looked for in {folder.resolve()}")
    return paths


def _read(path: Path, frames: int | str) -> list[Frame]:
    """Frames of one file; each has its number in its name where there are several."""
    try:
        numbered = _numbered(path, frames)
    except StructureFileError as error:
        raise UnmadeStructureError(str(error)) from error
    if not numbered:
        raise UnmadeStructureError(f"{path} has no frames {frames}")
    for _, atoms in numbered:
        _check_occupied(path, atoms)
    if any(len(atoms) == 0 for _, atoms in numbered):
        raise UnmadeStructureError(f"{path} has no atoms")
    several = len(numbered) > 1
    return [
        Frame(atoms, _own_name(atoms) or (f"{path.stem}-{number}" if several else path.stem))
        for number, atoms in numbered
    ]


def _check_occupied(path: Path, atoms: Atoms) -> None:
    """Refuse sites that are occupied in part, or by several elements: ASE puts one atom there."""
    sites = atoms.info.get("occupancy")
    for site in sites.values() if isinstance(sites, dict) else ():
        if isinstance(site, dict) and list(site.values()) != [1.0]:
            shares = ", ".join(f"{share:g} {element}" for element, share in site.items())
            raise UnmadeStructureError(
                f"{path} has a site that is occupied by {shares}; write a structure in which each "
                "atom is there or not"
            )


def _own_name(atoms: Atoms) -> str:
    """The name that a structure brings along."""
    name = atoms.info.get("name", "")
    return name if isinstance(name, str) else ""


def _numbered(path: Path, frames: int | str) -> list[tuple[int, Atoms]]:
    """Frames with their numbers, counted from 0."""
    is_database = path.suffix == ".db"
    if not is_database and frames == -1:  # as a file with one frame is read, of which most are
        return [(-1, read_structure(path, -1))]
    found = _rows(path) if is_database else read_structure(path, ":")
    if not found:
        raise UnmadeStructureError(f"{path} has no structures")
    numbers = range(len(found))
    if isinstance(frames, str):
        return [(number, found[number]) for number in numbers[_slice(frames)]]
    if not -len(found) <= frames < len(found):
        raise UnmadeStructureError(f"{path} has {len(found)} frames; there is no frame {frames}")
    return [(numbers[frames], found[frames])]


def _slice(text: str) -> slice:
    return slice(*(int(part) if part else None for part in text.split(":")))


def _rows(path: Path) -> list[Atoms]:
    """All structures of a database, in the order of their rows."""
    import ase.db

    check_size(path)
    try:
        _check_database(path)
        database: Any = ase.db.connect(str(path.absolute()), type="db", use_lock_file=False)
        with database:
            return [row.toatoms() for row in database.select()]
    except UnmadeStructureError:
        raise
    except Exception as error:  # what is no database raises anything
        raise StructureFileError(f"{path} can't be read: {first_line(error)}") from error


def _check_database(path: Path) -> None:
    """Refuse a database of something else: ASE would make tables of its own in it."""
    opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with contextlib.closing(opened) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE name = 'systems'")
        if tables.fetchone() is None:
            raise UnmadeStructureError(f"{path} is not a database of structures as ASE writes them")
