"""Potentials: one formula per file; sums of them."""

from instar.core.utils.declaration import option
from instar.geometry.constants import COULOMB_CONSTANT
from instar.potentials.bonded import Bonded
from instar.potentials.buckingham import Buckingham
from instar.potentials.charges import cutoff_coulomb
from instar.potentials.constraints import DistanceConstraint, RigidWater, constraints_of
from instar.potentials.cosine_angle import CosineAngle
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.edges import Edge
from instar.potentials.entry import Entry, configured
from instar.potentials.evaluation import Evaluation
from instar.potentials.ewald import Ewald, NetChargeWarning, ewald, ewald_with
from instar.potentials.exclusions import Exclusions
from instar.potentials.external import HarmonicTrap, UniformField, Wall
from instar.potentials.formula import Formula
from instar.potentials.function import FunctionPotential
from instar.potentials.harmonic_angle import HarmonicAngle
from instar.potentials.harmonic_bond import HarmonicBond
from instar.potentials.harmonic_improper import HarmonicImproper
from instar.potentials.lennard_jones import LennardJones
from instar.potentials.morse import Morse
from instar.potentials.morse_bond import MorseBond
from instar.potentials.pair import MissingPairError, Pair
from instar.potentials.periodic_dihedral import PeriodicDihedral
from instar.potentials.periodic_improper import PeriodicImproper
from instar.potentials.potential import Potential, PotentialError, Sum, evaluate
from instar.potentials.rb_dihedral import RyckaertBellemansDihedral
from instar.potentials.soft_sphere import SoftSphere
from instar.potentials.structures import Problem, Structures
from instar.potentials.weeks_chandler_andersen import WeeksChandlerAndersen

__all__ = [
    "COULOMB_CONSTANT",
    "Bonded",
    "Buckingham",
    "CosineAngle",
    "DistanceConstraint",
    "Edge",
    "Entry",
    "Evaluation",
    "Ewald",
    "Exclusions",
    "Formula",
    "FunctionPotential",
    "HarmonicAngle",
    "HarmonicBond",
    "HarmonicImproper",
    "HarmonicTrap",
    "LennardJones",
    "MissingPairError",
    "Morse",
    "MorseBond",
    "NetChargeWarning",
    "Pair",
    "PeriodicDihedral",
    "PeriodicImproper",
    "Potential",
    "PotentialError",
    "Problem",
    "RigidWater",
    "RyckaertBellemansDihedral",
    "ScreenedCoulomb",
    "SoftSphere",
    "Structures",
    "Sum",
    "UniformField",
    "Wall",
    "WeeksChandlerAndersen",
    "configured",
    "constraints_of",
    "cutoff_coulomb",
    "evaluate",
    "ewald",
    "ewald_with",
    "option",
]
