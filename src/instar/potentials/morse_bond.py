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
    """A bond that can break: u(r) = D (1 − e^(−a (r − r0)))², with D in eV, a in 1/Å, r0 in Å.

    Zero at r0, D for a broken bond. P. M. Morse, Phys. Rev. 34, 57 (1929).

    Parameters
    ----------
    atoms
        `Index` (bonds, 2): the particles of each bond.
    D
        (bonds,) in eV, the energy of dissociation.
    a
        (bonds,) in 1/Å, how steep it is.
    r0
        (bonds,) in Å.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import MorseBond
    >>> atoms = Index.integer([[0, 1]], n=2, label=ParticleId)
    >>> bond = MorseBond(atoms, D=jnp.array([4.0]), a=jnp.array([2.0]), r0=jnp.array([1.5]))
    >>> print(bond.energy(jnp.array([100.0])))
    [4.]
    """

    D: Parameter = option("energy D of dissociation", unit="eV", least=0, example=4.0)
    a: Parameter = option("steepness a", unit="1/angstrom", above=0, example=2.0)
    r0: Parameter = option("length r₀ at rest", unit="angstrom", least=0, example=1.5)

    def energy(self, coordinate: Array) -> Array:
        """D (1 − e^(−a (r − r0)))²."""
        return self.D * jnp.expm1(-self.a * (coordinate - self.r0)) ** 2
