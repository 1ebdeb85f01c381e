"""Styles of LAMMPS for bonded terms, each as terms of a configuration.

LAMMPS writes harmonic terms without ½, so k = 2K; angles are in degrees, stiffnesses by rad².
Dihedral angles are 180° in trans in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from instar.app.topology.base import Term
from instar.app.topology.lammps.options import Scales

__all__ = ["STYLES", "Style", "UnclearError"]


class UnclearError(ValueError):
    """Coefficients that have no counterpart."""


class Style(NamedTuple):
    """How many coefficients a style has (None: it says so itself), and what they become."""

    size: int | None
    convert: Callable[[list[float], Scales], list[Term]]


def _check_positive(*given: tuple[str, float]) -> None:
    """Stiffnesses and lengths below zero are mistakes: nothing would hold together."""
    for name, value in given:
        if value < 0:
            raise UnclearError(f"{name} is {value:g}, which is below 0.")


def _harmonic_bond(given: list[float], unit: Scales) -> list[Term]:
    stiffness, length = given
    _check_positive(("K", stiffness), ("r0", length))
    k = 2 * stiffness * unit.energy / unit.length**2
    return [Term("harmonic_bond", {"k": k, "r0": length * unit.length})]


def _morse_bond(given: list[float], unit: Scales) -> list[Term]:
    depth, alpha, length = given
    _check_positive(("D", depth), ("alpha", alpha), ("r0", length))
    values = {"D": depth * unit.energy, "a": alpha / unit.length, "r0": length * unit.length}
    return [Term("morse_bond", values)]


def _angle(kind: str) -> Callable[[list[float], Scales], list[Term]]:
    def terms(given: list[float], unit: Scales) -> list[Term]:
        stiffness, degrees = given
        _check_positive(("K", stiffness))
        values = {"k": 2 * stiffness * unit.energy, "theta0": math.radians(degrees)}
        return [Term(kind, values)]

    return terms


def _periodic(energy: float, n: float | int, phase: float, kind: str = "dihedral") -> list[Term]:
    """k(1 + cos(nφ − φ₀)); a constant where n is 0, nothing where k is."""
    if n != int(n) or n < 0:
        raise UnclearError(f"the multiplicity {n:g} is not a whole number from 0 on.")
    if energy == 0:
        return []
    if n == 0:
        constant = energy * (1 + math.cos(phase))
        return [Term("rb_dihedral", {"c": [constant, 0.0, 0.0, 0.0, 0.0, 0.0]})]
    return [Term(f"periodic_{kind}", {"n": int(n), "phi0": phase, "k": energy})]


def _signed(kind: str) -> Callable[[list[float], Scales], list[Term]]:
    """K(1 + d cos(nφ)) with d = ±1."""

    def terms(given: list[float], unit: Scales) -> list[Term]:
        energy, sign, n = given
        if sign not in (1, -1):
            raise UnclearError(f"d must be 1 or -1, not {sign:g}.")
        return _periodic(energy * unit.energy, n, 0.0 if sign == 1 else math.pi, kind)

    return terms


def _charmm(given: list[float], unit: Scales) -> list[Term]:
    energy, n, degrees, weight = given
    if weight != 0:
        raise UnclearError(
            f"the weight {weight:g} is not 0; give the factors of pairs 1-4 apart as special_bonds."
        )
    return _periodic(energy * unit.energy, n, math.radians(degrees))


def _opls(given: list[float], unit: Scales) -> list[Term]:
    phases = (0.0, math.pi, 0.0, math.pi)
    halves = [energy * unit.energy / 2 for energy in given]
    rows = zip(halves, range(1, 5), phases, strict=True)
    return [term for energy, n, phase in rows for term in _periodic(energy, n, phase)]


def _multi_harmonic(given: list[float], unit: Scales) -> list[Term]:
    """Σ Aₙ cosⁿ⁻¹φ; with φ − π in place of φ every odd power changes its sign."""
    signed = [(-1) ** n * energy * unit.energy for n, energy in enumerate(given)]
    return [Term("rb_dihedral", {"c": [*signed, 0.0]})]


def _fourier(given: list[float], unit: Scales) -> list[Term]:
    if not given or len(given) != 1 + 3 * given[0]:
        raise UnclearError("the number m of terms must be followed by K, n and d of each.")
    rows = [given[1 + 3 * m : 4 + 3 * m] for m in range(int(given[0]))]
    return [
        term
        for energy, n, degrees in rows
        for term in _periodic(energy * unit.energy, n, math.radians(degrees))
    ]


def _harmonic_improper(given: list[float], unit: Scales) -> list[Term]:
    stiffness, degrees = given
    if degrees != 0:
        raise UnclearError(
            f"χ0 is {degrees:g}°; LAMMPS' angle has no sign, so only 0 says which side is meant."
        )
    return [Term("harmonic_improper", {"k": 2 * stiffness * unit.energy, "phi0": 0.0})]


STYLES: dict[str, dict[str, Style]] = {
    "bond": {"harmonic": Style(2, _harmonic_bond), "morse": Style(3, _morse_bond)},
    "angle": {
        "harmonic": Style(2, _angle("harmonic_angle")),
        "cosine/squared": Style(2, _angle("cosine_angle")),
    },
    "dihedral": {
        "harmonic": Style(3, _signed("dihedral")),
        "charmm": Style(4, _charmm),
        "opls": Style(4, _opls),
        "multi/harmonic": Style(5, _multi_harmonic),
        "fourier": Style(None, _fourier),
    },
    "improper": {
        "harmonic": Style(2, _harmonic_improper),
        "cvff": Style(3, _signed("improper")),
    },
}
"""Supported styles of each interaction."""
