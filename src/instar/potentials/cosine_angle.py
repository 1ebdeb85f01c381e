"""Angles as springs of their cosine, smooth for atoms on a line."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials import internal_coordinates
from instar.potentials.bonded import Angle, Bonded
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.parameter_checks import bend

__all__ = ["CosineAngle"]


@configured("cosine_angle")
@dataclass
class CosineAngle(Bonded):
    """An angle as a spring of its cosine: u(θ) = ½ k (cos θ − cos θ0)², with k in eV.

    The form of GROMOS, also called cosine squared.

    Parameters
    ----------
    atoms
        `Index` (angles, 3): the particles of each angle, the middle one in the middle.
    k
        (angles,) in eV.
    theta0
        θ0 (angles,) in rad.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import CosineAngle
    >>> atoms = Index.integer([[0, 1, 2]], n=3, label=ParticleId)
    >>> angle = CosineAngle(atoms, k=jnp.array([2.0]), theta0=jnp.array([jnp.pi / 2]))
    >>> print(angle.energy(jnp.array([0.5])).round(6))  # a formula of cos θ
    [0.25]
    """

    k: Parameter = option("stiffness k", unit="eV", least=0, example=2.0)
    theta0: Parameter = option("angle θ₀ at rest", unit="rad", check=bend, example=1.9)

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = Angle.EDGES

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """cos θ, whose derivatives stay finite where those of θ don't."""
        return internal_coordinates.cosine(*edges)

    def energy(self, coordinate: Array) -> Array:
        """½ k (cos θ − cos θ0)²."""
        return self.k * (coordinate - jnp.cos(self.theta0)) ** 2 / 2
