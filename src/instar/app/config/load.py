"""Configurations: read, changed by ``--set``, validated whole, all mistakes at once."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from pydantic import ValidationError

from instar.app.ase.structures import StructureError, structures_of
from instar.app.config.base import ConfigurationError, shown
from instar.app.config.changes import changed
from instar.app.config.given import Given, Input, given_by, plain
from instar.app.config.made import Potentials
from instar.app.config.methods import Method
from instar.app.config.names import unique_names
from instar.app.config.observers import observations_of
from instar.app.config.places import problem_of
from instar.app.config.potentials import Recipe, Trust, recipe_of
from instar.app.config.recorded import is_record, record_of
from instar.app.config.reduced import problems_of_reduced
from instar.app.config.schema import Config, SystemConfig, config_model
from instar.app.config.stages import Stage, conditions_lacking, stages_of, start_of, with_method
from instar.app.config.start_from import place_of, started, with_systems
from instar.app.config.systems import Beginning, Wanted, beginning
from instar.app.config.text import Mistake, Place, Text, read_yaml, wrong_text
from instar.app.config.units import UnitSystem, is_reduced
from instar.geometry import Cell
from instar.memory import BudgetError, find_budget
from instar.neighbors.extents import extents
from instar.neighbors.sizes import uncountable
from instar.observables import Observation
from instar.potentials import Potential
from instar.potentials.structures import Problem, Structures

__all__ = ["Loaded", "load"]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A configuration that makes sense, and what was made of it.

    There is a structure per system; copies are one and the same object.
    """

    config: Config
    data: dict[str, Any]  # as it was written, changes included
    inputs: Mapping[str, Input]  # what it names that was given as an object, or read
    systems: tuple[Wanted, ...]
    structures: tuple[Atoms, ...]
    stages: tuple[Stage, ...]
    recipe: Recipe
    observations: tuple[Observation, ...]
    potentials: Potentials

    @property
    def units(self) -> UnitSystem:
        """What its numbers are shown in."""
        return UnitSystem(self.config.units == "lj")

    @property
    def told(self) -> str:
        """How many systems and atoms there are, in words."""
        systems, atoms = len(self.structures), int(self.counts.sum())
        return f"{systems} system{'s'[: systems != 1]}, {atoms} atom{'s'[: atoms != 1]}"

    @property
    def production(self) -> Stage:
        """The last stage: what averages are taken of."""
        return self.stages[-1]

    @property
    def method(self) -> Method:
        """The method of the production."""
        return self.production.method

    def asked(self, system: Wanted) -> Wanted:
        """What a system is to have in the production; what it had before where that keeps none."""
        keeping = [stage for stage in self.stages if stage.method.has_set_points]
        if self.method.has_set_points or not keeping:
            return self.production.wanted(system)
        temperature, pressure = keeping[-1].wanted(system).last_conditions
        return Wanted(system.entry, system.name, temperature, pressure)

    @property
    def ends_with_ramp(self) -> bool:
        """Whether conditions follow the steps of the production, which can't be more then."""
        last = self.production
        return any(last.wanted(one).is_ramped for one in dict.fromkeys(self.systems))

    def time(self, steps: Any) -> Any:
        """The time (fs) after that many steps; None where steps have none, or a reduced one."""
        if self.units.reduced or self.method.time(1) is None:
            return None
        if len({stage.method.time(1) for stage in self.stages}) == 1:
            return self.method.time(steps)
        parts = (
            stage.method.time(np.clip(steps, stage.first, stage.last) - stage.first)
            for stage in self.stages
        )
        return sum(parts)

    def pace_at(self, step: int) -> Callable[[float], str]:
        """What steps per second mean in the stage of the next step; nothing in reduced units."""
        if self.units.reduced:
            return lambda speed: ""
        return next(stage for stage in self.stages if step < stage.last).method.pace

    @functools.cached_property
    def names(self) -> list[str]:
        """The name of each system; no two are the same."""
        return unique_names([wanted.name for wanted in self.systems])

    def called(self, system: int) -> str:
        """A system in a sentence: its number, and its name if it was given one."""
        name = f" ({self.names[system]})" if self.systems[system].name else ""
        return f"System {system}{name}"

    @functools.cached_property
    def counts(self) -> np.ndarray:
        """(systems,) atoms of each."""
        return np.fromiter(map(len, self.structures), np.int64, len(self.structures))

    def atoms_in(self, systems: range) -> int:
        """Atoms of some of the systems."""
        return int(self.counts[systems.start : systems.stop].sum())

    def different(self, systems: Iterable[int]) -> list[int]:
        """Systems that are not alike: the first of each structure, and those with own terms."""
        return _different(self.structures, self.recipe, systems)


def load(
    source: Any,
    changes: Sequence[str] = (),
    start: Beginning | None = None,
    potential: Potential | None = None,
    trust: Trust = Trust.REFUSED,
) -> Loaded:
    """A configuration from a file or a mapping, with changes such as ``run.steps=100``.

    A `ConfigurationError` lists all mistakes, each with file, line, and what to do. Files that it
    names are looked for beside it. A ``start`` replaces the systems that it describes;
    ``potential`` is the object that the configuration of a run has recorded
    (`instar.app.config.recorded`). ``trust`` says what becomes of potentials that may start
    programs or load code.
    """
    if isinstance(source, Mapping):
        name, text, folder = "configuration", Text(_of_mapping(source), {}), Path()
    elif isinstance(source, str | Path):
        path = Path(source)
        name, text, folder = str(path), read_yaml(path), path.parent
    else:
        raise ConfigurationError(
            f"A configuration is a mapping, or the path of a YAML file; not {source!r}."
        )
    if not isinstance(text.data, dict):
        raise ConfigurationError(
            f"{name}: a configuration is a mapping; start from: instar new NAME"
        )
    text = changed(text, changes)
    try:
        _check_text(text.data)
        return _loaded(text.data, folder, _Brought(start, potential, trust))
    except _ProblemsError as found:
        ordered = sorted(found.problems, key=lambda problem: _line_of(text, problem[0]) or 0)
        lines = [_line(name, text, place, message) for place, message in ordered]
        raise ConfigurationError("\n".join(lines), ordered) from None


def _of_mapping(source: Mapping[str, Any]) -> Any:
    try:
        return plain(source)
    except RecursionError:
        raise ConfigurationError("configuration: it is nested too deeply.") from None


class _ProblemsError(Exception):
    def __init__(self, problems: list[Mistake]) -> None:
        super().__init__(problems)
        self.problems = problems


@dataclasses.dataclass(frozen=True)
class _Brought:
    """What comes with a configuration: where it begins, an object, and how far it is trusted."""

    start: Beginning | None
    potential: Potential | None
    trust: Trust


def _loaded(data: dict[str, Any], folder: Path, brought: _Brought) -> Loaded:
    with UnitSystem(data.get("units") == "lj").while_reading():
        return _read(data, folder, brought)


def _read(data: dict[str, Any], folder: Path, brought: _Brought) -> Loaded:
    problems: list[Mistake] = []
    given = given_by(data, folder, problems, begun=brought.start is not None)
    given = dataclasses.replace(given, resolved=with_systems(given.resolved, given.data, problems))
    recipe = _recipe(given.resolved, brought, problems)
    if recipe is not None and recipe.given is not None:
        given = given.recording(record_of(recipe.given))
    config = _validated(given.resolved, problems)
    observations = _observations(data, problems)
    _check_budget(data, problems)
    if recipe is not None and recipe.is_recorded and brought.start is None:
        problems.append((("potential",), recipe.absence))
    start = brought.start or _begun(given, folder, 0 if config is None else config.seed, problems)
    stages: tuple[Stage, ...] = ()
    if config is not None:
        stages = stages_of(config, given.resolved, problems)
    if config is not None and stages:
        problems += conditions_lacking(stages, start.systems, config)
    if config is not None and recipe is not None and is_reduced():
        problems += problems_of_reduced(config, stages, recipe, observations, data)
    if problems or config is None or recipe is None or not stages:
        _check_anyhow(recipe, problems)
        if given.lacks_topology:  # what it would have had is not missing
            problems = [problem for problem in problems if problem[1] != "is missing"]
        raise _ProblemsError(_once(problems))
    skin = getattr(stages[-1].method, "skin", 0.0)
    potentials = _made(recipe, start, skin)
    _check_cells(stages, start)
    _check_observations(observations, start, recipe, stages[-1].steps)
    return Loaded(
        config,
        given.data,
        given.inputs,
        start.systems,
        start.structures,
        stages,
        recipe,
        observations,
        potentials,
    )


def _begun(given: Given, folder: Path, seed: int, problems: list[Mistake]) -> Beginning:
    entries = _entries(given.resolved)
    origin = start_of(given.data)
    if origin is not None and not isinstance(origin, str):
        return Beginning((), ())
    if origin is None:
        return beginning(entries, folder, seed, given.structures, problems)
    if problems:  # a file that is wrong in itself is not tried with another run
        return Beginning((), ())
    topology = next(iter(given.structures.values()))[0] if given.data.get("topology") else None
    found: list[Mistake] = []
    start = started(folder / origin, list(entries.values()), topology, found)
    problems += [(place or place_of(given.data), text) for place, text in found]
    return start or Beginning((), ())


def _entries(data: dict[str, Any]) -> dict[int, SystemConfig]:
    """The systems that are right in themselves, by their number."""
    listed, found = data.get("systems"), {}
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        with contextlib.suppress(ValidationError):
            found[number] = SystemConfig.model_validate(entry)
    return found


def _validated(data: dict[str, Any], problems: list[Mistake]) -> Config | None:
    whole, model = with_method(data), config_model()
    try:
        return model.model_validate(whole)
    except ValidationError as error:
        found = [problem_of(problem, whole, model) for problem in error.errors()]
        if whole is not data:  # the method is that of the last stage
            last = ("run", len(data["run"]) - 1)
            found = [((*last, *place) if place[0] == "method" else place, t) for place, t in found]
        problems += found
        return None


def _check_text(data: Any) -> None:
    """Refuse text that can't be written to files and terminals, wherever it stands."""
    problems: list[Mistake] = []

    def look(value: Any, place: Place) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                look(key, place)
                look(entry, (*place, key))
        elif isinstance(value, list):
            for number, entry in enumerate(value):
                look(entry, (*place, number))
        elif isinstance(value, str) and (why := wrong_text(value)):
            problems.append((place, f"{value[:40]!a} is not valid text: {why}"))

    look(data, ())
    if problems:
        raise _ProblemsError(problems)


def _recipe(data: dict[str, Any], brought: _Brought, problems: list[Mistake]) -> Recipe | None:
    said, given = data.get("potential"), brought.potential
    if said is None:
        if "potential" in data:
            problems.append((("potential",), "is missing"))
        return None  # one that is not named at all is reported with all else
    try:
        if given is not None:
            _check_given(said, given)
            return recipe_of(given, tried=False)
        return recipe_of(said, tried=False, trust=brought.trust)
    except ConfigurationError as error:
        problems += error.problems or [(("potential",), str(error))]
        return None


def _check_given(said: Any, given: Potential) -> None:
    """Refuse an object that is not the one a configuration has recorded."""
    if not is_record(said):
        raise ConfigurationError("is in the configuration; another one can't be given")
    if record_of(given) != said:
        raise ConfigurationError(f"the run began with another potential, a {said['object']}")


def _observations(data: dict[str, Any], problems: list[Mistake]) -> tuple[Observation, ...]:
    try:
        return observations_of(data.get("observe"))
    except ConfigurationError as error:
        problems += error.problems or [(("observe",), str(error))]
        return ()


def _check_observations(
    observations: Sequence[Observation], start: Beginning, recipe: Recipe, steps: int
) -> None:
    """Everything that is to be observed can be."""
    if not observations:
        return
    numbers = _different(start.structures, recipe, range(len(start.structures)))
    structures = structures_of(start.structures[number] for number in numbers)
    problems: list[Mistake] = []
    for number, one in enumerate(observations):
        found = [_renumbered(text, numbers) for text in one.check(structures)]
        problems += [(("observe", number), text) for text in found]
        if (needed := one.fewest_looks * one.every) > steps:
            text = f"it finds nothing in less than {needed} steps, and the run has {steps}"
            problems.append((("observe", number), text))
    if problems:
        raise _ProblemsError(problems)


def _renumbered(text: str, numbers: Sequence[int]) -> str:
    """Text about the n-th of different structures, as text about the system that it is."""
    return re.sub(r"\bstructure (\d+)", lambda match: f"structure {numbers[int(match[1])]}", text)


def _check_anyhow(recipe: Recipe | None, problems: list[Mistake]) -> None:
    """What is wrong with a potential for any structures, where there are none to try it with."""
    try:
        if recipe is not None:
            recipe.tried(structures_of([]))
    except ConfigurationError as error:
        problems.append((("potential",), str(error)))


def _check_budget(data: dict[str, Any], problems: list[Mistake]) -> None:
    memory = data.get("memory")
    if isinstance(memory, dict) and isinstance(memory.get("budget"), str | int):
        try:
            find_budget(memory["budget"])
        except BudgetError as error:
            problems.append((("memory", "budget"), str(error)))


def _check_cells(stages: Sequence[Stage], start: Beginning) -> None:
    """Systems whose volume is to change have one, and nothing that it can't change around."""
    label = next((stage.method.label for stage in stages if stage.method.has_pressure), None)
    if label is None:
        return
    problems: list[Mistake] = []
    for wanted, atoms in zip(start.systems, start.structures, strict=True):
        if not atoms.pbc.all():
            text = f"{label} needs a cell that repeats along all three axes"
            problems.append((("systems", wanted.entry), text))
        if atoms.constraints:
            text = f"{label} can't change a cell around fixed atoms; free them"
            problems.append((("systems", wanted.entry), text))
    if problems:
        raise _ProblemsError(_once(problems))


def _made(recipe: Recipe, start: Beginning, skin: float) -> Potentials:
    """Every structure has what the potential needs; it is made for those that are not alike."""
    if recipe.is_recorded:
        return Potentials(recipe, start.structures)
    try:
        recipe.check_numbers(len(start.structures))
        numbers = _different(start.structures, recipe, range(len(start.structures)))
        some = structures_of((start.structures[n] for n in numbers), recipe.charges)
        potential, problems = _among(recipe, numbers, len(start.structures)).tried(some)
    except ConfigurationError as error:
        raise _ProblemsError([(("potential",), str(error))]) from None
    except StructureError as error:
        raise _ProblemsError([(("systems",), str(error))]) from None
    if problems or potential is None:
        raise _ProblemsError(_once([_placed(p, numbers, start.systems) for p in problems]))
    _check_reach(potential, some, [start.systems[n].entry for n in numbers], skin)
    return Potentials(recipe, start.structures, potential, numbers)


def _among(recipe: Recipe, numbers: list[int], count: int) -> Recipe:
    return recipe if len(numbers) == count else recipe.among(numbers)


def _different(structures: Sequence[Atoms], recipe: Recipe, systems: Iterable[int]) -> list[int]:
    """Systems that are not alike: the first of each structure, and those with own terms."""
    if not recipe.may_be_cut:
        return list(systems)
    found: dict[int, int] = {}
    own = recipe.named
    for number in systems:
        found.setdefault(id(structures[number]), number)
    return sorted({*found.values(), *(own & set(systems))} if own else found.values())


def _check_reach(
    potential: Potential, structures: Structures, entries: Sequence[int], skin: float
) -> None:
    """Refuse cutoffs that reach over more images of the cell than can be counted."""
    if potential.reach is None:
        return
    cell = Cell.of(structures.vectors, structures.periodic)
    reach = np.broadcast_to(np.asarray(potential.reach, float) + skin, len(structures))
    found = uncountable(extents(structures.positions, structures.system, cell, reach))
    problems: list[Mistake] = [
        (("systems", entries[n]), f"{what}; make the cutoff shorter") for n, what in found.items()
    ]
    if problems:
        raise _ProblemsError(_once(problems))


def _placed(problem: Problem, numbers: Sequence[int], systems: Sequence[Wanted]) -> Mistake:
    """What a structure lacks, at the entry that it comes from."""
    wanted = systems[numbers[problem.structure]]
    several = len({one.name for one in systems if one.entry == wanted.entry}) > 1
    name = f"{wanted.name}: " if several else ""
    return ("systems", wanted.entry, "structure"), f"{name}{problem.text}. {problem.advice}"


def _once(problems: list[Mistake]) -> list[Mistake]:
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
