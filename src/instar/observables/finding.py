"""`Finding`: what an observer of a run has found, ready to be stored and drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

__all__ = ["Curve", "Finding", "Value"]


@dataclasses.dataclass(frozen=True)
class Curve:
    """A function of something for each system; NaN where nothing was seen.

    x, y                             (systems, points), in internal units
    x_name, x_unit, y_name, y_unit   what they are, and the units that they are shown in
    """

    x: np.ndarray
    y: np.ndarray
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str = ""


@dataclasses.dataclass(frozen=True)
class Value:
    """A number for each system (systems,) with its standard error; NaN where it is not known.

    Both in internal units; ``unit`` is the one that they are shown in.
    """

    value: np.ndarray
    error: np.ndarray
    unit: str = ""


@dataclasses.dataclass(frozen=True)
class Finding:
    """Curves and values by name."""

    curves: Mapping[str, Curve] = dataclasses.field(default_factory=dict)
    values: Mapping[str, Value] = dataclasses.field(default_factory=dict)
