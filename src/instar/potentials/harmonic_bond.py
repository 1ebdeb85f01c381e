"""Bonds as springs."""

from __future__ import annotations

from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Bond
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter

__all__ = ["HarmonicBond"]


@configured("harmonic_bond")
@dataclass
class HarmonicBond(Bond):
    """A bond as a spring: u(r) = ½ k (r − r0)², with k in eV/Å² and r0 in Å.

    Parameters
    ----------
    atoms
        `Index` (bonds, 2): the particles of each bond.
    k
        (bonds,) in eV/Å².
    r0
        (bonds,) in Å.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import HarmonicBond
    >>> atoms = Index.integer([[0, 1]], n=2, label=ParticleId)
    >>> bond = HarmonicBond(atoms, k=jnp.array([20.0]), r0=jnp.array([1.5]))
    >>> print(bond.energy(jnp.array([1.6])).round(6))
    [0.1]
    """

    k: Parameter = option("stiffness k", unit="eV/angstrom^2", least=0, example=20.0)
    r0: Parameter = option("length r₀ at rest", unit="angstrom", least=0, example=1.5)

    def energy(self, coordinate: Array) -> Array:
        """½ k (r − r0)²."""
        return self.k * (coordinate - self.r0) ** 2 / 2
