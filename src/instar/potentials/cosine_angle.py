"""Angles as springs of their cosine, smooth for atoms on a line."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials import internal_coordinates
from instar.potentials.bonded import Angle, Bonded
from instar.potentials.formula import Parameter

__all__ = ["CosineAngle"]


@dataclass
class CosineAngle(Bonded):
    """u(θ) = ½ k (cos θ − cos θ0)²: k in eV, theta0 in rad; one of each an angle.

    The form of GROMOS, also called cosine squared.
    """

    k: Parameter
    theta0: Parameter

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = Angle.EDGES

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """cos θ, whose derivatives stay finite where those of θ don't."""
        return internal_coordinates.cosine(*edges)

    def energy(self, coordinate: Array) -> Array:
        """½ k (cos θ − cos θ0)²."""
        return self.k * (coordinate - jnp.cos(self.theta0)) ** 2 / 2
