"""Potentials as they stand in configuration files: validated, then made for structures."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from instar.app.ase.structures import StructureError, structures_of
from instar.app.config.base import ConfigurationError, shown
from instar.app.config.entries import Entries
from instar.app.config.recorded import is_record
from instar.potentials import Potential, Sum
from instar.potentials.entry import POTENTIALS, Entry, entry_class
from instar.potentials.exclusions import Exclusions
from instar.potentials.exclusions_entry import exclusions_of
from instar.potentials.potential import check_leaves
from instar.potentials.structures import Problem, Structures
from instar.potentials.terms_entry import PlacedEntry

__all__ = [
    "POTENTIAL_ENTRIES",
    "ConfigurationError",
    "PotentialLike",
    "Recipe",
    "Trust",
    "recipe_of",
    "require",
]

if TYPE_CHECKING:
    PotentialLike = Potential | Mapping[str, Any] | Sequence[Mapping[str, Any]]
else:
    PotentialLike = Any  # what is none is refused in words, by `recipe_of`


class Trust(enum.Enum):
    """What becomes of entries that may start programs or load code (`Entry.foreign`)."""

    REFUSED = "refused"
    ALLOWED = "allowed"
    """The person at the keyboard has said so: ``--trust``, ``trusted=True``."""
    UNTRIED = "untried"
    """They are read, and not made: for commands that only look at a file."""

    @staticmethod
    def of(trusted: bool) -> Trust:
        """Allowed or refused."""
        return Trust.ALLOWED if trusted else Trust.REFUSED


@dataclass(frozen=True)
class Recipe:
    """A validated potential: an object, or entries that still have to see the structures."""

    given: Potential | None = None
    entries: tuple[Entry, ...] = ()
    trust: Trust = Trust.REFUSED
    recorded: str = ""
    """The class of an object that is known by its record alone."""

    @property
    def untried(self) -> list[str]:
        """What is not made, because it may start programs or load code; in words."""
        if self.trust is not Trust.UNTRIED:
            return []
        return [entry.foreign for entry in self.entries if entry.foreign]

    @property
    def is_recorded(self) -> bool:
        """Whether the object is missing: its results can be read, but not computed."""
        return bool(self.recorded)

    @property
    def absence(self) -> str:
        """What to do where it is missing."""
        return (
            f"was an object of Python, a {self.recorded}, which a file can't hold; go on from "
            "Python: instar.resume(DIR, potential=…)"
        )

    @property
    def charges(self) -> Mapping[str, float] | None:
        """Charges by label (e) that came with it."""
        tables = [c for entry in self.entries if (c := getattr(entry, "charges", None)) is not None]
        if len(tables) > 1:
            raise ConfigurationError("Charges are given twice; one table of charges is enough.")
        return tables[0] if tables else None

    def check_numbers(self, count: int) -> None:
        """Refuse terms for a structure with a number that there is not."""
        try:
            for entry in self.entries:
                if isinstance(entry, PlacedEntry):
                    entry.check_numbers(count)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error

    @property
    def named(self) -> set[int]:
        """Structures that entries name by their number."""
        placed = [entry for entry in self.entries if isinstance(entry, PlacedEntry)]
        return {number for entry in placed for number in entry.structures or ()}

    @property
    def may_be_cut(self) -> bool:
        """Whether it may be used for some of the structures: it names none of their atoms.

        Entries are made for the structures that they see; of an object only it knows.
        """
        return self.given is None or self.given.is_general

    def among(self, structures: Sequence[int]) -> Recipe:
        """The potential of some of the structures, which are counted from 0 again.

        Numbers of structures that there are not would be lost: see `check_numbers`.
        """
        entries = tuple(entry.among(structures) for entry in self.entries)
        return dataclasses.replace(self, entries=entries)

    def potential(self, structures: Structures) -> Potential:
        """The potential for these structures; what they lack for it is a `StructureError`."""
        made, problems = self.tried(structures)
        require(problems)
        assert made is not None
        return made

    def tried(self, structures: Structures) -> tuple[Potential | None, list[Problem]]:
        """The potential for these structures, and all that they lack for it.

        Where something is missing to make it at all, there is no potential.
        """
        if self.is_recorded:
            raise ConfigurationError(f"potential: {self.absence}")
        if self.given is not None:
            return self.given, self.given.check(structures)
        problems = [p for entry in self.entries for p in entry.check(structures)]
        if problems:
            return None, problems
        try:
            whole = _summed(self.entries, structures, self.trust)
            exclusions = exclusions_of(self.entries, structures)
        except ConfigurationError:
            raise
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        made = whole if exclusions is None else _without(whole, exclusions)
        return made, made.check(structures)


def require(problems: Sequence[Problem]) -> None:
    """Refuse structures that lack something."""
    if problems:
        raise StructureError(str(problems[0]))


def _without(whole: Potential, exclusions: Exclusions) -> Potential:
    """A potential with pairs excluded from every part that acts between neighbors."""
    made = whole.excluding(exclusions)
    for part in made.parts():
        if part.reach is not None and part.exclusions is None:
            raise ConfigurationError(
                f"{type(part).__name__} can't leave out pairs that are bonded or excluded, so it "
                "can't be used beside bonds, constraints or exclusions of pairs."
            )
    return made


def _summed(entries: tuple[Entry, ...], structures: Structures, trust: Trust) -> Potential:
    """All entries added up; those that choose how far they reach come last."""
    if sum(entry.OF_CHARGES for entry in entries) > 1:
        raise ConfigurationError("Charges would interact twice: give one coulomb entry.")
    parts: list[Potential] = []
    for entry in sorted(entries, key=lambda entry: entry.CHOOSES_REACH):
        reaches = [float(np.max(part.reach, initial=0)) for part in parts if part.reach is not None]
        foreign = entry.foreign and trust is not Trust.ALLOWED
        made = entry.untried() if foreign else entry.made(structures, max(reaches, default=0.0))
        if made is not None:
            parts.append(made)
    if not parts:
        raise ConfigurationError(
            "exclusions: there is no interaction of pairs to exclude them from."
        )
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def recipe_of(potential: Any, *, tried: bool = True, trust: Trust = Trust.REFUSED) -> Recipe:
    """A potential from an object, a mapping, or a list of mappings as in a configuration file.

    What would be wrong for any structures is an error at once, if it is ``tried``. So is an entry
    that may start programs or load code, unless ``trust`` allows it or leaves it untried.
    """
    if isinstance(potential, Potential):
        check_leaves(potential)
        return Recipe(potential)
    if is_record(potential):
        return Recipe(recorded=potential["object"])
    if isinstance(potential, Mapping) and set(potential) == {"potential"}:
        potential = potential["potential"]
    entries = [potential] if isinstance(potential, Mapping) else potential
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise ConfigurationError(
            "A potential is an object of instar.potentials, a mapping with a type, or a list of "
            f"such mappings; not {potential!r}."
        )
    recipe = Recipe(entries=tuple(_validated(list(entries))), trust=trust)
    if trust is Trust.REFUSED:
        _refuse_foreign(recipe.entries)
    _ = recipe.charges
    if tried:
        recipe.tried(structures_of([]))
    return recipe


def _refuse_foreign(entries: tuple[Entry, ...]) -> None:
    """The one place where what is foreign is turned away."""
    problems: list[tuple[tuple[Any, ...], str]] = [
        (
            ("potential", number),
            f"{entry.foreign}; this is done only if you say so: --trust (in Python: trusted=True), "
            "if you know where it comes from",
        )
        for number, entry in enumerate(entries)
        if entry.foreign
    ]
    if problems:
        lines = [f"{shown(place)}: {message}" for place, message in problems]
        raise ConfigurationError("\n".join(lines), problems)


POTENTIAL_ENTRIES = Entries("potential", POTENTIALS, entry_class)
"""What validates the list under ``potential:``."""


def _validated(entries: list[Any]) -> list[Any]:
    if any(isinstance(entry, Potential) for entry in entries):
        raise ConfigurationError("Add potentials up, a + b; a list is for mappings.")
    return POTENTIAL_ENTRIES.validated(entries)
