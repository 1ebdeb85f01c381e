"""Fields on single particles as they stand in configuration files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator

from instar.app.models.base import Energy, Force, Length, Number, Positive, Stiffness, Strict
from instar.app.structures import Batch
from instar.potentials import HarmonicTrap, Potential, UniformField, Wall

__all__ = ["FieldConfig", "TrapConfig", "WallConfig"]

Vector = tuple[Length, Length, Length]


def _for_each_axis(value: Any) -> Any:
    """One value for all three axes, or one each."""
    return value if isinstance(value, list | tuple) else (value,) * 3


def _direction(value: tuple[float, ...]) -> tuple[float, ...]:
    if not any(value):
        raise ValueError("a direction is not zero along all axes")
    return value


class TrapConfig(Strict):
    """`type: harmonic_trap`."""

    type: Literal["harmonic_trap"]
    stiffness: Annotated[tuple[Stiffness, Stiffness, Stiffness], BeforeValidator(_for_each_axis)]
    centre: Vector = (0.0, 0.0, 0.0)

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return HarmonicTrap(np.array(self.stiffness), np.array(self.centre))


class FieldConfig(Strict):
    """`type: uniform_field`."""

    type: Literal["uniform_field"]
    force: tuple[Force, Force, Force]
    strength: Literal["charges"] | None = None

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return UniformField(np.array(self.force), self.strength)


class WallConfig(Strict):
    """`type: wall`."""

    type: Literal["wall"]
    epsilon: Energy
    sigma: Positive
    point: Vector = (0.0, 0.0, 0.0)
    normal: Annotated[tuple[Number, Number, Number], AfterValidator(_direction)]

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return Wall(
            np.float64(self.epsilon),
            np.float64(self.sigma),
            np.array(self.point),
            np.array(self.normal),
        )
