"""Four particles kept in a plane, or out of it, by a spring."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter

__all__ = ["HarmonicImproper"]

_TURN = 2 * jnp.pi


@configured("harmonic_improper")
@dataclass
class HarmonicImproper(Dihedral):
    """Four particles kept in a plane, or out of it, by a spring: u(ξ) = ½ k (ξ − ξ0)², with ξ their
    dihedral angle.

    The order of the particles counts. The difference is taken between −π and π.

    Parameters
    ----------
    atoms
        `Index` (terms, 4): the particles of each term.
    k
        (terms,) in eV/rad².
    phi0
        ξ0 (terms,) in rad.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import HarmonicImproper
    >>> atoms = Index.integer([[0, 1, 2, 3]], n=4, label=ParticleId)
    >>> improper = HarmonicImproper(atoms, k=jnp.array([2.0]), phi0=jnp.array([0.0]))
    >>> print(improper.energy(jnp.array([0.1])).round(6))
    [0.01]
    """

    k: Parameter = option("stiffness k", unit="eV/rad^2", least=0, example=2.0)
    phi0: Parameter = option("angle at rest", unit="rad", example=0.3)

    def energy(self, coordinate: Array) -> Array:
        """½ k Δ² with Δ = ξ − ξ0 modulo 2π, in (−π, π]."""
        difference = coordinate - self.phi0
        difference = difference - _TURN * jnp.ceil(difference / _TURN - 0.5)
        return self.k * difference**2 / 2
