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
    """u(θ) = ½ k (θ − θ0)²: k in eV/rad², theta0 in rad; one of each an angle."""

    k: Parameter = option("stiffness k", unit="eV/rad^2", least=0, example=3.0)
    theta0: Parameter = option("angle θ₀ at rest", unit="rad", check=bend, example=1.9)

    def energy(self, coordinate: Array) -> Array:
        """½ k (θ − θ0)²."""
        return self.k * (coordinate - self.theta0) ** 2 / 2
