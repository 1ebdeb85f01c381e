"""Quantities with units as fields of a configuration, and what all its parts have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from instar.app.units import Dimension, quantity

__all__ = [
    "Angle",
    "Charge",
    "ConfigurationError",
    "Dispersion",
    "Energy",
    "Force",
    "InverseLength",
    "Length",
    "Number",
    "Positive",
    "Stiffness",
    "Strict",
    "TorsionStiffness",
]


class ConfigurationError(ValueError):
    """A configuration with mistakes: all of them, each with its place and what to do."""


def _of(dimension: Dimension) -> Any:
    return BeforeValidator(lambda value: quantity(value, dimension))


Energy = Annotated[float, _of((1, 0, 0, 0, 0, 0))]
Length = Annotated[float, _of((0, 1, 0, 0, 0, 0))]
Positive = Annotated[float, _of((0, 1, 0, 0, 0, 0)), Field(gt=0)]
InverseLength = Annotated[float, _of((0, -1, 0, 0, 0, 0))]
Dispersion = Annotated[float, _of((1, 6, 0, 0, 0, 0))]
Stiffness = Annotated[float, _of((1, -2, 0, 0, 0, 0))]
Force = Annotated[float, _of((1, -1, 0, 0, 0, 0))]
Charge = Annotated[float, _of((0, 0, 0, 1, 0, 0))]
Angle = Annotated[float, _of((0, 0, 0, 0, 0, 1))]
TorsionStiffness = Annotated[float, _of((1, 0, 0, 0, 0, -2))]
Number = Annotated[float, _of((0, 0, 0, 0, 0, 0))]


class Strict(BaseModel):
    """A mapping in which unknown keys are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)
