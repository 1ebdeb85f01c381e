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
    """u(θ) = ½ k (cos θ − cos θ0)²: k in eV, theta0 in rad; one of each an angle.

    The form of GROMOS, also called cosine squared.
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
