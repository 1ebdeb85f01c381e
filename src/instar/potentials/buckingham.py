"""Buckingham: u(r) = A e^(−r/ρ) − C/r⁶."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter

__all__ = ["Buckingham"]


@configured("buckingham")
@dataclass
class Buckingham(Formula):
    """Buckingham: u(r) = A e^(−r/ρ) − C/r⁶, with A in eV, ρ in Å, C in eV Å⁶.

    A formula; `Pair.of` makes a potential of it. At short distances it falls to −∞; keep particles
    apart.

    Parameters
    ----------
    A
        In eV, the strength of the repulsion.
    rho
        ρ in Å, the range of the repulsion.
    C
        In eV·Å⁶, the dispersion.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import Buckingham
    >>> oxygen = Buckingham(A=1280.0, rho=0.3, C=20.0)
    >>> print(oxygen.energy(jnp.array([3.0]) ** 2).round(4))
    [0.0307]
    """

    A: Parameter = option("strength A of the repulsion", unit="eV", example=1280.0)
    rho: Parameter = option("range ρ of the repulsion", unit="angstrom", above=0, example=0.3)
    C: Parameter = option("dispersion C", unit="eV angstrom^6", example=20.0)

    KERNEL: ClassVar[str | None] = "buckingham"

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
