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
import yaml
from ase import Atoms
from pydantic import BaseModel, ValidationError

from instar.app.ase.structures import StructureError, structures_of
from instar.app.config.base import ConfigurationError, shown
from instar.app.config.entries import nearest
from instar.app.config.given import is_record, record_of
from instar.app.config.observers import observations_of
from instar.app.config.potentials import Recipe, recipe_of
from instar.app.config.schema import Config, SystemConfig, config_model
from instar.app.config.systems import UnmadeStructureError, Wanted, expanded, structure_of
from instar.app.config.text import Place, Text, read_yaml
from instar.memory import BudgetError, find_budget
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
    potential: Potential | None = None,
) -> Loaded:
    """A configuration from a file or a mapping, with changes such as ``run.steps=100``.

    A `ConfigurationError` lists all mistakes, each with file, line, and what to do. Files that it
    names are looked for beside it. ``structures`` replace those that it describes; ``potential`` is
    the object that the configuration of a run has recorded (`instar.app.config.given`).
    """
    if isinstance(source, Mapping):
        name, text, folder = "configuration", Text(_plain(source), {}), Path()
    else:
        path = Path(source)
        name, text, folder = str(path), read_yaml(path), path.parent
    if not isinstance(text.data, dict):
        raise ConfigurationError(
            f"{name}: a configuration is a mapping; start from: instar new NAME"
        )
    text = _changed(text, changes)
    try:
        return _loaded(text.data, folder, structures, potential)
    except _ProblemsError as found:
        ordered = sorted(found.problems, key=lambda problem: _line_of(text, problem[0]) or 0)
        lines = [_line(name, text, place, message) for place, message in ordered]
        raise ConfigurationError("\n".join(lines), ordered) from None


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
    data: dict[str, Any],
    folder: Path,
    given: Sequence[Atoms] | None,
    potential: Potential | None,
) -> Loaded:
    problems: list[Problem] = []
    recipe = _recipe(data, potential, problems)
    if recipe is not None and recipe.given is not None:
        data = {**data, "potential": record_of(recipe.given)}
    config = _validated(data, problems)
    observations = _observations(data, problems)
    _check_budget(data, problems)
    systems = tuple(expanded(_entries(data)))
    seed = 0 if config is None else config.seed
    structures = given or [
        _structure(n, one, folder, seed, problems) for n, one in enumerate(systems)
    ]
    if config is not None:
        _check_conditions(config, systems, problems)
    if recipe is not None and recipe.is_recorded and given is None:
        problems.append((("potential",), recipe.absence))
    if problems or config is None or recipe is None:
        _check_anyhow(recipe, problems)
        raise _ProblemsError(_once(problems))
    made = tuple(atoms for atoms in structures if atoms is not None)
    if len(made) != len(systems):
        raise _ProblemsError(
            [(("systems",), f"{len(systems)} systems, where the run has {len(made)}")]
        )
    known = {} if recipe.is_recorded else {range(len(made)): _made(recipe, systems, made)}
    _check_observations(observations, structures_of(made), config.run.steps)
    return Loaded(config, data, systems, made, recipe, observations, known)


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


def _recipe(
    data: dict[str, Any], given: Potential | None, problems: list[Problem]
) -> Recipe | None:
    said = data.get("potential")
    if said is None:
        if "potential" in data:
            problems.append((("potential",), "is missing"))
        return None  # one that is not named at all is reported with all else
    try:
        if given is not None:
            _check_given(said, given)
            return recipe_of(given, tried=False)
        return recipe_of(said, tried=False)
    except ConfigurationError as error:
        problems += error.problems or [(("potential",), str(error))]
        return None


def _check_given(said: Any, given: Potential) -> None:
    """Refuse an object that is not the one a configuration has recorded."""
    if not is_record(said):
        raise ConfigurationError("is in the configuration; no other one can be given")
    if record_of(given) != said:
        raise ConfigurationError(f"the run began with another potential, a {said['object']}")


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
        lacking = [*config.method.lacking(wanted.temperature, wanted.pressure)]
        if wanted.is_ramped:
            ends = (wanted.last_temperature, wanted.last_pressure)
            hot, pressure = (
                first if last is None else last
                for first, last in zip((wanted.temperature, wanted.pressure), ends, strict=True)
            )
            lacking += config.method.lacking(hot, pressure)
            if not config.method.has_set_points:
                lacking.append(f"a ramp has no meaning for {config.method.label}")
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


def _line(name: str, text: Text, place: Place, message: str) -> str:
    known = _line_of(text, place)
    at = name if known is None else f"{name}:{known}"
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


_EITHER = ("number", "ramp")
"""What a temperature or a pressure is, as pydantic names it."""


def _place(loc: Sequence[Any]) -> Place:
    """Without the tags that say which kind of structure it is, and whether there is a ramp."""
    return tuple(
        part
        for n, part in enumerate(loc)
        if not (n and loc[n - 1] == "structure" and n < len(loc) - 1)
        or part not in ("lattice", "file", "random")
        if not (n and loc[n - 1] in ("temperature", "pressure") and part in _EITHER)
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
        if isinstance(part, int) or part in _EITHER:
            continue
        inside = [
            model
            for parent in models
            if part in parent.model_fields
            for model in _models(parent.model_fields[part].annotation)
        ]
        models = inside or [model for model in models if part in model.model_fields]
    fields = {name: one for model in models for name, one in model.model_fields.items()}
    return sorted({one.alias or name for name, one in fields.items()})


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
            new = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigurationError(f"--set {change}: the value is no YAML.") from None
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
