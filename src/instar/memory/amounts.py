"""Amounts of memory as people write them: "8 GiB", "1.5 GB", "640 B"."""

from __future__ import annotations

import math
import re

__all__ = ["parse_amount", "show"]

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB")
_BYTES = {
    unit.lower(): step**power
    for step, units in ((1024, _BINARY), (1000, _DECIMAL))
    for power, unit in enumerate(units)
}
_AMOUNT = re.compile(
    r"(?P<number>[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)\s*(?P<unit>[a-z]*)",
    re.IGNORECASE,
)
_HELP = 'Write it like "8 GiB", "512 MiB", "1.5 GB", "200 kB", or as a number of bytes.'


def parse_amount(text: str | int | float) -> int:
    """How many bytes an amount such as "8 GiB" (1024³ bytes each) or "1.5 GB" (1000³) is.

    Without a unit the number is one of bytes. Units may be written in any case.
    """
    amount = _bytes_in_text(text) if isinstance(text, str) else text
    if isinstance(amount, bool) or not (isinstance(amount, int) or math.isfinite(amount)):
        raise ValueError(f"An amount of memory is a finite number, not {text!r}.\n{_HELP}")
    if amount < 1:
        raise ValueError(f"An amount of memory is at least one byte, not {text!r}.\n{_HELP}")
    return round(amount)


def show(amount: int | float) -> str:
    """The amount to three digits in the binary unit that suits it, such as "1.50 GiB"."""
    power, size = 0, float(amount)
    while round(abs(size)) >= 1024 and power + 1 < len(_BINARY):
        power, size = power + 1, size / 1024
    whole = power == 0 or round(abs(size)) >= 1000
    number = f"{size:.0f}" if whole else f"{size:#.3g}".removesuffix(".")
    return f"{number} {_BINARY[power]}"


def _bytes_in_text(text: str) -> int | float:
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an amount of memory.\n{_HELP}")
    number, unit = found["number"], found["unit"]
    if unit and unit.lower() not in _BYTES:
        raise ValueError(f"{unit!r} in {text!r} is not a unit of memory.\n{_HELP}")
    return float(number) * _BYTES[unit.lower() or "b"]
