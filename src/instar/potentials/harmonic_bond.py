"""Bonds as springs."""

from __future__ import annotations

from jax import Array

from instar.core.utils.jax import dataclass
from instar.potentials.bonded import Bond
from instar.potentials.formula import Parameter

__all__ = ["HarmonicBond"]


@dataclass
class HarmonicBond(Bond):
    """u(r) = ½ k (r − r0)²: k in eV/Å², r0 in Å; one of each a bond."""

    k: Parameter
    r0: Parameter

    def energy(self, coordinate: Array) -> Array:
        """½ k (r − r0)²."""
        return self.k * (coordinate - self.r0) ** 2 / 2
