"""Quantities with units, as numbers in the units that instar computes with.

Inside: eV, Å, amu, e, K, rad; so time is in Å √(amu/eV) and pressure in eV/Å³. CODATA 2018.

In reduced units ε = σ = m = k_B = 1, and time is in τ = σ √(m/ε). What is reduced is computed as if
ε were 1 eV, σ 1 Å and m 1 amu: all numbers are the same inside, but temperatures, of which 1 is
1 eV/k_B.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import numbers
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from instar import units
from instar.geometry.constants import BOLTZMANN

__all__ = ["UnitError", "UnitSystem", "is_reduced", "quantity"]

Dimension = tuple[int, int, int, int, int, int]
"""Powers of energy, length, time, charge, temperature, angle."""

_ENERGY: Dimension = (1, 0, 0, 0, 0, 0)
_LENGTH: Dimension = (0, 1, 0, 0, 0, 0)
_DURATION: Dimension = (0, 0, 1, 0, 0, 0)
_CHARGES: Dimension = (0, 0, 0, 1, 0, 0)
_TEMPERATURE: Dimension = (0, 0, 0, 0, 1, 0)
_ANGLE: Dimension = (0, 0, 0, 0, 0, 1)
_PRESSURE: Dimension = (1, -3, 0, 0, 0, 0)
_MASS: Dimension = (1, -2, 2, 0, 0, 0)

UNITS: dict[str, tuple[float, Dimension]] = {
    "eV": (units.eV, _ENERGY),
    "meV": (units.meV, _ENERGY),
    "J": (units.J, _ENERGY),
    "kJ/mol": (units.kJ_per_mol, _ENERGY),
    "kcal/mol": (units.kcal_per_mol, _ENERGY),
    "hartree": (units.hartree, _ENERGY),
    "angstrom": (units.angstrom, _LENGTH),
    "Å": (units.angstrom, _LENGTH),
    "A": (units.angstrom, _LENGTH),
    "nm": (units.nm, _LENGTH),
    "pm": (units.pm, _LENGTH),
    "bohr": (units.bohr, _LENGTH),
    "cm": (units.cm, _LENGTH),
    "m": (units.m, _LENGTH),
    "fs": (units.fs, _DURATION),
    "ps": (units.ps, _DURATION),
    "ns": (units.ns, _DURATION),
    "s": (units.s, _DURATION),
    "e": (units.e, _CHARGES),
    "V": (1.0, (1, 0, 0, -1, 0, 0)),
    "K": (units.K, _TEMPERATURE),
    "rad": (units.rad, _ANGLE),
    "deg": (units.deg, _ANGLE),
    "amu": (units.amu, _MASS),
    "g": (units.gram, _MASS),
    "kg": (units.kg, _MASS),
    "Pa": (units.Pa, _PRESSURE),
    "kPa": (units.kPa, _PRESSURE),
    "MPa": (units.MPa, _PRESSURE),
    "GPa": (units.GPa, _PRESSURE),
    "bar": (units.bar, _PRESSURE),
    "atm": (units.atm, _PRESSURE),
}

_NAMES: dict[Dimension, str] = {
    _ENERGY: "an energy, such as eV",
    _LENGTH: "a length, such as angstrom",
    _CHARGES: "a charge, such as e",
    _DURATION: "a time, such as fs",
    (0, 0, -1, 0, 0, 0): "an inverse time, such as 1/ps",
    _TEMPERATURE: "a temperature, such as K",
    _PRESSURE: "a pressure, such as bar",
    (-1, 3, 0, 0, 0, 0): "an inverse pressure, such as 1/bar",
    (1, -5, 2, 0, 0, 0): "a density, such as g/cm^3",
    (0, -1, 0, 0, 0, 0): "an inverse length, such as 1/angstrom",
    (1, 6, 0, 0, 0, 0): "an energy times a length to the sixth, such as eV angstrom^6",
    (1, -2, 0, 0, 0, 0): "a stiffness, such as eV/angstrom^2",
    (1, -1, 0, 0, 0, 0): "a force, such as eV/angstrom",
    _ANGLE: "an angle, such as deg",
    (1, 0, 0, 0, 0, -2): "a stiffness of an angle, such as eV/rad^2",
    (0, 0, 0, 0, 0, 0): "a bare number",
}

_NUMBER = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)
_FACTOR = re.compile(r"([*/]?)\s*(1(?![\d.])|[A-Za-zÅ]+)(?:(?:\^|\*\*)(-?\d{1,3})(?!\d))?\s*")


class UnitError(ValueError):
    """A quantity that can't be read, or is of another kind than is needed."""


def quantity(value: Any, dimension: Dimension, unit: str | None = None) -> float:
    """A number, or text such as "8.5 angstrom", as a number in the units used inside.

    A bare number is taken to be in ``unit``, or in those units. Where an energy is needed a
    temperature T stands for k_B·T.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real | str):
        raise UnitError(f"{value!r} is not a quantity; write a number, or a number with a unit.")
    read = _reduced if is_reduced() else _number
    try:
        return _finite(read(value, dimension, unit), value)
    except OverflowError:
        raise UnitError(f"{value!r} is not a finite number.") from None


def _number(value: Any, dimension: Dimension, default: str | None) -> float:
    size = 1.0 if default is None else parse_unit(default)[0]
    if not isinstance(value, str):
        return float(value) * size
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise UnitError(
            f"{value!r} is not a quantity; write a number, then a unit: '8.5 angstrom'."
        )
    number, unit = float(match[1]), match[2].strip()
    factor, found = parse_unit(unit) if unit else (size, dimension)
    if found == _TEMPERATURE and dimension == _ENERGY:
        factor, found = factor * BOLTZMANN, _ENERGY
    if found != dimension:
        raise UnitError(f"{value!r} has the wrong unit: {_name(dimension)} is needed.")
    return number * factor


def _reduced(value: Any, dimension: Dimension, default: str | None) -> float:
    """A reduced number; with units: lj there are no others."""
    match = _NUMBER.fullmatch(str(value))
    if isinstance(value, str) and (match is None or match[2]):
        raise UnitError(f"{value!r} is not a reduced number; with units: lj numbers have no unit.")
    if dimension[3]:
        raise UnitError("charges have no reduced unit; leave out units: lj.")
    return float(value) * _reduced_size(dimension)


def _reduced_size(dimension: Dimension) -> float:
    return BOLTZMANN ** -dimension[4]


_IS_REDUCED: ContextVar[bool] = ContextVar("is_reduced", default=False)


def is_reduced() -> bool:
    """Whether the configuration that is being read has reduced units."""
    return _IS_REDUCED.get()


@dataclasses.dataclass(frozen=True)
class UnitSystem:
    """What the numbers of a run are read and shown in: units by their names, or reduced ones."""

    reduced: bool = False

    @contextlib.contextmanager
    def while_reading(self) -> Iterator[None]:
        """Numbers that are read meanwhile are in these units."""
        before = _IS_REDUCED.set(self.reduced)
        try:
            yield
        finally:
            _IS_REDUCED.reset(before)

    def size(self, unit: str) -> float:
        """What stands for a unit, in the units used inside."""
        factor, dimension = parse_unit(unit)
        return _reduced_size(dimension) if self.reduced else factor

    def label(self, unit: str) -> str:
        """What stands for a unit, in words: "epsilon/sigma^3" for "bar" where it is reduced."""
        return _reduced_label(parse_unit(unit)[1]) if self.reduced else unit


def _reduced_label(dimension: Dimension) -> str:
    energy, length, time, charge, temperature, angle = dimension
    mass = energy if energy > 0 and time == 2 * energy else 0  # as in a density
    powers = {
        "m": mass,
        "epsilon": energy + temperature - mass,
        "sigma": length + 2 * mass,
        "tau": time - 2 * mass,
        "e": charge,
        "k_B": -temperature,
        "rad": angle,
    }
    above = [_power(name, power) for name, power in powers.items() if power > 0]
    below = [f"/{_power(name, -power)}" for name, power in powers.items() if power < 0]
    return "".join([" ".join(above) or ("1" if below else ""), *below])


def _power(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


def parse_unit(text: str) -> tuple[float, Dimension]:
    """A unit such as eV/angstrom^2: its size in the units used inside, and its dimension."""
    if text in UNITS:
        return UNITS[text]
    for compound in ("kJ/mol", "kcal/mol"):
        if text.startswith(compound) and not text[len(compound) : len(compound) + 1].isalpha():
            factor, dimension = parse_unit("eV" + text[len(compound) :])
            return factor * UNITS[compound][0], dimension
    factor, powers, place = 1.0, [0] * 6, 0
    while place < len(text):
        match = _FACTOR.match(text, place)
        if match is None or (match[2] != "1" and match[2] not in UNITS):
            raise UnitError(_no_unit(text))
        sign = -1 if match[1] == "/" else 1
        if match[2] != "1":
            size, dimension = UNITS[match[2]]
            power = sign * int(match[3] or 1)
            factor *= size**power
            powers = [p + power * d for p, d in zip(powers, dimension, strict=True)]
        place = match.end()
    a, b, c, d, e, f = powers
    return factor, (a, b, c, d, e, f)


def _no_unit(text: str) -> str:
    if re.match(r",\d", text):
        return f"{text[:40]!r} is not a unit; write numbers with a point, such as 298.15."
    known = ", ".join(UNITS)
    return f"{text[:40]!r} is not a unit; known are {known}, and products such as eV/Å^2."


def _name(dimension: Dimension) -> str:
    return _NAMES.get(dimension, f"powers {dimension} of energy, length, time, charge, K, rad")


def _finite(number: float, value: Any) -> float:
    if not math.isfinite(number):
        raise UnitError(f"{value!r} is not a finite number.")
    if abs(number) > _LARGEST:
        raise UnitError(f"{value!r} is too large to compute with.")
    return number


_LARGEST = 1e30
"""In the units used inside; far beyond all that has a meaning."""
