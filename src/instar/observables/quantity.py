"""`Quantity`: a column of numbers that is written down, with its unit and a word about it."""

from __future__ import annotations

import dataclasses
from typing import Literal

__all__ = ["Quantity"]


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A column of a table of rows: what it is, its unit, and its shape.

    unit    the unit that it is shown and stored in; inside of instar it has internal units
    help    what it is
    of      whether there is one per system or one per particle
    shape   the shape of one
    dtype   how it is stored
    shown   how it is drawn against time: as it is, as a change since the first row, or not at all
    live    whether it is shown while a run goes on
    """

    unit: str
    help: str
    of: Literal["systems", "particles"] = "systems"
    shape: tuple[int, ...] = ()
    dtype: str = "float64"
    shown: Literal["value", "change", "no"] = "no"
    live: bool = False
