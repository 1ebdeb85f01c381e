"""Morse between particles that are not bonded: zero far away, −D at r₀."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.formula import Formula, Parameter

__all__ = ["Morse"]


@dataclass
class Morse(Formula):
    """u(r) = D [(1 − e^(−a(r − r₀)))² − 1], with D in eV, a in 1/Å, r₀ in Å."""

    D: Parameter
    a: Parameter
    r0: Parameter

    def energy(self, squared: Array) -> Array:
        """D x (x − 2) with x = e^(−a(√s − r₀))."""
        x = jnp.exp(-self.a * (jnp.sqrt(squared) - self.r0))
        return self.D * x * (x - 2)
