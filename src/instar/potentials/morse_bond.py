"""Bonds that can break."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Bond
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter

__all__ = ["MorseBond"]


@configured("morse_bond")
@dataclass
class MorseBond(Bond):
    """u(r) = D (1 − e^(−a (r − r0)))²: depth D in eV, a in 1/Å, r0 in Å; one of each a bond.

    Zero at r0, D for a broken bond. P. M. Morse, Phys. Rev. 34, 57 (1929).
    """

    D: Parameter = option("energy D of dissociation", unit="eV", least=0, example=4.0)
    a: Parameter = option("steepness a", unit="1/angstrom", above=0, example=2.0)
    r0: Parameter = option("length r₀ at rest", unit="angstrom", least=0, example=1.5)

    def energy(self, coordinate: Array) -> Array:
        """D (1 − e^(−a (r − r0)))²."""
        return self.D * jnp.expm1(-self.a * (coordinate - self.r0)) ** 2
