"""What a topology becomes: a structure, and mappings as they stand in a configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms

from instar.app.ase.structures import labels_of

__all__ = [
    "Entries",
    "Kinds",
    "Place",
    "Term",
    "Topology",
    "TopologyError",
    "check_bytes",
    "check_options",
    "with_sigma",
]


class TopologyError(ValueError):
    """A topology that can't be read: the file, the place in it, and what to do."""


type Kinds = Mapping[str, tuple[tuple[type[Any], ...], str]]
"""For options the classes that they may be of, and words for them."""

KINDS: Kinds = {
    "cutoff": ((int, float, str), "a length"),
    "inner": ((int, float, str), "a length"),
    "truncation": ((str,), "a word"),
    "accuracy": ((int, float), "a number between 0 and 1"),
}
"""Of options that all kinds of files have."""


def check_options(options: Mapping[str, Any], kinds: Kinds) -> None:
    """Refuse options of the wrong kind."""
    for name, (classes, words) in {**KINDS, **kinds}.items():
        value = options.get(name)
        if value is not None and not isinstance(value, classes):
            raise TopologyError(f"The option {name} is {words}, not {value!r}.")
    accuracy = options.get("accuracy")
    if accuracy is not None and not 0 < accuracy < 1:
        raise TopologyError(f"The option accuracy is {KINDS['accuracy'][1]}, not {accuracy!r}.")


_MOST_BYTES = 2**28
"""Of a file: a few million atoms."""


def check_bytes(path: Path) -> None:
    """Refuse a file that is too large to be read."""
    if (size := path.stat().st_size) > _MOST_BYTES:
        raise TopologyError(f"{path.name} has {size} bytes; at most {_MOST_BYTES} are read.")


@dataclass(frozen=True)
class Place:
    """Where something stands: a file, and a line of it where one is known."""

    path: Path
    line: int | None = None

    def error(self, what: str, advice: str = "") -> TopologyError:
        """The error that names this place: what is wrong, then on its own line what to do."""
        where = self.path.name if self.line is None else f"{self.path.name}, line {self.line}"
        return TopologyError(f"{where}: {what}" + (f"\n{advice}" if advice else ""))

    def at(self, line: int | None) -> Place:
        """Another line of the same file."""
        return Place(self.path, line)


@dataclass(frozen=True)
class Topology:
    """A structure with everything that acts in it."""

    atoms: Atoms
    """Positions and cell (Å), masses (amu), charges (e); the array ``labels`` names the type of
    each atom."""
    potential: list[dict[str, Any]]
    """Mappings as they stand in a configuration file: eV, Å, e, rad."""

    def for_structure(self, number: int) -> list[dict[str, Any]]:
        """The potential when this is structure ``number`` (from 0) among others."""
        return [
            entry | {"structures": [number]} if _names_atoms(entry) else entry
            for entry in self.potential
        ]

    def renamed(self, prefix: str) -> Topology:
        """The same with ``prefix`` before every label, so that it can stand beside others."""
        atoms = self.atoms.copy()
        atoms.set_array("labels", None)
        atoms.set_array("labels", np.array([prefix + label for label in labels_of(self.atoms)]))
        return dataclasses.replace(
            self, atoms=atoms, potential=[_prefixed(entry, prefix) for entry in self.potential]
        )


def _names_atoms(entry: Mapping[str, Any]) -> bool:
    return "terms" in entry or entry["type"] == "exclusions"


def _prefixed(entry: dict[str, Any], prefix: str) -> dict[str, Any]:
    changed = dict(entry)
    if "parameters" in entry:
        changed["parameters"] = {prefix + k: v for k, v in entry["parameters"].items()}
    if "pairs" in entry:
        pairs = entry["pairs"].items()
        changed["pairs"] = {"-".join(prefix + k for k in name.split("-")): v for name, v in pairs}
    return changed


class Term(NamedTuple):
    """A kind of term and its parameters, for the atoms of one bond, angle or dihedral."""

    kind: str
    parameters: dict[str, Any]


class Entries:
    """Terms by kind, in the order in which the kinds were first met."""

    def __init__(self) -> None:
        self._terms: dict[str, list[dict[str, Any]]] = {}

    def add(self, term: Term, atoms: Iterable[int]) -> None:
        """One more term between these atoms, counted from 0."""
        entry = {"atoms": [int(atom) for atom in atoms]} | term.parameters
        self._terms.setdefault(term.kind, []).append(entry)

    def mappings(self) -> list[dict[str, Any]]:
        """One entry of a configuration for each kind."""
        return [{"type": kind, "terms": terms} for kind, terms in self._terms.items()]


def with_sigma(epsilon: float, sigma: float) -> dict[str, float] | None:
    """Lennard-Jones parameters (eV, Å); where there is no attraction any σ does, and 0 doesn't.

    None where σ is not positive, but ε is not 0.
    """
    if epsilon == 0:
        return {"epsilon": 0.0, "sigma": sigma if sigma > 0 else 1.0}
    return {"epsilon": epsilon, "sigma": sigma} if sigma > 0 else None
