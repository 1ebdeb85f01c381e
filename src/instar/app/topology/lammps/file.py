"""The text of a data file: counts and box of its header, and its sections line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from instar.app.topology.base import Place

__all__ = ["SECTIONS", "DataFile", "Line", "Section", "number", "read", "whole"]

_COUNTED = ("atom", "bond", "angle", "dihedral", "improper")
_COUNTS = {f"{name}s" for name in _COUNTED} | {f"{name} types" for name in _COUNTED}
_ROOM = {f"extra {name} per atom" for name in (*_COUNTED[1:], "special")}
_EDGES = {"xlo xhi": 2, "ylo yhi": 2, "zlo zhi": 2, "xy xz yz": 3}

SECTIONS = {
    "Masses": "atom types",
    "Atoms": "atoms",
    "Velocities": "atoms",
    **{f"{name.capitalize()}s": f"{name}s" for name in _COUNTED[1:]},
    "Pair Coeffs": "atom types",
    "PairIJ Coeffs": None,
    **{f"{name.capitalize()} Coeffs": f"{name} types" for name in _COUNTED[1:]},
    **{f"{name.capitalize()} Type Labels": f"{name} types" for name in _COUNTED},
}
"""Sections that are read, and the count in the header that is their number of lines."""


@dataclass(frozen=True)
class Line:
    """The words of one line, without its comment, and where it stands."""

    place: Place
    words: tuple[str, ...]
    comment: str


@dataclass(frozen=True)
class Section:
    """The lines of a section, and the style that stands as a comment behind its name."""

    place: Place
    hint: str
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class DataFile:
    """A data file, not yet understood."""

    place: Place
    title: str
    counts: dict[str, int]
    edges: dict[str, list[float]]
    sections: dict[str, Section]

    def lines(self, name: str) -> list[Line]:
        """The lines of a section; none if it isn't there."""
        return self.sections[name].lines if name in self.sections else []


def number(line: Line, column: int, what: str) -> float:
    """A word of a line as a number."""
    if column >= len(line.words):
        raise line.place.error(
            f"{what} is missing; there are {len(line.words)} words.",
            "Complete the line; if the file is from another atom_style or style, name that.",
        )
    try:
        value = float(line.words[column])
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise line.place.error(f"{what} is {line.words[column]!r}, which is not a finite number.")
    return value


def whole(line: Line, column: int, what: str) -> int:
    """A word of a line as a whole number."""
    value = number(line, column, what)
    if value != int(value):
        raise line.place.error(f"{what} is {line.words[column]!r}, which is not a whole number.")
    return int(value)


def read(path: Path) -> DataFile:
    """A data file as its header and sections; counts that don't agree are errors."""
    text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [_line(Place(path, n + 1), row) for n, row in enumerate(text)][1:]
    file = DataFile(Place(path), text[0] if text else "", {}, {}, {})
    section: Section | None = None
    for line in lines:
        if not line.words:
            continue
        if _is_title(line):
            section = _opened(file, line)
        elif section is None:
            _header(file, line)
        else:
            section.lines.append(line)
    _check(file)
    return file


def _line(place: Place, row: str) -> Line:
    content, _, comment = row.partition("#")
    return Line(place, tuple(content.split()), comment.strip())


def _is_title(line: Line) -> bool:
    return not any(_is_number(word) for word in line.words)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _opened(file: DataFile, line: Line) -> Section:
    name = " ".join(line.words)
    if name not in SECTIONS:
        raise line.place.error(
            f"the section {name!r} is not supported.",
            f"Remove it if it is not needed; supported sections: {', '.join(SECTIONS)}.",
        )
    if name in file.sections:
        raise line.place.error(f"the section {name!r} comes twice.")
    file.sections[name] = Section(line.place, line.comment)
    return file.sections[name]


def _header(file: DataFile, line: Line) -> None:
    split = next((n for n, word in enumerate(line.words) if not _is_number(word)), len(line.words))
    name = " ".join(line.words[split:])
    if name in _ROOM:
        return
    if name not in _COUNTS and name not in _EDGES:
        raise line.place.error(
            f"the header line {' '.join(line.words)!r} is not supported.",
            f"Supported header lines: {', '.join([*sorted(_COUNTS), *_EDGES])}.",
        )
    if split != _EDGES.get(name, 1):
        raise line.place.error(f"{name!r} comes after {split} numbers, not {_EDGES.get(name, 1)}.")
    if name in _COUNTS:
        file.counts[name] = whole(line, 0, f"the number of {name}")
    else:
        file.edges[name] = [number(line, column, name) for column in range(split)]


def _check(file: DataFile) -> None:
    for name in ("xlo xhi", "ylo yhi", "zlo zhi"):
        if name not in file.edges:
            raise file.place.error(f"the header has no line {name!r}.")
        low, high = file.edges[name]
        if high <= low:
            raise file.place.error(
                f"the box ends at {high:g} before it begins at {low:g} ({name})."
            )
    for name, count in SECTIONS.items():
        expected = file.counts.get(count, 0) if count else None
        if name in file.sections and expected is not None:
            _check_count(file, name, expected)
    for name, count in (("Atoms", "atoms"), ("Masses", "atom types")):
        if file.counts.get(count, 0) and name not in file.sections:
            raise file.place.error(
                f"there are {file.counts[count]} {count}, but no section {name}."
            )
    for name in _COUNTED[1:]:
        if file.counts.get(f"{name}s", 0) and f"{name.capitalize()}s" not in file.sections:
            raise file.place.error(
                f"there are {file.counts[f'{name}s']} {name}s, but no section {name.capitalize()}s."
            )


def _check_count(file: DataFile, name: str, expected: int) -> None:
    section = file.sections[name]
    found = len(section.lines)
    if found != expected:
        raise section.place.error(
            f"{name} has {found} lines, but the header says {expected} {SECTIONS[name]}.",
            "The file may be cut short; write it again, or correct the header.",
        )
