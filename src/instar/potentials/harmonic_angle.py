"""Angles as springs."""

from __future__ import annotations

from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Angle
from instar.potentials.formula import Parameter

__all__ = ["HarmonicAngle"]


@dataclass
class HarmonicAngle(Angle):
    """u(θ) = ½ k (θ − θ0)²: k in eV/rad², theta0 in rad; one of each an angle."""

    k: Parameter
    theta0: Parameter

    def energy(self, coordinate: Array) -> Array:
        """½ k (θ − θ0)²."""
        return self.k * (coordinate - self.theta0) ** 2 / 2
