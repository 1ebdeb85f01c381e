"""Rotation about a bond as a cosine."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.parameter_checks import multiplicity

__all__ = ["PeriodicDihedral"]


@configured("periodic_dihedral")
@dataclass
class PeriodicDihedral(Dihedral):
    """u(φ) = k (1 + cos(n φ − φ0)): k in eV, n a whole number, phi0 in rad; one of each a term.

    Several terms of the same four particles add up to a Fourier series.
    """

    k: Parameter = option("half the height k of the barrier", unit="eV", example=0.1)
    n: Parameter = option("multiplicity n", check=multiplicity, example=3)
    phi0: Parameter = option("phase", unit="rad", example=0.5)

    def energy(self, coordinate: Array) -> Array:
        """k (1 + cos α) = 2 k cos² ½α with α = n φ − φ0: no digits are lost where it is small."""
        return 2 * self.k * jnp.cos((self.n * coordinate - self.phi0) / 2) ** 2
