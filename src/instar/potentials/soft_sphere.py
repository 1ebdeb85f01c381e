"""Soft spheres: u(r) = ε (σ/r)ⁿ."""

from __future__ import annotations

from typing import Any, ClassVar

from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter, arithmetic, geometric

__all__ = ["SoftSphere"]


@configured("soft_sphere")
@dataclass
class SoftSphere(Formula):
    """Soft spheres: u(r) = ε (σ/r)ⁿ, with ε in eV and σ in Å, for any n above 3.

    A formula; `Pair.of` makes a potential of it.

    Parameters
    ----------
    epsilon
        ε in eV, the energy at the distance σ.
    sigma
        σ in Å.
    n
        The exponent, without a unit.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import SoftSphere
    >>> print(SoftSphere(epsilon=0.01, sigma=3.0, n=12.0).energy(jnp.array([9.0])).round(6))
    [0.01]
    """

    epsilon: Parameter = option("energy ε at the distance σ", unit="eV", least=0, example=0.0104)
    sigma: Parameter = option("size σ", unit="angstrom", above=0, example=3.4)
    n: Parameter = option("exponent n", above=3, default=12.0, example=12.0)

    MIXING: ClassVar[dict[str, dict[str, Any]]] = {
        "lorentz_berthelot": {"epsilon": geometric, "sigma": arithmetic, "n": arithmetic},
        "geometric": {"epsilon": geometric, "sigma": geometric, "n": arithmetic},
    }
    KERNEL: ClassVar[str | None] = "soft_sphere"

    def energy(self, squared: Array) -> Array:
        """ε (σ²/s)^(n/2)."""
        return self.epsilon * (self.sigma**2 / squared) ** (self.n / 2)

    def tail(self, cutoff: Array) -> tuple[Array, Array]:
        """∫ u r² dr = ε σⁿ R³⁻ⁿ / (n − 3);  ∫ u' r³ dr = −n times that."""
        energy = self.epsilon * (self.sigma / cutoff) ** self.n * cutoff**3 / (self.n - 3)
        return energy, -self.n * energy
