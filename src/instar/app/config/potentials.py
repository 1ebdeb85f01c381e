"""Potentials as they stand in configuration files: validated, then made for structures."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from instar.app.ase.structures import StructureError, structures_of
from instar.app.config.base import ConfigurationError, shown
from instar.app.config.fields import instance_of
from instar.app.config.registry import found
from instar.potentials import Potential, Sum
from instar.potentials.entry import POTENTIALS, Entry, entry_class
from instar.potentials.exclusions_entry import exclusions_of
from instar.potentials.structures import Problem, Structures
from instar.potentials.terms_entry import PlacedEntry

__all__ = ["ConfigurationError", "Recipe", "nearest", "potential_entries", "recipe_of", "require"]


@dataclass(frozen=True)
class Recipe:
    """A validated potential: an object, or entries that still have to see the structures."""

    given: Potential | None = None
    entries: tuple[Entry, ...] = ()

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

    def among(self, structures: range) -> Recipe:
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
        if self.given is not None:
            return self.given, self.given.check(structures)
        problems = [p for entry in self.entries for p in entry.check(structures)]
        if problems:
            return None, problems
        try:
            whole = _summed(self.entries, structures)
            exclusions = exclusions_of(self.entries, structures)
        except ConfigurationError:
            raise
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        made = whole if exclusions is None else whole.excluding(exclusions)
        return made, made.check(structures)


def require(problems: Sequence[Problem]) -> None:
    """Refuse structures that lack something."""
    if problems:
        raise StructureError(str(problems[0]))


def _summed(entries: tuple[Entry, ...], structures: Structures) -> Potential:
    """All entries added up; those that choose how far they reach come last."""
    if sum(entry.OF_CHARGES for entry in entries) > 1:
        raise ConfigurationError("Charges would interact twice: give one coulomb entry.")
    parts: list[Potential] = []
    for entry in sorted(entries, key=lambda entry: entry.CHOOSES_REACH):
        reaches = [float(np.max(part.reach, initial=0)) for part in parts if part.reach is not None]
        made = entry.made(structures, max(reaches, default=0.0))
        if made is not None:
            parts.append(made)
    if not parts:
        raise ConfigurationError("exclusions: there is nothing that they could be excluded from.")
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def recipe_of(potential: Any, *, tried: bool = True) -> Recipe:
    """A potential from an object, a mapping, or a list of mappings as in a configuration file.

    What would be wrong for any structures is an error at once, if it is ``tried``.
    """
    if isinstance(potential, Potential):
        return Recipe(potential)
    if isinstance(potential, Mapping) and set(potential) == {"potential"}:
        potential = potential["potential"]
    entries = [potential] if isinstance(potential, Mapping) else potential
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise ConfigurationError(
            "A potential is an object of instar.potentials, a mapping with a type, or a list of "
            f"such mappings; not {potential!r}."
        )
    recipe = Recipe(entries=tuple(_validated(list(entries))))
    _ = recipe.charges
    if tried:
        recipe.tried(structures_of([]))
    return recipe


# Validation --------------------------------------------------------------------------------


def _entry_annotations() -> dict[str, Any]:
    """For each type the annotation of its entry."""
    return {name: _annotation(name, known.target) for name, known in found(POTENTIALS).items()}


@functools.cache
def _annotation(name: str, target: Any) -> Any:
    return instance_of(entry_class(name, target), name)


def potential_entries() -> Any:
    """What validates a list of entries."""
    return _validator(tuple(_entry_annotations().values()))


@functools.lru_cache(1)
def _validator(entries: tuple[Any, ...]) -> Any:
    """Made again only when something was declared since."""
    union = Union[entries]  # noqa: UP007 (built here)
    kind: Any = Annotated[union, Field(discriminator="type")]
    entry_list: Any = list.__class_getitem__(kind)
    return TypeAdapter(entry_list)


def _validated(entries: list[Any]) -> list[Any]:
    if any(isinstance(entry, Potential) for entry in entries):
        raise ConfigurationError("Add potentials up, a + b; a list is for mappings.")
    try:
        return potential_entries().validate_python(entries)
    except ValidationError as error:
        problems = [_problem(problem, entries) for problem in error.errors()]
        lines = [f"{shown(place)}: {message}" for place, message in problems]
        raise ConfigurationError("\n".join(lines), problems) from None


def _problem(problem: Any, entries: list[Any]) -> tuple[tuple[Any, ...], str]:
    """One mistake: where it is, what it is, and the nearest name that would have been right."""
    number, *rest = problem["loc"]
    entry = entries[number]
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    rest = [part for part in rest if part != kind and "[" not in str(part)]
    message = problem["msg"].removeprefix("Value error, ")
    types = list(_entry_annotations())
    if problem["type"] == "extra_forbidden":
        message = f"unknown key{nearest(str(rest[-1]), _keys(kind, rest))}"
    elif problem["type"] == "missing":
        message = "is missing"
    elif problem["type"] == "union_tag_invalid":
        message = f"there is no type {kind!r}{nearest(str(kind), types)}"
    elif problem["type"] == "union_tag_not_found":
        message = f"has no type; types are {', '.join(types)}"
    return ("potential", number, *rest), message


def _keys(kind: Any, rest: list[Any]) -> list[str]:
    """The keys that are known where the last part of a place stands."""
    known = _model_in(_entry_annotations()[str(kind)])
    for part in rest[:-1]:
        if part in known.model_fields:  # else a number or a label within what was reached
            known = _model_in(known.model_fields[part].annotation) or known
    return list(known.model_fields)


def _model_in(annotation: Any) -> Any:
    """The model that an annotation is about, however deep it lies."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = typing.get_args(annotation)
    return next((model for part in parts if (model := _model_in(part)) is not None), None)


def nearest(name: str, known: list[str]) -> str:
    """The known name that was probably meant, or all of them."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
