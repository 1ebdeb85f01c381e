"""Atoms of a data file: types and their names, positions, charges, velocities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase import Atoms
from ase.data import atomic_masses, chemical_symbols

from instar.app.topology.base import TopologyError
from instar.app.topology.lammps.file import DataFile, Line, number, whole
from instar.app.topology.lammps.options import DataOptions, Scales

__all__ = ["Names", "Structure", "numbered", "read_atoms", "style_of"]

_COLUMNS = {
    "atomic": "id type x y z",
    "charge": "id type q x y z",
    "bond": "id molecule type x y z",
    "angle": "id molecule type x y z",
    "molecular": "id molecule type x y z",
    "full": "id molecule type q x y z",
}

_FASTER = re.compile("/(omp|gpu|kk|opt|intel)$")

Names = dict[str, int]
"""Types by what a file calls them: their number, or a label."""


@dataclass(frozen=True)
class Structure:
    """The structure, the row of each atom id, and the label of each type."""

    atoms: Atoms
    rows: dict[int, int]
    labels: list[str]


def style_of(kind: str, hint: str, given: Mapping[str, str], known: Mapping[str, object]) -> str:
    """The style of a section: from its comment, else from the options.

    What follows a style for the sake of speed (lj/cut/omp) doesn't change it.
    """
    words = [hint.split(maxsplit=1)[0] if hint else "", given.get(kind, "")]
    for word in words:
        style = _FASTER.sub("", word)
        if style in known or (style == "hybrid" and kind not in ("atom", "pair")):
            return style
    word = words[0] or words[1]
    what = f"the {kind} style is {word!r}" if word else f"the {kind} style is not given"
    raise TopologyError(
        f"{what}.\nSupported styles: {', '.join(known)}; name one with styles="
        f"{{{kind!r}: ...}}, or after the title of the section: # {next(iter(known))}."
    )


def numbered(file: DataFile, kind: str) -> Names:
    """What the types of a kind are called: 1, 2, ... and their labels if there are some."""
    names = {str(n + 1): n for n in range(file.counts.get(f"{kind} types", 0))}
    for line in file.lines(f"{kind.capitalize()} Type Labels"):
        row = whole(line, 0, "the type")
        if str(row) not in names or len(line.words) != 2:
            raise line.place.error(f"a line must have a {kind} type and its label.")
        names[line.words[1]] = row - 1
    return names


def read_atoms(file: DataFile, options: DataOptions, unit: Scales) -> Structure:
    """The structure of a data file, its atoms in the order of their ids."""
    types = numbered(file, "atom")
    masses, elements = _masses(file, types)
    columns = _columns(file, options)
    lines = _sorted(file.lines("Atoms"))
    rows = {whole(line, 0, "the id"): row for row, line in enumerate(lines)}
    kinds = np.array([_type(line, columns.index("type"), types) for line in lines], int)
    labels = _labels(types)
    cell = _cell(file)
    atoms = Atoms(
        [elements[kind] for kind in kinds],
        _positions(lines, columns, cell) * unit.length,
        cell=cell * unit.length,
        pbc=_periodic(options.periodic),
        masses=[masses[kind] for kind in kinds],
        charges=_charges(lines, columns, unit),
    )
    atoms.set_array("labels", np.array([labels[kind] for kind in kinds], str))
    _set_velocities(atoms, file, rows, unit)
    return Structure(atoms, rows, labels)


def _columns(file: DataFile, options: DataOptions) -> list[str]:
    section = file.sections.get("Atoms")
    if section is None:
        return _COLUMNS["atomic"].split()
    try:
        style = style_of("atom", section.hint, options.styles, _COLUMNS)
    except TopologyError as error:
        raise section.place.error(str(error)) from None
    return _COLUMNS[style].split()


def _sorted(lines: list[Line]) -> list[Line]:
    seen: dict[int, Line] = {}
    for line in lines:
        name = whole(line, 0, "the id")
        if name in seen:
            first = _at(seen[name])
            raise line.place.error(f"atom {name} is defined twice, first on line {first}.")
        seen[name] = line
    return [seen[name] for name in sorted(seen)]


def _at(line: Line) -> int | None:
    return line.place.line


def _type(line: Line, column: int, types: Names) -> int:
    if column >= len(line.words) or line.words[column] not in types:
        word = line.words[column] if column < len(line.words) else ""
        raise line.place.error(f"there is no atom type {word!r}; there are {', '.join(types)}.")
    return types[line.words[column]]


def _labels(types: Names) -> list[str]:
    """The last name of each type: its label, where it has one."""
    return [name for _, name in sorted({row: name for name, row in types.items()}.items())]


def _masses(file: DataFile, types: Names) -> tuple[list[float], list[str]]:
    masses: dict[int, float] = {}
    for line in file.lines("Masses"):
        kind = _type(line, 0, types)
        masses[kind] = number(line, 1, "the mass")
        if masses[kind] <= 0 or len(line.words) != 2:
            raise line.place.error("a line must have an atom type and its mass, which is above 0.")
    count = file.counts.get("atom types", 0)
    if len(masses) != count:
        missing = next(name for name, row in types.items() if row not in masses)
        raise file.sections["Masses"].place.error(f"atom type {missing} has no mass.")
    return [masses[n] for n in range(count)], [_element(masses[n]) for n in range(count)]


def _element(mass: float) -> str:
    """The element of that mass (amu); X where none has it, as for united atoms and beads."""
    nearest = int(np.argmin(np.abs(atomic_masses[1:] - mass))) + 1
    return chemical_symbols[nearest if abs(atomic_masses[nearest] - mass) < 0.012 else 0]


def _cell(file: DataFile) -> np.ndarray:
    """Vectors as rows, in units of the file."""
    lengths = [high - low for low, high in (file.edges[f"{a}lo {a}hi"] for a in "xyz")]
    xy, xz, yz = file.edges.get("xy xz yz", [0.0, 0.0, 0.0])
    cell = np.diag(lengths)
    cell[1, 0], cell[2, 0], cell[2, 1] = xy, xz, yz
    return cell


def _positions(lines: list[Line], columns: list[str], cell: np.ndarray) -> np.ndarray:
    """Positions outside of the box where image flags say so."""
    first = columns.index("x")
    positions = np.zeros((len(lines), 3))
    for row, line in enumerate(lines):
        if len(line.words) not in (len(columns), len(columns) + 3):
            raise line.place.error(
                f"there are {len(line.words)} words, but the style has {len(columns)}: "
                f"{' '.join(columns)}, and maybe three image flags.",
                "Name the right style: styles={'atom': ...}.",
            )
        positions[row] = [number(line, first + axis, "xyz"[axis]) for axis in range(3)]
        if len(line.words) > len(columns):
            flags = [whole(line, len(columns) + axis, "an image flag") for axis in range(3)]
            positions[row] += np.array(flags, float) @ cell
    return positions


def _charges(lines: list[Line], columns: list[str], unit: Scales) -> np.ndarray:
    if "q" not in columns:
        return np.zeros(len(lines))
    charges = np.array([number(line, columns.index("q"), "the charge") for line in lines], float)
    if charges.any() and not unit.charged:
        raise lines[int(np.argmax(charges != 0))].place.error(
            "there are charges in reduced units, whose scale is not known.",
            "Write the file in units real or metal.",
        )
    return charges


def _set_velocities(atoms: Atoms, file: DataFile, rows: dict[int, int], unit: Scales) -> None:
    lines = file.lines("Velocities")
    if not lines:
        return
    velocities = np.zeros((len(atoms), 3))
    for line in lines:
        name = whole(line, 0, "the id")
        if name not in rows:
            raise line.place.error(f"there is no atom {name}.")
        velocities[rows[name]] = [number(line, 1 + axis, "a velocity") for axis in range(3)]
    atoms.set_velocities(velocities * unit.velocity)


def _periodic(given: Any) -> Any:
    """One switch, or three."""
    each = (given,) * 3 if isinstance(given, bool) else given
    three = isinstance(each, list | tuple) and len(each) == 3
    if not three or not all(isinstance(one, bool) for one in each):
        raise TopologyError(
            f"The option periodic is True or False, or three of them; not {given!r}."
        )
    return list(each)
