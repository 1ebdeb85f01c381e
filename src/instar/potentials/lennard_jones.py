"""Lennard-Jones: u(r) = 4ε [(σ/r)¹² − (σ/r)⁶]."""

from __future__ import annotations

from typing import Any, ClassVar

from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter, arithmetic, geometric

__all__ = ["LennardJones"]


@configured("lennard_jones")
@dataclass
class LennardJones(Formula):
    """Lennard-Jones: u(r) = 4ε [(σ/r)¹² − (σ/r)⁶], with ε in eV and σ in Å.

    A formula; `Pair.of` makes a potential of it.

    Parameters
    ----------
    epsilon
        ε in eV, the depth of the well.
    sigma
        σ in Å, the distance at which the energy is zero.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import LennardJones
    >>> argon = LennardJones(epsilon=0.0104, sigma=3.4)
    >>> minimum = 2 ** (1 / 6) * 3.4
    >>> print(round(float(argon.energy(jnp.array(minimum**2))), 6))
    -0.0104
    """

    epsilon: Parameter = option(
        "energy ε, the depth of the well", unit="eV", least=0, example=0.0104
    )
    sigma: Parameter = option(
        "size σ, where the energy is zero", unit="angstrom", above=0, example=3.4
    )

    MIXING: ClassVar[dict[str, dict[str, Any]]] = {
        "lorentz_berthelot": {"epsilon": geometric, "sigma": arithmetic},
        "geometric": {"epsilon": geometric, "sigma": geometric},
    }
    KERNEL: ClassVar[str | None] = "lennard_jones"

    def energy(self, squared: Array) -> Array:
        """4ε (x² − x) with x = (σ/r)⁶."""
        ratio = self.sigma * self.sigma / squared
        sixth = ratio * ratio * ratio
        return 4 * self.epsilon * (sixth * sixth - sixth)

    def tail(self, cutoff: Array) -> tuple[Array, Array]:
        """∫ u r² dr = 4ε (σ¹²/9R⁹ − σ⁶/3R³);  ∫ u' r³ dr = 4ε (−12σ¹²/9R⁹ + 6σ⁶/3R³)."""
        third = (self.sigma / cutoff) ** 3
        attraction = 4 * self.epsilon * self.sigma**3 * third / 3
        repulsion = 4 * self.epsilon * self.sigma**3 * third**3 / 9
        return repulsion - attraction, 6 * attraction - 12 * repulsion
