"""Morse between particles that are not bonded: zero far away, −D at r₀."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter

__all__ = ["Morse"]


@configured("morse")
@dataclass
class Morse(Formula):
    """u(r) = D [(1 − e^(−a(r − r₀)))² − 1], with D in eV, a in 1/Å, r₀ in Å."""

    D: Parameter = option("depth D of the well", unit="eV", example=0.3)
    a: Parameter = option("steepness a", unit="1/angstrom", above=0, example=1.4)
    r0: Parameter = option("distance r₀ of the minimum", unit="angstrom", example=2.8)

    def energy(self, squared: Array) -> Array:
        """D x (x − 2) with x = e^(−a(√s − r₀))."""
        x = jnp.exp(-self.a * (jnp.sqrt(squared) - self.r0))
        return self.D * x * (x - 2)
