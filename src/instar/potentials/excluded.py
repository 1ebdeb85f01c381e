"""What is left between excluded pairs: scaled pair potentials, and what Ewald sums put there.

    pair potentials   f u(r)
    charges           kₑ q q' [f/r − erf(αr)/r − c − d r]

The cloud around each charge, and what a truncation subtracts (c + d r), act between all charges, so
for excluded pairs they are taken away again; a factor f of the bare interaction remains.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Bond
from instar.potentials.screening import error_function_over_distance

__all__ = ["ExcludedCharges", "ScaledPairs"]


@dataclass
class ScaledPairs(Bond):
    """f u(r) up to a cutoff (Å), one row of parameters a pair."""

    formula: Any
    factor: Array
    cutoff: Array

    def energy(self, coordinate: Array) -> Array:
        """f u(r), zero where f is zero however close two particles are."""
        counts = (self.factor != 0) & (coordinate < self.cutoff)
        safe = jnp.where(counts, coordinate, self.cutoff)
        return jnp.where(counts, self.factor * self.formula.energy(safe * safe), 0)


@dataclass
class ExcludedCharges(Bond):
    """kₑ q q' [f/r − erf(αr)/r − c − d r] up to a cutoff (Å), one row of parameters a pair."""

    product: Array  # kₑ q q', eV Å
    factor: Array
    alpha: Array  # 1/Å
    constant: Array  # c, 1/Å
    slope: Array  # d, 1/Å²
    cutoff: Array  # Å

    def energy(self, coordinate: Array) -> Array:
        """The bare interaction, scaled, less what is there already."""
        near = coordinate < self.cutoff
        r = jnp.where(near, coordinate, 1)
        bare = jnp.where(self.factor != 0, self.factor / jnp.where(self.factor != 0, r, 1), 0)
        cloud = error_function_over_distance(self.alpha, r * r)
        return jnp.where(near, self.product * (bare - cloud - self.constant - self.slope * r), 0)
