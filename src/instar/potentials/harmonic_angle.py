"""Angles as springs."""

from __future__ import annotations

from jax import Array

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Angle
from instar.potentials.entry import configured
from instar.potentials.formula import Parameter
from instar.potentials.parameter_checks import bend

__all__ = ["HarmonicAngle"]


@configured("harmonic_angle")
@dataclass
class HarmonicAngle(Angle):
    """An angle as a spring: u(θ) = ½ k (θ − θ0)², with k in eV/rad² and theta0 in rad.

    Parameters
    ----------
    atoms
        `Index` (angles, 3): the particles of each angle, the middle one in the middle.
    k
        (angles,) in eV/rad².
    theta0
        θ0 (angles,) in rad.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import HarmonicAngle
    >>> atoms = Index.integer([[0, 1, 2]], n=3, label=ParticleId)
    >>> angle = HarmonicAngle(atoms, k=jnp.array([2.0]), theta0=jnp.array([1.9]))
    >>> print(angle.energy(jnp.array([2.0])).round(6))
    [0.01]
    """

    k: Parameter = option("stiffness k", unit="eV/rad^2", least=0, example=3.0)
    theta0: Parameter = option("angle θ₀ at rest", unit="rad", check=bend, example=1.9)

    def energy(self, coordinate: Array) -> Array:
        """½ k (θ − θ0)²."""
        return self.k * (coordinate - self.theta0) ** 2 / 2
