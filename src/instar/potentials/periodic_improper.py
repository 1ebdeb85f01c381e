"""Four particles kept in a plane by a cosine."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Dihedral
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.parameter_checks import multiplicity

__all__ = ["PeriodicImproper"]


@configured("periodic_improper")
@dataclass
class PeriodicImproper(Dihedral):
    """Four particles kept in a plane by a cosine: u(ξ) = k (1 + cos(n ξ − ξ0)), with k in eV.

    ξ is the dihedral angle of the four in the given order.

    Parameters
    ----------
    atoms
        `Index` (terms, 4): the particles of each term.
    k
        (terms,) in eV, half the height of the barrier.
    n
        (terms,) whole numbers, how often the energy repeats in a full turn.
    phi0
        ξ0 (terms,) in rad.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import PeriodicImproper
    >>> atoms = Index.integer([[0, 1, 2, 3]], n=4, label=ParticleId)
    >>> k, n, phi0 = jnp.array([0.1]), jnp.array([2.0]), jnp.array([0.0])
    >>> print(PeriodicImproper(atoms, k=k, n=n, phi0=phi0).energy(jnp.array([0.0])).round(6))
    [0.2]
    """

    k: Parameter = option("half the height k of the barrier", unit="eV", example=0.1)
    n: Parameter = option("multiplicity n", check=multiplicity, example=3)
    phi0: Parameter = option("phase", unit="rad", example=0.5)

    def energy(self, coordinate: Array) -> Array:
        """k (1 + cos α) = 2 k cos² ½α with α = n ξ − ξ0: no digits are lost where it is small."""
        return 2 * self.k * jnp.cos((self.n * coordinate - self.phi0) / 2) ** 2
