"""Configurations: read, changed by ``--set``, validated whole, all mistakes at once."""

from __future__ import annotations

import contextlib
import dataclasses
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from ase import Atoms
from pydantic import BaseModel, ValidationError

from instar.app.config.schema import Config, SystemConfig
from instar.app.config.systems import UnmadeStructureError, Wanted, expanded, structure_of
from instar.app.config.text import Place, Text, read_yaml
from instar.app.models.base import ConfigurationError, shown
from instar.app.potentials import Built, build, nearest
from instar.app.structures import Batch, StructureError, labels_of
from instar.memory import BudgetError, find_budget
from instar.potentials import Pair, Potential

__all__ = ["Loaded", "load"]

Problem = tuple[Place, str]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A configuration that makes sense, and what was made of it."""

    config: Config
    data: dict[str, Any]  # as it was written, changes included
    systems: tuple[Wanted, ...]
    structures: tuple[Atoms, ...]
    potential: Built


def load(
    source: str | Path | Mapping[str, Any],
    changes: Sequence[str] = (),
    structures: Sequence[Atoms] | None = None,
) -> Loaded:
    """A configuration from a file or a mapping, with changes such as ``run.steps=100``.

    A `ConfigurationError` lists all mistakes, each with file, line, and what to do. Files that it
    names are looked for beside it. ``structures`` replace those that it describes.
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
        return _loaded(text.data, folder, structures)
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


def _loaded(data: dict[str, Any], folder: Path, given: Sequence[Atoms] | None) -> Loaded:
    problems: list[Problem] = []
    config = _validated(data, problems)
    built = _potential(data, problems)
    _check_budget(data, problems)
    systems = tuple(expanded(_entries(data)))
    seed = 0 if config is None else config.seed
    structures = given or [
        _structure(n, one, folder, seed, problems) for n, one in enumerate(systems)
    ]
    if config is not None:
        _check_conditions(config, systems, problems)
    if problems or config is None or built is None:
        raise _ProblemsError(_once(problems))
    made = tuple(atoms for atoms in structures if atoms is not None)
    if len(made) != len(systems):
        raise _ProblemsError(
            [(("systems",), f"{len(systems)} systems, where the run has {len(made)}")]
        )
    _check_together(systems, made, built)
    return Loaded(config, data, systems, made, built)


def _entries(data: dict[str, Any]) -> dict[int, SystemConfig]:
    """The systems that are right in themselves, by their number."""
    listed, found = data.get("systems"), {}
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        with contextlib.suppress(ValidationError):
            found[number] = SystemConfig.model_validate(entry)
    return found


def _validated(data: dict[str, Any], problems: list[Problem]) -> Config | None:
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        problems += [_problem(problem, data) for problem in error.errors()]
        return None


def _potential(data: dict[str, Any], problems: list[Problem]) -> Built | None:
    if data.get("potential") is None:
        return None  # reported as missing
    try:
        return build(data["potential"])
    except ConfigurationError as error:
        problems += error.problems or [(("potential",), str(error))]
        return None


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
    method = config.method
    for wanted in systems:
        place = ("systems", wanted.entry)
        if method.ensemble != "nve" and not wanted.temperature:
            problems.append((place, f"{method.ensemble} needs a temperature above zero"))
        if method.ensemble == "npt" and wanted.pressure is None:
            problems.append((place, "npt needs a pressure"))
        if method.ensemble != "npt" and wanted.pressure is not None:
            problems.append((place, f"a pressure has no meaning for {method.ensemble}"))


def _check_together(systems: Sequence[Wanted], structures: Sequence[Atoms], built: Built) -> None:
    """The potential knows all species, cells have a volume, charges are there."""
    problems: list[Problem] = []
    try:
        built.check_structures(len(structures))
    except ConfigurationError as error:
        raise _ProblemsError([(("potential",), str(error))]) from None
    for number, (wanted, atoms) in enumerate(zip(systems, structures, strict=True)):
        own = built.among(range(number, number + 1))
        try:
            potential = own.potential(Batch.of([atoms], built.charges))
            problems += [(("potential",), text) for text in _missing(potential, atoms)]
        except StructureError as error:
            place = ("systems", wanted.entry, "structure")
            problems.append((place, str(error).replace("structure 0", "it")))
        except ConfigurationError as error:
            problems.append((("potential",), str(error)))
    if problems:
        raise _ProblemsError(_once(problems))


def _missing(potential: Potential, atoms: Atoms) -> list[str]:
    """What is said about pairs of species that meet and have no parameters."""
    return [
        f"{type(part.formula).__name__} has no parameters for the pair {first}-{second}"
        for part in potential.terms()
        if isinstance(part, Pair)
        for first, second in part.missing(set(labels_of(atoms)))
    ]


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
        message = f"{_at(data, place)!r} is unknown: {message.lower()}"
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
    models = [Config]
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
