"""Configurations: read, changed by ``--set``, validated whole, all mistakes at once."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from pydantic import BaseModel, ValidationError

from instar.app.ase.structures import StructureError, structures_of
from instar.app.config.base import ConfigurationError, shown
from instar.app.config.entries import nearest
from instar.app.config.observers import observations_of
from instar.app.config.potentials import Recipe, Trust, recipe_of
from instar.app.config.schema import Config, SystemConfig, config_model
from instar.app.config.systems import UnmadeStructureError, Wanted, expanded, structure_of
from instar.app.config.text import Place, Text, parsed_yaml, read_yaml, wrong_text
from instar.geometry import Cell
from instar.memory import BudgetError, find_budget
from instar.neighbors.neighbor_list import extents
from instar.neighbors.sizes import uncountable
from instar.observables import Observation
from instar.potentials import Potential
from instar.potentials.structures import Problem as Lack
from instar.potentials.structures import Structures

__all__ = ["Loaded", "load"]

Problem = tuple[Place, str]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A configuration that makes sense, and what was made of it."""

    config: Config
    data: dict[str, Any]  # as it was written, changes included
    systems: tuple[Wanted, ...]
    structures: tuple[Atoms, ...]
    recipe: Recipe
    observations: tuple[Observation, ...]
    _potentials: dict[range, Potential]  # the last that was made, by the systems it is for

    def potential_of(self, systems: range) -> Potential:
        """The potential of some of the systems, made once."""
        if systems not in self._potentials:
            some = structures_of((self.structures[n] for n in systems), self.recipe.charges)
            self._potentials.clear()
            self._potentials[systems] = self.recipe.among(systems).potential(some)
        return self._potentials[systems]


def load(
    source: str | Path | Mapping[str, Any],
    changes: Sequence[str] = (),
    structures: Sequence[Atoms] | None = None,
    trust: Trust = Trust.REFUSED,
) -> Loaded:
    """A configuration from a file or a mapping, with changes such as ``run.steps=100``.

    A `ConfigurationError` lists all mistakes, each with file, line, and what to do. Files that it
    names are looked for beside it. ``structures`` replace those that it describes. ``trust`` says
    what becomes of potentials that may start programs or load code.
    """
    if isinstance(source, Mapping):
        name, text, folder = "configuration", Text(_of_mapping(source), {}), Path()
    else:
        path = Path(source)
        name, text, folder = str(path), read_yaml(path), path.parent
    if not isinstance(text.data, dict):
        raise ConfigurationError(
            f"{name}: a configuration is a mapping; start from: instar new NAME"
        )
    text = _changed(text, changes)
    try:
        _check_text(text.data)
        return _loaded(text.data, folder, structures, trust)
    except _ProblemsError as found:
        ordered = sorted(found.problems, key=lambda problem: _line_of(text, problem[0]) or 0)
        lines = [_line(name, text, place, message) for place, message in ordered]
        raise ConfigurationError("\n".join(lines), ordered) from None


def _of_mapping(source: Mapping[str, Any]) -> Any:
    try:
        return _plain(source)
    except RecursionError:
        raise ConfigurationError("configuration: it is nested without an end.") from None


def _plain(value: Any) -> Any:
    """Data as a file could have it: no arrays, no numbers of NumPy."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


class _ProblemsError(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


def _loaded(
    data: dict[str, Any], folder: Path, given: Sequence[Atoms] | None, trust: Trust
) -> Loaded:
    problems: list[Problem] = []
    config = _validated(data, problems)
    recipe = _recipe(data, trust, problems)
    observations = _observations(data, problems)
    _check_budget(data, problems)
    systems = tuple(expanded(_entries(data)))
    seed = 0 if config is None else config.seed
    structures = given or [
        _structure(n, one, folder, seed, problems) for n, one in enumerate(systems)
    ]
    if config is not None:
        _check_conditions(config, systems, problems)
    if problems or config is None or recipe is None:
        _check_anyhow(recipe, problems)
        raise _ProblemsError(_once(problems))
    made = tuple(atoms for atoms in structures if atoms is not None)
    if len(made) != len(systems):
        raise _ProblemsError(
            [(("systems",), f"{len(systems)} systems, where the run has {len(made)}")]
        )
    potential = _made(recipe, systems, made)
    _check_reach(potential, structures_of(made), systems, getattr(config.method, "skin", 0.0))
    _check_observations(observations, structures_of(made), config.run.steps)
    return Loaded(config, data, systems, made, recipe, observations, {range(len(made)): potential})


def _check_text(data: Any) -> None:
    """Refuse text that can't be written to files and terminals, wherever it stands."""
    problems: list[Problem] = []

    def look(value: Any, place: Place) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                look(key, place)
                look(entry, (*place, key))
        elif isinstance(value, list):
            for number, entry in enumerate(value):
                look(entry, (*place, number))
        elif isinstance(value, str) and (why := wrong_text(value)):
            problems.append((place, f"{value[:40]!a} is no text: {why}"))

    look(data, ())
    if problems:
        raise _ProblemsError(problems)


def _entries(data: dict[str, Any]) -> dict[int, SystemConfig]:
    """The systems that are right in themselves, by their number."""
    listed, found = data.get("systems"), {}
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        with contextlib.suppress(ValidationError):
            found[number] = SystemConfig.model_validate(entry)
    return found


def _validated(data: dict[str, Any], problems: list[Problem]) -> Config | None:
    try:
        return config_model().model_validate(data)
    except ValidationError as error:
        problems += [_problem(problem, data) for problem in error.errors()]
        return None


def _recipe(data: dict[str, Any], trust: Trust, problems: list[Problem]) -> Recipe | None:
    if data.get("potential") is None:
        return None  # reported as missing
    try:
        return recipe_of(data["potential"], tried=False, trust=trust)
    except ConfigurationError as error:
        problems += error.problems or [(("potential",), str(error))]
        return None


def _observations(data: dict[str, Any], problems: list[Problem]) -> tuple[Observation, ...]:
    try:
        return observations_of(data.get("observe"))
    except ConfigurationError as error:
        problems += error.problems or [(("observe",), str(error))]
        return ()


def _check_observations(
    observations: Sequence[Observation], structures: Structures, steps: int
) -> None:
    """Everything that is to be observed can be."""
    problems: list[Problem] = []
    for number, one in enumerate(observations):
        problems += [(("observe", number), text) for text in one.check(structures)]
        if (needed := one.fewest_looks * one.every) > steps:
            text = f"it finds nothing in less than {needed} steps, and the run has {steps}"
            problems.append((("observe", number), text))
    if problems:
        raise _ProblemsError(problems)


def _check_anyhow(recipe: Recipe | None, problems: list[Problem]) -> None:
    """What is wrong with a potential for any structures, where there are none to try it with."""
    try:
        if recipe is not None:
            recipe.tried(structures_of([]))
    except ConfigurationError as error:
        problems.append((("potential",), str(error)))


def _check_budget(data: dict[str, Any], problems: list[Problem]) -> None:
    memory = data.get("memory")
    if isinstance(memory, dict) and isinstance(memory.get("budget"), str | int):
        try:
            find_budget(memory["budget"])
        except BudgetError as error:
            problems.append((("memory", "budget"), str(error)))


def _structure(
    number: int, wanted: Wanted, folder: Path, seed: int, problems: list[Problem]
) -> Atoms | None:
    try:
        return structure_of(wanted, folder, seed, number)
    except UnmadeStructureError as error:
        problems.append((("systems", wanted.entry, "structure"), str(error)))
        return None


def _check_conditions(config: Config, systems: Sequence[Wanted], problems: list[Problem]) -> None:
    """Every system has what the method needs."""
    for wanted in systems:
        lacking = config.method.lacking(wanted.temperature, wanted.pressure)
        problems += [(("systems", wanted.entry), text) for text in lacking]


def _made(recipe: Recipe, systems: Sequence[Wanted], structures: Sequence[Atoms]) -> Potential:
    """The potential for all structures, which have all that it needs."""
    try:
        recipe.check_numbers(len(structures))
        potential, problems = recipe.tried(structures_of(structures, recipe.charges))
    except ConfigurationError as error:
        raise _ProblemsError([(("potential",), str(error))]) from None
    except StructureError as error:
        raise _ProblemsError([(("systems",), str(error))]) from None
    if problems or potential is None:
        raise _ProblemsError(_once([_placed(problem, systems) for problem in problems]))
    return potential


def _check_reach(
    potential: Potential, structures: Structures, systems: Sequence[Wanted], skin: float
) -> None:
    """Refuse cutoffs that reach over more images of the cell than can be counted."""
    if potential.reach is None:
        return
    cell = Cell.of(structures.vectors, structures.periodic)
    reach = np.broadcast_to(np.asarray(potential.reach, float) + skin, len(structures))
    found = uncountable(extents(structures.positions, structures.system, cell, reach))
    if found:
        raise _ProblemsError(
            _once(
                [
                    (("systems", systems[n].entry), f"{what}; make the cutoff shorter")
                    for n, what in found.items()
                ]
            )
        )


def _placed(problem: Lack, systems: Sequence[Wanted]) -> Problem:
    """What a structure lacks, at the entry that it comes from."""
    place = ("systems", systems[problem.structure].entry, "structure")
    return place, f"{problem.text}. {problem.advice}"


def _once(problems: list[Problem]) -> list[Problem]:
    return list(dict.fromkeys(problems))


def _line_of(text: Text, place: Place) -> int | None:
    """The line of a place, or of the nearest one that it is in."""
    found = (place[:n] for n in range(len(place), -1, -1) if place[:n] in text.lines)
    return next((text.lines[known] for known in found), None)


_LONGEST = 1500
"""Characters of a message, which quotes what was given."""


def _line(name: str, text: Text, place: Place, message: str) -> str:
    known = _line_of(text, place)
    at = name if known is None else f"{name}:{known}"
    message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    return f"{at}: {shown(place)}: {message}" if place else f"{at}: {message}"


# What pydantic says, in our words --------------------------------------------------------------


def _problem(problem: Any, data: dict[str, Any]) -> Problem:
    place = _place(problem["loc"])
    kind, message = problem["type"], problem["msg"].removeprefix("Value error, ")
    if kind == "extra_forbidden":
        message = f"unknown key{nearest(str(place[-1]), _keys(problem['loc']))}"
    elif kind == "missing":
        message = "is missing"
    elif kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        message = f"{_at(data, place)!r} is out of range: {message.lower()}"
    elif kind == "literal_error":
        given, known = _at(data, place), re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        message = f"{given!r} is unknown{nearest(str(given), known)}"
    elif kind.endswith(("_type", "_parsing", "_from_float")):
        message = f"{_at(data, place)!r} is of the wrong kind: {message.lower()}"
    return place, message


def _place(loc: Sequence[Any]) -> Place:
    """Without the tag that says which kind of structure it is."""
    return tuple(
        part
        for n, part in enumerate(loc)
        if not (n and loc[n - 1] == "structure" and n < len(loc) - 1)
        or part not in ("lattice", "file", "random")
    )


def _at(data: Any, place: Place) -> Any:
    for part in place:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _keys(loc: Sequence[Any]) -> list[str]:
    """The keys that are known where the last part of a place stands."""
    models: list[Any] = [config_model()]
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        inside = [
            model
            for parent in models
            if part in parent.model_fields
            for model in _models(parent.model_fields[part].annotation)
        ]
        models = inside or [model for model in models if part in model.model_fields]
    return sorted({key for model in models for key in model.model_fields})


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]


# Changes from the command line -----------------------------------------------------------------


def _changed(text: Text, changes: Sequence[str]) -> Text:
    data = text.data
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--set {change}: write key=value, such as run.steps=1000")
        try:
            new = parsed_yaml(value, f"--set {change}").data if value.strip() else None
        except ConfigurationError as error:
            raise ConfigurationError(f"--set {change}: the value is no YAML.") from error
        data = _with(data, key.split("."), new, change)
    return Text(data, text.lines)


def _with(data: Any, parts: list[str], value: Any, change: str) -> Any:
    first, *rest = parts
    if data is None:
        data = {}
    if isinstance(data, list):
        if not first.isdecimal() or int(first) >= len(data):
            raise ConfigurationError(
                f"--set {change}: there is no entry {first!r} in a list of {len(data)}"
            )
        place = int(first)
        new = value if not rest else _with(data[place], rest, value, change)
        return [*data[:place], new, *data[place + 1 :]]
    if not isinstance(data, dict):
        raise ConfigurationError(f"--set {change}: there is nothing below {first!r}")
    return {**data, first: value if not rest else _with(data.get(first), rest, value, change)}
