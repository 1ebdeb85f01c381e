"""Bonds that can break."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Bond
from instar.potentials.formula import Parameter

__all__ = ["MorseBond"]


@dataclass
class MorseBond(Bond):
    """u(r) = D (1 − e^(−a (r − r0)))²: depth D in eV, a in 1/Å, r0 in Å; one of each a bond.

    Zero at r0, D for a broken bond. P. M. Morse, Phys. Rev. 34, 57 (1929).
    """

    D: Parameter
    a: Parameter
    r0: Parameter

    def energy(self, coordinate: Array) -> Array:
        """D (1 − e^(−a (r − r0)))²."""
        return self.D * jnp.expm1(-self.a * (coordinate - self.r0)) ** 2
