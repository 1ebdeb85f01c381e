"""Systems of a configuration: files, sweeps and copies written out, each system with a name."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ase import Atoms

from instar.app.config.files import Inputs, UnmadeStructureError
from instar.app.config.schema import (
    PressureRamp,
    RandomStructure,
    SystemConfig,
    TemperatureRamp,
)
from instar.app.config.structures import made, made_at_random
from instar.app.config.text import Mistake

__all__ = ["MOST_SYSTEMS", "Beginning", "Wanted", "beginning", "ends_of"]

MOST_SYSTEMS = 10_000_000
"""Systems of a run at most."""


class Wanted(NamedTuple):
    """One system: its entry, the name it was given, its temperature (K) and pressure (eV/Å³).

    Where one of them is a ramp, that is its value at the first step of the production, and the
    ``last`` one that at the end. Copies have the same name here; see `names.unique_names`.
    """

    entry: int
    name: str
    temperature: float | None
    pressure: float | None
    last_temperature: float | None = None
    last_pressure: float | None = None

    @property
    def is_ramped(self) -> bool:
        """Whether its temperature or its pressure follows the steps."""
        return self.last_temperature is not None or self.last_pressure is not None

    @property
    def last_conditions(self) -> tuple[float | None, float | None]:
        """Temperature (K) and pressure at the end of ramps."""
        hot, pressure = self.last_temperature, self.last_pressure
        return (
            self.temperature if hot is None else hot,
            self.pressure if pressure is None else pressure,
        )


@dataclasses.dataclass(frozen=True)
class Beginning:
    """What a run begins with: a row per system; copies are one and the same structure."""

    systems: tuple[Wanted, ...]
    structures: tuple[Atoms, ...]


def beginning(
    entries: Mapping[int, SystemConfig],
    folder: Path,
    seed: int,
    inputs: Inputs,
    problems: list[Mistake],
) -> Beginning:
    """Entries one by one: files in their order, all combinations of a sweep, copies together.

    Of a sweep the last key changes fastest. What can't be made is added to the ``problems``.
    """
    systems: list[Wanted] = []
    structures: list[Atoms] = []
    for number, entry in entries.items():
        try:
            _check_count(len(systems) + _fewest(entry))
            for wanted, atoms, copies in _of_entry(number, entry, folder, inputs):
                _check_count(len(systems) + copies)
                if isinstance(atoms, RandomStructure):
                    numbers = range(len(systems), len(systems) + copies)
                    structures += [made_at_random(atoms, seed, n) for n in numbers]
                else:
                    structures += [atoms] * copies
                systems += [wanted] * copies
        except UnmadeStructureError as error:
            problems.append((("systems", number, "structure"), str(error)))
        except _TooManyError as error:
            problems.append((("systems", number), str(error)))
    return Beginning(tuple(systems), tuple(structures))


class _TooManyError(ValueError):
    """More systems than a run may have."""


def _check_count(count: int) -> None:
    """Refuse what could not be listed, before it is."""
    if count > MOST_SYSTEMS:
        raise _TooManyError(
            f"there would be {count} systems, and a run has at most {MOST_SYSTEMS}; ask for fewer "
            "copies, values of a sweep or frames"
        )


def _fewest(entry: SystemConfig) -> int:
    """Systems of an entry, if its structure is one."""
    return entry.copies * math.prod(map(len, _values(entry).values()))


def _values(entry: SystemConfig) -> dict[str, list[Any]]:
    return {} if entry.sweep is None else entry.sweep.model_dump(exclude_none=True)


def _of_entry(
    number: int, entry: SystemConfig, folder: Path, inputs: Inputs
) -> Iterator[tuple[Wanted, Atoms | RandomStructure, int]]:
    """Systems of an entry, what each starts from, and how many of it there are."""
    swept = _values(entry)
    combinations = [dict(zip(swept, v, strict=True)) for v in itertools.product(*swept.values())]
    shapes = dict.fromkeys(map(_of_structure, combinations))
    found = {shape: _starts(entry, shape, folder, inputs) for shape in shapes}
    several = max(map(len, found.values()))
    for frame, chosen in itertools.product(range(several), combinations):
        hot, last_hot = ends_of(chosen.get("temperature", entry.temperature))
        pressure, last_pressure = ends_of(chosen.get("pressure", entry.pressure))
        start, own = found[_of_structure(chosen)][frame]
        name = _name(entry, own, several)
        wanted = Wanted(number, name, hot, pressure, last_hot, last_pressure)
        yield wanted, start, entry.copies


def ends_of(value: float | TemperatureRamp | PressureRamp | None) -> tuple[Any, Any]:
    """What a condition is at first, and at last if that is something else."""
    if isinstance(value, TemperatureRamp | PressureRamp):
        return value.start, value.to
    return value, None


def _of_structure(chosen: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What a combination of a sweep says about the structure."""
    return tuple((k, v) for k, v in chosen.items() if k not in ("temperature", "pressure"))


def _starts(
    entry: SystemConfig, chosen: Iterable[tuple[str, Any]], folder: Path, inputs: Inputs
) -> Sequence[tuple[Any, str]]:
    """What there is to start from, with names; atoms at random are placed for each system."""
    shape: Any = entry.structure.model_copy(update=dict(chosen))
    return [(shape, "")] if isinstance(shape, RandomStructure) else made(shape, folder, inputs)


def _name(entry: SystemConfig, own: str, several: int) -> str:
    """The name that was given, and where one entry is many structures that of each behind it."""
    return f"{entry.name}-{own}" if entry.name and own and several > 1 else entry.name or own
