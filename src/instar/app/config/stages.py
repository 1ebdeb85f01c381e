"""`Stage`: steps of a run with one method, set-points and spacings in common; and a run as stages.

``run: {equilibration: 200, steps: 1000}`` is two stages with the method on top; ``run: [{…}, {…}]``
lists them, and each may change what it needs to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from instar.app.config.methods import Method, inherited, method_model
from instar.app.config.names import unique_names
from instar.app.config.places import problem_of
from instar.app.config.schema import Config, PressureRamp, RunConfig, StageConfig, TemperatureRamp
from instar.app.config.systems import Wanted, ends_of
from instar.app.config.text import Mistake, Place

__all__ = ["Stage", "conditions_lacking", "rows_of", "stages_of", "start_of", "with_method"]

EQUILIBRATION, PRODUCTION = "equilibration", "production"


@dataclasses.dataclass(frozen=True)
class Stage:
    """Some steps of a run: from the one after ``first`` to ``last``.

    Conditions are in place of those of the systems; ramps go over the steps ``ramp``. A stage that
    ``settles`` brings systems to their temperature, whatever the method keeps.
    """

    name: str
    place: Place
    method: Method
    steps: int
    thermo_every: int
    trajectory_every: int
    temperature: float | TemperatureRamp | None = None
    pressure: float | PressureRamp | None = None
    first: int = 0
    ramp: range = range(0)
    settles: bool = False

    @property
    def last(self) -> int:
        """Steps that are made when it has ended."""
        return self.first + self.steps

    def wanted(self, system: Wanted) -> Wanted:
        """A system with the conditions that it has during this stage."""
        hot, last_hot = ends_of(self.temperature)
        pressure, last_pressure = ends_of(self.pressure)
        if self.temperature is not None:
            system = system._replace(temperature=hot, last_temperature=last_hot)
        if self.pressure is not None:
            system = system._replace(pressure=pressure, last_pressure=last_pressure)
        if not self.method.has_pressure:
            system = system._replace(pressure=None, last_pressure=None)
        return system


def rows_of(stages: Sequence[Stage], spacing: str) -> int:
    """Rows that stages have in all: ``thermo_every`` or ``trajectory_every`` says how often.

    The start of a stage is one, unless the stage before has ended with it.
    """
    rows, is_there = 0, False
    for stage in stages:
        if every := getattr(stage, spacing):
            rows += stage.steps // every + (not is_there)
        is_there = bool(every) and stage.steps % every == 0
    return rows


def start_of(data: Mapping[str, Any]) -> Any:
    """What ``start_from`` says: the folder of the run before; None if there is none."""
    run = data.get("run")
    first = run[0] if isinstance(run, list) and run else run
    return first.get("start_from") if isinstance(first, Mapping) else None


def with_method(data: dict[str, Any]) -> dict[str, Any]:
    """The configuration with a method on top, if only its stages have one."""
    run = data.get("run")
    if data.get("method") is not None or not isinstance(run, list) or not run:
        return data
    own = [stage.get("method") if isinstance(stage, dict) else None for stage in run]
    return {**data, "method": own[-1]} if all(own) else data


def stages_of(
    config: Config, data: Mapping[str, Any], problems: list[Mistake]
) -> tuple[Stage, ...]:
    """The stages of a run; none if one of them is wrong, which is added to the ``problems``."""
    if isinstance(config.run, RunConfig):
        stages = _equilibration_and_production(config, config.run)
        problems += _too_long(stages)
        return stages
    top = data.get("method") or {}
    names = _names(config.run, config)
    found: list[Stage] = []
    first = 0
    for number, one in enumerate(config.run):
        place = ("run", number)
        method = _method(top, one.method, place, problems) if one.method else config.method
        if number and one.start_from is not None:
            problems.append(((*place, "start_from"), "only the first stage starts from a run"))
        if method is None:
            continue
        stage = Stage(
            names[number],
            place,
            method,
            one.steps,
            one.output.thermo_every or config.output.thermo_every,
            _first_known(one.output.trajectory_every, config.output.trajectory_every),
            one.temperature,
            one.pressure,
            first,
            range(first, first + one.steps),
        )
        found.append(stage)
        first = stage.last
    problems += _unfit(found)
    problems += _too_long(found)
    return tuple(found) if len(found) == len(config.run) else ()


_MOST_STEPS = 2**32 - 2
"""What a counter of steps holds."""


def _too_long(stages: Sequence[Stage]) -> Iterator[Mistake]:
    if stages and stages[-1].last > _MOST_STEPS:
        yield ("run",), f"has {stages[-1].last} steps in all; at most {_MOST_STEPS} can be counted"


def _equilibration_and_production(config: Config, run: RunConfig) -> tuple[Stage, ...]:
    """Two stages with the same method; ramps begin with the second."""
    output, begin = config.output, run.equilibration
    over = range(begin, begin + run.steps)
    common = (("run",), config.method)
    production = Stage(
        PRODUCTION, *common, run.steps, output.thermo_every, output.trajectory_every,
        first=begin, ramp=over,
    )  # fmt: skip
    if not begin:
        return (production,)
    before = Stage(EQUILIBRATION, *common, begin, output.thermo_every, 0, ramp=over, settles=True)
    return before, production


def _first_known(value: int | None, default: int) -> int:
    return default if value is None else value


def _names(stages: Sequence[StageConfig], config: Config) -> list[str]:
    """Those that were given, else the ensemble or type; each once."""
    own = (
        {**config.method.model_dump(include={"ensemble", "type"}), **(s.method or {})}
        for s in stages
    )
    known = [
        stage.name or str(said.get("ensemble") or said.get("type"))
        for stage, said in zip(stages, own, strict=True)
    ]
    return unique_names(known)


def _method(
    top: Mapping[str, Any], own: Mapping[str, Any], place: Place, problems: list[Mistake]
) -> Method | None:
    """The method of a stage: what it says, and what has a meaning for that of the one on top."""
    said, kind = inherited(top, own), method_model()
    try:
        return TypeAdapter(kind).validate_python(said)
    except ValidationError as error:
        found = [problem_of(problem, said, kind) for problem in error.errors()]
        problems += [((*place, "method", *at), text) for at, text in found]
        return None


def _unfit(stages: Sequence[Stage]) -> Iterator[Mistake]:
    """Stages that can't follow each other."""
    for stage in stages[1:]:
        if stage.method.type != stages[0].method.type:
            yield stage.place, f"stages are of one type; the first is {stages[0].method.type}"
            continue
        for key in stage.method.COMMON:
            if getattr(stage.method, key) != getattr(stages[0].method, key):
                yield (*stage.place, "method", key), "is the same for all stages; set it on top"
        if stage.temperature is not None and not stage.method.has_set_points:
            text = f"a temperature has no meaning for {stage.method.label} after the first stage"
            yield (*stage.place, "temperature"), text


def conditions_lacking(
    stages: Sequence[Stage], systems: Sequence[Wanted], config: Config
) -> Iterator[Mistake]:
    """What systems lack in one of the stages, and what they have that no stage can follow."""
    is_listed = isinstance(config.run, list)
    for wanted in dict.fromkeys(one._replace(name="") for one in systems):
        place = ("systems", wanted.entry)
        if wanted.is_ramped and is_listed:
            yield place, "with stages, a ramp is written in the stage that it belongs to"
        for stage in stages:
            where = f" (stage {stage.name})" if is_listed else ""
            yield from ((place, f"{text}{where}") for text in _lacking(stage, wanted))
    yield from _pressures_without_meaning(stages, config)
    yield from _temperatures_without_meaning(stages, config)


def _temperatures_without_meaning(stages: Sequence[Stage], config: Config) -> Iterator[Mistake]:
    """Velocities are those of the run before: no temperature is drawn for."""
    first = config.run[0] if isinstance(config.run, list) else config.run
    if first.start_from is None or stages[0].method.has_set_points or stages[0].settles:
        return
    text = f"a temperature has no meaning for {stages[0].method.label}: velocities are kept"
    if stages[0].temperature is not None:
        yield (*stages[0].place, "temperature"), text
    if not any(stage.method.has_set_points for stage in stages):
        for number, entry in enumerate(config.systems):
            if entry.temperature is not None:
                yield ("systems", number), text


def _pressures_without_meaning(stages: Sequence[Stage], config: Config) -> Iterator[Mistake]:
    for number, entry in enumerate(config.systems):
        swept = entry.sweep is not None and entry.sweep.pressure is not None
        is_used = any(stage.method.has_pressure for stage in stages)
        if (swept or entry.pressure is not None) and not is_used:
            yield ("systems", number), f"a pressure has no meaning for {stages[-1].method.label}"
    for stage in stages:
        if stage.pressure is not None and not stage.method.has_pressure:
            text = f"a pressure has no meaning for {stage.method.label}"
            yield (*stage.place, "pressure"), text
        elif stage.pressure != stages[-1].pressure and not stage.method.has_set_points:
            text = f"the pressure of {stage.method.label} is the same for all stages"
            yield (*stage.place, "pressure"), text


def _lacking(stage: Stage, system: Wanted) -> Iterator[str]:
    """What a system lacks during a stage, at its beginning and at the end of its ramps."""
    wanted = stage.wanted(system)
    yield from stage.method.lacking(wanted.temperature, wanted.pressure)
    if wanted.is_ramped:
        yield from stage.method.lacking(*wanted.last_conditions)
        if not stage.method.has_set_points:
            yield f"a ramp has no meaning for {stage.method.label}"
