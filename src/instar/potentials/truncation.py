"""How a pair formula ends at its cutoff.

    plain         u(r)
    shift         u(r) − u(R)
    force_shift   u(r) − u(R) − (r − R) u'(R)
    switch        u(r) S(x),  x = (r − R₁)/(R − R₁) from an inner radius R₁ on
    tail          u(r), and what lies beyond R on average (see `tail`)

S(x) = 1 − 10x³ + 15x⁴ − 6x⁵ and its first two derivatives are continuous at both ends.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.formula import Formula, energy_and_slope

__all__ = ["TRUNCATIONS", "base_and_ending", "subtracted", "truncated"]

TRUNCATIONS = ("truncate", "shift", "force_shift", "switch", "tail")


@dataclass
class _Lowered(Formula):
    """u(r) − c − r·d, with one c and d for each pair of species."""

    formula: Any
    constant: Array
    slope: Array | None

    def energy(self, squared: Array) -> Array:
        lowered = self.formula.energy(squared) - self.constant
        return lowered if self.slope is None else lowered - jnp.sqrt(squared) * self.slope


@dataclass
class _Switched(Formula):
    """u(r) S(x)."""

    formula: Any
    inner: Array
    cutoff: Array

    def energy(self, squared: Array) -> Array:
        x = (jnp.sqrt(squared) - self.inner) / (self.cutoff - self.inner)
        x = jnp.clip(x, 0, 1)
        return self.formula.energy(squared) * (1 - x**3 * (10 - x * (15 - 6 * x)))


def truncated(formula: Any, kind: str, cutoff: Array, inner: Array | None) -> Formula:
    """The formula as it is summed up to ``cutoff`` (Å)."""
    if kind in ("truncate", "tail"):
        return formula
    if kind == "switch":
        assert inner is not None
        return _Switched(formula, inner, cutoff)
    energy, slope = energy_and_slope(formula, cutoff)
    if kind == "shift":
        return _Lowered(formula, energy, None)
    return _Lowered(formula, energy - cutoff * slope, slope)


def base_and_ending(formula: Any) -> tuple[Any, str, tuple[Any, ...]]:
    """A truncated formula taken apart: as it was, how it ends, and the parameters of that end."""
    if type(formula) is _Switched:
        return formula.formula, "switch", (formula.inner, formula.cutoff)
    if type(formula) is not _Lowered:
        return formula, "plain", ()
    if formula.slope is None:
        return formula.formula, "shift", (formula.constant,)
    return formula.formula, "force_shift", (formula.constant, formula.slope)


def subtracted(formula: Any, kind: str, cutoff: Array) -> Array:
    """What the truncation subtracts at r = 0 (eV)."""
    energy, slope = energy_and_slope(formula, cutoff)
    return {"shift": energy, "force_shift": energy - cutoff * slope}.get(kind, 0 * energy)
