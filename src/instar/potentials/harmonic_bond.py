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
    """u(r) = ½ k (r − r0)²: k in eV/Å², r0 in Å; one of each a bond."""

    k: Parameter = option("stiffness k", unit="eV/angstrom^2", least=0, example=20.0)
    r0: Parameter = option("length r₀ at rest", unit="angstrom", least=0, example=1.5)

    def energy(self, coordinate: Array) -> Array:
        """½ k (r − r0)²."""
        return self.k * (coordinate - self.r0) ** 2 / 2
