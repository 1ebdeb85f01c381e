"""Morse between particles that are not bonded: zero far away, −D at r₀."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter

__all__ = ["Morse"]


@configured("morse")
@dataclass
class Morse(Formula):
    """Morse: u(r) = D [(1 − e^(−a(r − r₀)))² − 1], with D in eV, a in 1/Å, r₀ in Å.

    A formula; `Pair.of` makes a potential of it. It is zero at infinity; `MorseBond` is zero at r₀.

    Parameters
    ----------
    D
        In eV, the depth of the well.
    a
        In 1/Å, how steep it is.
    r0
        In Å, the distance of the minimum.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import Morse
    >>> print(Morse(D=0.3, a=1.4, r0=2.8).energy(jnp.array([2.8]) ** 2).round(6))
    [-0.3]
    """

    D: Parameter = option("depth D of the well", unit="eV", example=0.3)
    a: Parameter = option("steepness a", unit="1/angstrom", above=0, example=1.4)
    r0: Parameter = option("distance r₀ of the minimum", unit="angstrom", example=2.8)

    KERNEL: ClassVar[str | None] = "morse"

    def energy(self, squared: Array) -> Array:
        """D x (x − 2) with x = e^(−a(√s − r₀))."""
        x = jnp.exp(-self.a * (jnp.sqrt(squared) - self.r0))
        return self.D * x * (x - 2)
