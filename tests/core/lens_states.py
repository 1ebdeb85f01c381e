"""States with parts, for tests of lenses."""

from typing import Any

import jax.numpy as jnp

from instar.core.lens import (
    HasLensFields,
    LensField,
    lens_property,
)
from instar.core.utils.jax import dataclass, field, lens_field


@dataclass
class Node:
    value: Any
    child: Any
    tag: str = field(static=True, default="")


@dataclass
class Point(HasLensFields):
    x: LensField[float] = lens_field()
    y: LensField[float] = lens_field(default=3.0)
    name: str = field(static=True, default="p")


@dataclass
class State(HasLensFields):
    point: LensField[Point]
    weights: Any

    @lens_property
    def x(self) -> float:
        return self.point.x

    @lens_property
    def both(self) -> tuple[float, float]:
        return (self.point.x, self.point.y)


STATE = State(Point(1.0), jnp.arange(4.0))
