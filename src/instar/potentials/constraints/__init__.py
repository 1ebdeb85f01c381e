"""Distances and molecules that are held rigid: parts of a potential that integrators honour."""

from instar.potentials.constraints.constraints import (
    Constraints,
    Projected,
    ProjectedVelocities,
    Reaction,
    constraint_virial,
    constraints_of,
)
from instar.potentials.constraints.tables import Constraint, DistanceConstraint, RigidWater

__all__ = [
    "Constraint",
    "Constraints",
    "DistanceConstraint",
    "Projected",
    "ProjectedVelocities",
    "Reaction",
    "RigidWater",
    "constraint_virial",
    "constraints_of",
]
