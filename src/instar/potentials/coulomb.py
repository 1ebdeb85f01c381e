"""Coulomb interaction up to a cutoff: plain, or screened as Wolf and Fennell–Gezelter do it.

    u(r) = kₑ q q' erfc(αr)/r          α = 0: plain

Wolf: shifted to zero at the cutoff. DSF: shifted in energy and force. Both add for each charge
what it has with itself,

    −½ kₑ q² (2α/√π + c),   c: what the truncation subtracts at r = 0

Wolf et al., J. Chem. Phys. 110, 8254 (1999); Fennell and Gezelter, J. Chem. Phys. 124, 234104
(2006).
"""

from __future__ import annotations

import math
from typing import ClassVar

from jax import Array

from instar.core.utils.jax import dataclass
from instar.geometry.constants import COULOMB_CONSTANT
from instar.potentials.formula import Formula, Parameter
from instar.potentials.screening import screened_inverse

__all__ = ["ScreenedCoulomb"]


@dataclass
class ScreenedCoulomb(Formula):
    """u(r) = kₑ erfc(αr)/r for unit charges; the engine multiplies with both charges (e).

    α in 1/Å; zero is the plain interaction.
    """

    alpha: Parameter

    KERNEL: ClassVar[str | None] = "screened_coulomb"

    def energy(self, squared: Array) -> Array:
        """kₑ erfc(α√s)/√s."""
        return COULOMB_CONSTANT * screened_inverse(self.alpha, squared)

    def self_energy(self, subtracted: Array) -> Array:
        """−½ (2kₑα/√π + c) for a unit charge, c what its truncation subtracts at r = 0 (eV)."""
        return -(COULOMB_CONSTANT * 2 * self.alpha / math.sqrt(math.pi) + subtracted) / 2
