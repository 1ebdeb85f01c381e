"""Ewald sums: the Coulomb interaction of periodic systems."""

from instar.potentials.ewald.ewald import Ewald
from instar.potentials.ewald.making import NetChargeWarning, ewald, ewald_with

__all__ = ["Ewald", "NetChargeWarning", "ewald", "ewald_with"]
