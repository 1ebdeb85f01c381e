"""Weeks–Chandler–Andersen: the repulsive part of Lennard-Jones, smooth down to zero."""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.entry import configured
from instar.potentials.formula import Formula, Parameter
from instar.potentials.lennard_jones import LennardJones

__all__ = ["RANGE", "WeeksChandlerAndersen"]

RANGE = 2 ** (1 / 6)
"""Where it ends, in units of σ: the minimum of Lennard-Jones."""


@configured("weeks_chandler_andersen")
@dataclass
class WeeksChandlerAndersen(Formula):
    """Lennard-Jones without attraction: u = 4ε [(σ/r)¹² − (σ/r)⁶] + ε for r < 2^(1/6) σ, else 0.

    A formula; `Pair.of` makes a potential of it. J. D. Weeks, D. Chandler, H. C. Andersen, J. Chem.
    Phys. 54, 5237 (1971).

    Parameters
    ----------
    epsilon
        ε in eV.
    sigma
        σ in Å.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import WeeksChandlerAndersen
    >>> beads = WeeksChandlerAndersen(epsilon=0.01, sigma=3.0)
    >>> print(beads.energy(jnp.array([3.0, 4.0]) ** 2).round(6))
    [0.01 0.  ]
    """

    epsilon: Parameter = option("energy ε", unit="eV", least=0, example=0.0104)
    sigma: Parameter = option("size σ", unit="angstrom", above=0, example=3.4)

    MIXING: ClassVar[dict[str, dict[str, Any]]] = LennardJones.MIXING
    KERNEL: ClassVar[str | None] = "weeks_chandler_andersen"

    def end(self) -> Any:
        """2^(1/6) σ."""
        return RANGE * self.sigma

    def energy(self, squared: Array) -> Array:
        """Lennard-Jones lifted by ε, up to its minimum."""
        lifted = LennardJones(self.epsilon, self.sigma).energy(squared) + self.epsilon
        # What is not a number must not vanish.
        return jnp.where(squared >= RANGE**2 * self.sigma**2, 0, lifted)
