"""Potentials: one formula a file; sums of them."""

from instar.potentials.buckingham import Buckingham
from instar.potentials.charges import cutoff_coulomb
from instar.potentials.coulomb import COULOMB_CONSTANT, ScreenedCoulomb
from instar.potentials.evaluation import Evaluation
from instar.potentials.external import HarmonicTrap, UniformField, Wall
from instar.potentials.formula import Formula
from instar.potentials.function import FunctionPotential
from instar.potentials.lennard_jones import LennardJones
from instar.potentials.morse import Morse
from instar.potentials.pair import MissingPairError, Pair
from instar.potentials.potential import Potential, PotentialError, Sum, evaluate
from instar.potentials.soft_sphere import SoftSphere
from instar.potentials.weeks_chandler_andersen import WeeksChandlerAndersen

__all__ = [
    "COULOMB_CONSTANT",
    "Buckingham",
    "Evaluation",
    "Formula",
    "FunctionPotential",
    "HarmonicTrap",
    "LennardJones",
    "MissingPairError",
    "Morse",
    "Pair",
    "Potential",
    "PotentialError",
    "ScreenedCoulomb",
    "SoftSphere",
    "Sum",
    "UniformField",
    "Wall",
    "WeeksChandlerAndersen",
    "cutoff_coulomb",
    "evaluate",
]
