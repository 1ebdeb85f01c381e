"""Four particles kept in a plane by a cosine."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.parameter_checks import multiplicity

__all__ = ["PeriodicImproper"]


@configured("periodic_improper")
@dataclass
class PeriodicImproper(Dihedral):
    """u(ξ) = k (1 + cos(n ξ − ξ0)), ξ the dihedral angle of the four in the given order.

    k in eV, n a whole number, phi0 = ξ0 in rad; one of each a term.
    """

    k: Parameter = option("half the height k of the barrier", unit="eV", example=0.1)
    n: Parameter = option("multiplicity n", check=multiplicity, example=3)
    phi0: Parameter = option("phase", unit="rad", example=0.5)

    def energy(self, coordinate: Array) -> Array:
        """k (1 + cos α) = 2 k cos² ½α with α = n ξ − ξ0: no digits are lost where it is small."""
        return 2 * self.k * jnp.cos((self.n * coordinate - self.phi0) / 2) ** 2
