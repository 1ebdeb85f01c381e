"""What values of parameters must be, beyond bounds: for ``option(check=...)``."""

from __future__ import annotations

import math

__all__ = ["bend", "direction", "multiplicity"]


def bend(value: float) -> float:
    """An angle between two bonds (rad)."""
    if not 0 <= value <= math.pi:
        raise ValueError(f"is between 0 and 180 deg, not {math.degrees(value):g} deg")
    return value


def multiplicity(value: float) -> float:
    """How often an angle repeats in a full turn."""
    if value < 1 or value % 1:
        raise ValueError(f"is a whole number from 1, not {value:g}")
    return value


def direction(value: tuple[float, ...]) -> tuple[float, ...]:
    """A vector that points somewhere."""
    if not any(value):
        raise ValueError("a direction is not zero along all axes")
    if not 1e-6 <= (length := math.hypot(*value)) <= 1e6:
        raise ValueError(f"a direction has a length of about 1, not {length:g}")
    return value
