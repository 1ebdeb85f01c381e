"""How much memory a run may take, and where that number comes from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from instar.memory.amounts import parse_amount, show
from instar.memory.readings import ROOT, Device, Reading, readings_of

__all__ = ["FIXED", "HEADROOM", "Budget", "BudgetError", "find_budget", "taken_by"]

HEADROOM = 0.1
"""The part of a budget that is kept free by default: other allocations, fragments."""

FIXED = 48 * 2**20
"""Bytes that a run takes whatever its size: a writer's buffers, small programs, threads."""

_KEPT = 3
"""One in so many bytes is kept by the C library after it was freed."""

_SHARE = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*%")


class BudgetError(ValueError):
    """No budget can be made of what was asked for and what is left."""


@dataclasses.dataclass(frozen=True)
class Budget:
    """The bytes that a run may take beyond what the process holds already.

    ``source`` says where the number comes from, ``readings`` what the machine said then.
    """

    bytes: int
    source: str
    readings: tuple[Reading, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The budget as plain numbers, texts and lists, to be written into a file."""
        listed = [reading._asdict() for reading in self.readings]
        return {"bytes": self.bytes, "source": self.source, "readings": listed}

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Budget:
        """The budget that `to_json` was called on."""
        listed = tuple(Reading(**reading) for reading in content["readings"])
        return Budget(content["bytes"], content["source"], listed)

    def usable(self, headroom: int | float = HEADROOM) -> int:
        """Bytes that work may take, with that part of the budget kept free."""
        return max(1, int(self.bytes * (1 - headroom)))


def taken_by(live: int) -> int:
    """Bytes that a process on a CPU grows by, if so many are live while its programs run."""
    return live + live // _KEPT + FIXED


def find_budget(
    asked: str | int | float | Budget | None = None,
    *,
    device: Device | None = None,
    root: Path = ROOT,
) -> Budget:
    """The memory for a run: all that is left, a share of it ("60 %"), or an amount ("8 GiB").

    An amount is what the run may take beyond what the process holds already; where less is left,
    it is what is left. A budget is given back as it is.
    """
    if isinstance(asked, Budget):
        return asked
    if asked is None:
        found = readings_of(device, root)
        tightest = _tightest(found)
        return Budget(tightest.left, tightest.source, found)
    if isinstance(asked, str) and "%" in asked:
        return _of_share(_share(asked), readings_of(device, root))
    amount = _amount(asked)
    written = " ".join(asked.split()) if isinstance(asked, str) else show(amount)
    return _of_amount(amount, f"given: {written}", readings_of(device, root))


def _of_share(share: float, found: tuple[Reading, ...]) -> Budget:
    tightest = _tightest(found)
    part = int(tightest.left * share / 100)
    return Budget(part, f"{share:g} % of {tightest.source}", found)


def _of_amount(amount: int, given: str, found: tuple[Reading, ...]) -> Budget:
    tightest = _tightest(found) if found else None
    if tightest is None or amount <= tightest.left:
        return Budget(amount, given, found)
    left = f"of which {show(tightest.left)} are left ({tightest.source})"
    return Budget(tightest.left, f"{given}, {left}", found)


def _tightest(found: tuple[Reading, ...]) -> Reading:
    if not found:
        raise BudgetError(
            "How much memory there is cannot be read on this machine.\n"
            'Say how much the run may take, such as "8 GiB".'
        )
    tightest = min(found, key=lambda reading: reading.left)
    if tightest.left == 0:
        raise BudgetError(
            f"No memory is left: {tightest.source}.\n"
            + "".join(f"    {_line(reading)}\n" for reading in found)
            + "Raise that limit, or end what holds the memory."
        )
    return tightest


def _line(reading: Reading) -> str:
    held, limit = show(reading.held), show(reading.limit)
    return f"{reading.source}: {show(reading.left)} left, {held} held of {limit}"


def _share(asked: str) -> float:
    found = _SHARE.fullmatch(asked.strip())
    if found is None:
        raise BudgetError(f'{asked!r} is not a share of the memory.\nWrite it like "60 %".')
    share = float(found[1])
    if not 0 < share <= 100:
        raise BudgetError(
            f"A share of the memory is above 0 % and at most 100 %, not {asked!r}.\n"
            'Write it like "60 %".'
        )
    return share


def _amount(asked: Any) -> int:
    number = isinstance(asked, str | int | float | np.integer | np.floating)
    if not number or (not isinstance(asked, str) and abs(asked) > 2**62):
        raise BudgetError(f'A budget is an amount such as "8 GiB" or "60 %", not {asked!r:.50}.')
    try:
        return parse_amount(asked if isinstance(asked, str | int | float) else asked.item())
    except ValueError as error:
        raise BudgetError(f'{error}\nA share of what is left is written like "60 %".') from None
