"""Rotation about a bond as a cosine."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.formula import Parameter

__all__ = ["PeriodicDihedral"]


@dataclass
class PeriodicDihedral(Dihedral):
    """u(φ) = k (1 + cos(n φ − φ0)): k in eV, n a whole number, phi0 in rad; one of each a term.

    Several terms of the same four particles add up to a Fourier series.
    """

    k: Parameter
    n: Parameter
    phi0: Parameter

    def energy(self, coordinate: Array) -> Array:
        """k (1 + cos α) = 2 k cos² ½α with α = n φ − φ0: no digits are lost where it is small."""
        return 2 * self.k * jnp.cos((self.n * coordinate - self.phi0) / 2) ** 2
