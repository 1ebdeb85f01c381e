"""Quantities with units as fields of a configuration, and what all its parts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from instar.app.config.units import Dimension, UnitSystem, is_reduced, parse_unit, quantity

__all__ = [
    "ConfigurationError",
    "Density",
    "Duration",
    "Length",
    "Positive",
    "Pressure",
    "Strict",
    "Temperature",
    "shown",
]


class ConfigurationError(ValueError):
    """A configuration with mistakes: all of them, each with its place and what to do.

    ``problems`` lists places and messages one by one, where they are known.
    """

    def __init__(self, message: str, problems: Sequence[tuple[tuple[Any, ...], str]] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


def shown(place: Sequence[Any]) -> str:
    """A place as text: systems[0].structure."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def _of(dimension: Dimension) -> Any:
    return BeforeValidator(lambda value: quantity(value, dimension))


def _in(unit: str, most: float, least: float = 0.0) -> Any:
    """A quantity, in ``unit`` if it is a bare number, between so many of them if it is not 0."""
    size, dimension = parse_unit(unit)

    def read(value: Any) -> float:
        number = quantity(value, dimension, unit)
        if abs(number) > most * size:
            raise ValueError(f"{value!r} is out of range: must be at most {limit(most)}")
        if 0 < number < least * size:
            raise ValueError(f"{value!r} is out of range: must be at least {limit(least)}")
        return number

    def limit(count: float) -> str:
        if not is_reduced():
            return f"{count:.0e} {unit}"
        return f"{count * size / UnitSystem(reduced=True).size(unit):.0e}"

    return BeforeValidator(read)


Length = Annotated[float, _of((0, 1, 0, 0, 0, 0))]
Positive = Annotated[float, _of((0, 1, 0, 0, 0, 0)), Field(gt=0)]

# With the units that bare numbers have in the files of a run; what is beyond is a slip of the pen.
Duration = Annotated[float, _in("fs", most=1e9, least=1e-9), Field(gt=0)]
Temperature = Annotated[float, _in("K", most=1e9), Field(ge=0)]
Pressure = Annotated[float, _in("bar", most=1e12)]
Density = Annotated[float, _in("g/cm^3", most=1e12), Field(gt=0)]


class Strict(BaseModel):
    """A mapping in which unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
