"""Quantities with units as fields of a configuration, and what all its parts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from instar.app.config.units import Dimension, quantity

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


def _of(dimension: Dimension, unit: str | None = None) -> Any:
    return BeforeValidator(lambda value: quantity(value, dimension, unit))


Length = Annotated[float, _of((0, 1, 0, 0, 0, 0))]
Positive = Annotated[float, _of((0, 1, 0, 0, 0, 0)), Field(gt=0)]

# With the units that bare numbers have in the files of a run.
Duration = Annotated[float, _of((0, 0, 1, 0, 0, 0), "fs"), Field(gt=0)]
Temperature = Annotated[float, _of((0, 0, 0, 0, 1, 0), "K"), Field(ge=0)]
Pressure = Annotated[float, _of((1, -3, 0, 0, 0, 0), "bar")]
Density = Annotated[float, _of((1, -5, 2, 0, 0, 0), "g/cm^3"), Field(gt=0)]


class Strict(BaseModel):
    """A mapping in which unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
