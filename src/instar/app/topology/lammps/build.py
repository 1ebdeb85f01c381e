"""A data file as a topology."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from instar.app.config.units import quantity
from instar.app.topology.base import Entries, Term, Topology, TopologyError, with_sigma
from instar.app.topology.lammps.atoms import Names, Structure, numbered, read_atoms, style_of
from instar.app.topology.lammps.file import DataFile, Line, Section, number, read, whole
from instar.app.topology.lammps.options import DataOptions, Scales, scales, special_factors
from instar.app.topology.lammps.styles import STYLES, UnclearError

__all__ = ["read_data"]

_ATOMS = {"bond": 2, "angle": 3, "dihedral": 4, "improper": 4}
_PAIR = {"lj/cut": 3, "lj/cut/coul/long": 3, "lj/cut/coul/cut": 4, "lj/charmm/coul/long": 4}
"""Pair styles, and the most coefficients that they have."""


def read_data(path: Path, options: DataOptions) -> Topology:
    """Structure and potential of a data file."""
    pair, coulomb = special_factors(options.special_bonds)
    file = read(path)
    unit = scales(_units(file, options))
    structure = read_atoms(file, options, unit)
    entries = Entries()
    known = {kind: _coefficients(file, kind, options, unit) for kind in _ATOMS}
    members = {kind: _terms(entries, file, kind, structure, known[kind]) for kind in _ATOMS}
    potential = [*_pairs(file, structure, options, unit), *entries.mappings()]
    bonds = members["bond"]
    if bonds and potential[0]["type"] == "lennard_jones":
        factors = {"type": "exclusions", "pair": pair, "coulomb": coulomb, "bonds": bonds}
        potential.append(factors)
    if not potential:
        raise file.place.error("there are no coefficients, so nothing acts between the atoms.")
    return Topology(structure.atoms, potential)


def _units(file: DataFile, options: DataOptions) -> str:
    """The units that are asked for, else those of the title."""
    title = re.search(r"units = (\w+)", file.title)
    if title is None and options.units is None:
        raise file.place.error(
            "a data file doesn't say its units.",
            "Name those of the LAMMPS script: read_topology(path, units='real').",
        )
    units = options.units or (title[1] if title else "")
    if title is not None and title[1] != units:
        raise file.place.at(1).error(f"the title has the units {title[1]!r}, not {units!r}.")
    return units


def _terms(
    entries: Entries,
    file: DataFile,
    kind: str,
    structure: Structure,
    known: dict[int, list[Term]],
) -> list[list[int]]:
    """Adds the terms of one kind; returns their atoms."""
    names = numbered(file, kind)
    found, lines = [], {}
    for line in file.lines(f"{kind.capitalize()}s"):
        atoms = _members(line, _ATOMS[kind], structure)
        if kind == "bond" and (first := lines.setdefault(frozenset(atoms), line)) is not line:
            raise line.place.error(
                f"the bond between atoms {line.words[2]} and {line.words[3]} is defined twice, "
                f"first on line {first.place.line}."
            )
        word = line.words[1]
        if word not in names or names[word] not in known:
            raise line.place.error(
                f"{kind} type {word} has no coefficients.",
                f"Add it to the section {kind.capitalize()} Coeffs.",
            )
        for term in known[names[word]]:
            entries.add(term, atoms)
        found.append(atoms)
    return found


def _members(line: Line, count: int, structure: Structure) -> list[int]:
    if len(line.words) != count + 2:
        raise line.place.error(
            f"there are {len(line.words)} words, not an id, a type and {count} atoms."
        )
    names = [whole(line, 2 + column, "an atom") for column in range(count)]
    for name in names:
        if name not in structure.rows:
            raise line.place.error(f"there is no atom {name}.")
    if len(set(names)) != count:
        raise line.place.error(f"an atom is named twice: {' '.join(map(str, names))}.")
    return [structure.rows[name] for name in names]


def _coefficients(
    file: DataFile, kind: str, options: DataOptions, unit: Scales
) -> dict[int, list[Term]]:
    """The terms of each type of a kind that the file has."""
    title = f"{kind.capitalize()} Coeffs"
    if not file.lines(f"{kind.capitalize()}s"):
        return {}
    section = file.sections.get(title)
    if section is None:
        raise file.sections[f"{kind.capitalize()}s"].place.error(
            f"there are {kind}s, but no section {title}.",
            "Write the section; write_data does so except for hybrid styles.",
        )
    style, names = _style(section, kind, options), numbered(file, kind)
    return {
        _known(line, line.words[0], kind, names): _converted(line, kind, style, unit)
        for line in section.lines
    }


def _style(section: Section, kind: str, options: DataOptions) -> str:
    known = _PAIR if kind == "pair" else STYLES[kind]
    try:
        return style_of(kind, section.hint, options.styles, known)
    except TopologyError as error:
        raise section.place.error(str(error)) from None


def _known(line: Line, word: str, kind: str, names: Names) -> int:
    if word not in names:
        raise line.place.error(f"there is no {kind} type {word!r}; there are {', '.join(names)}.")
    return names[word]


def _converted(line: Line, kind: str, style: str, unit: Scales) -> list[Term]:
    first = 1
    if style == "hybrid":
        style, first = (line.words[1] if len(line.words) > 1 else ""), 2
    if style not in STYLES[kind]:
        raise line.place.error(
            f"the {kind} style {style!r} is not supported.",
            f"Supported styles: {', '.join(STYLES[kind])}.",
        )
    count, convert = STYLES[kind][style]
    given = [number(line, n, "a coefficient") for n in range(first, len(line.words))]
    if count is not None and len(given) != count:
        raise line.place.error(f"{kind} style {style} has {count} coefficients, not {len(given)}.")
    try:
        return convert(given, unit)
    except UnclearError as error:
        raise line.place.error(f"{kind} style {style}: {error}") from None


def _pairs(
    file: DataFile, structure: Structure, options: DataOptions, unit: Scales
) -> list[dict[str, Any]]:
    """Lennard-Jones and Coulomb entries; none without Pair Coeffs."""
    title = next((t for t in ("Pair Coeffs", "PairIJ Coeffs") if t in file.sections), None)
    if title is None:
        if options.cutoff is not None:
            raise file.place.error(
                "there is a cutoff, but no section Pair Coeffs.",
                "Write the coefficients into the file (write_data file pair ii), or leave the "
                "cutoff out.",
            )
        return []
    section = file.sections[title]
    style = _style(section, "pair", options)
    if options.cutoff is None:
        raise section.place.error("a pair style needs a cutoff: read_topology(..., cutoff=10).")
    try:
        cutoff = quantity(options.cutoff, (0, 1, 0, 0, 0, 0))
    except ValueError as error:
        raise TopologyError(f"The option cutoff: {error}") from None
    if not cutoff > 0:
        raise TopologyError(f"The option cutoff is a length above 0 Å, not {options.cutoff!r}.")
    tables = _tables(file, title, style, structure, (cutoff, unit))
    entry = {"type": "lennard_jones", "cutoff": cutoff} | _rules(section, style, options) | tables
    if style.endswith("coul/long"):
        return [entry, {"type": "coulomb", "accuracy": options.accuracy}]
    if style.endswith("coul/cut"):
        return [entry, {"type": "cutoff_coulomb", "cutoff": cutoff, "method": "plain"}]
    return [entry]


def _rules(section: Section, style: str, options: DataOptions) -> dict[str, Any]:
    charmm = style.startswith("lj/charmm")
    if charmm and options.truncation is None:
        raise section.place.error(
            "the switching function of lj/charmm is not supported.",
            "Choose another truncation: truncation='switch' with inner=..., or 'truncate'.",
        )
    mixing = options.mixing or ("lorentz_berthelot" if charmm else "geometric")
    rules: dict[str, Any] = {"truncation": options.truncation or "truncate", "mixing": mixing}
    return rules | ({} if options.inner is None else {"inner": options.inner})


def _tables(
    file: DataFile, title: str, style: str, structure: Structure, scale: tuple[float, Scales]
) -> dict[str, Any]:
    """Parameters by label, and of pairs that don't follow the mixing rule."""
    names, first = numbered(file, "atom"), 2 if title.startswith("PairIJ") else 1
    own: dict[str, Any] = {}
    pairs: dict[str, Any] = {}
    for line in file.lines(title):
        values = _epsilon_sigma(line, first, style, scale)
        words = (line.words * 2)[:2] if first == 2 else (line.words[0],) * 2
        a, b = (structure.labels[_known(line, word, "atom", names)] for word in words)
        if a == b:
            own[a] = values
        elif "-" in a + b:
            raise line.place.error(
                f"the pair of {a!r} and {b!r} can't be written as one name.",
                "Take type labels without '-'.",
            )
        else:
            pairs[f"{a}-{b}"] = values
    for label in structure.labels:
        if label not in own:
            raise file.sections[title].place.error(f"atom type {label} has no pair coefficients.")
    return {"parameters": own} | ({"pairs": pairs} if pairs else {})


def _epsilon_sigma(
    line: Line, first: int, style: str, scale: tuple[float, Scales]
) -> dict[str, float]:
    cutoff, unit = scale
    given = [number(line, n, "a coefficient") for n in range(first, len(line.words))]
    if not 2 <= len(given) <= _PAIR[style]:
        raise line.place.error(
            f"pair style {style} has from 2 to {_PAIR[style]} coefficients, not {len(given)}."
        )
    if style.startswith("lj/charmm"):
        if given[2:] not in ([], given[:2]):
            raise line.place.error(
                "ε and σ of pairs 1-4 apart differ from those of other pairs, for which there is "
                "no counterpart."
            )
    elif any(abs(own * unit.length - cutoff) > 1e-9 * cutoff for own in given[2:]):
        raise line.place.error(
            f"this type has the cutoff {given[2] * unit.length:g} Å, but all have {cutoff:g} Å.",
            "One cutoff holds for all types: remove it here, or read with that cutoff.",
        )
    values = with_sigma(given[0] * unit.energy, given[1] * unit.length)
    if values is None or given[0] < 0:
        raise line.place.error(f"ε = {given[0]:g} and σ = {given[1]:g} are not above 0.")
    return values
