"""Buckingham: u(r) = A e^(−r/ρ) − C/r⁶."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.formula import Formula, Parameter

__all__ = ["Buckingham"]


@dataclass
class Buckingham(Formula):
    """u(r) = A e^(−r/ρ) − C/r⁶, with A in eV, ρ in Å, C in eV Å⁶.

    At short distances it falls to −∞; keep particles apart.
    """

    A: Parameter
    rho: Parameter
    C: Parameter

    def energy(self, squared: Array) -> Array:
        """A e^(−√s/ρ) − C/s³."""
        return self.A * jnp.exp(-jnp.sqrt(squared) / self.rho) - self.C / squared**3

    def tail(self, cutoff: Array) -> tuple[Array, Array]:
        """With x = R/ρ: ∫ u r² dr = Aρ³(x² + 2x + 2)e⁻ˣ − C/3R³;

        ∫ u' r³ dr = −Aρ³(x³ + 3x² + 6x + 6)e⁻ˣ + 2C/R³.
        """
        x = cutoff / self.rho
        wall = self.A * self.rho**3 * jnp.exp(-x)
        attraction = self.C / cutoff**3
        energy = wall * (x**2 + 2 * x + 2) - attraction / 3
        return energy, 2 * attraction - wall * (x**3 + 3 * x**2 + 6 * x + 6)
