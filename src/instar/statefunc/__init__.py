"""State functions: pure functions of a state that declare their shape and know their size."""

from instar.statefunc.add import add
from instar.statefunc.apply import apply
from instar.statefunc.column import column, coordinates, velocities
from instar.statefunc.concatenate import concatenate
from instar.statefunc.constant import constant, unit_vectors
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.derivative import derivative
from instar.statefunc.edges import Edges
from instar.statefunc.einsum import einsum
from instar.statefunc.fourier import fourier, wavevectors
from instar.statefunc.function import function
from instar.statefunc.linear import linear_combination
from instar.statefunc.memhint import MemHint, SampleMeta
from instar.statefunc.monomials import monomials, vector_features
from instar.statefunc.multiply import multiply
from instar.statefunc.node import StateFunction
from instar.statefunc.norm import distance, norm
from instar.statefunc.pair import pair_sum
from instar.statefunc.particle import first, second
from instar.statefunc.radial import bessel, gaussians
from instar.statefunc.sample import Sample
from instar.statefunc.separation import separation
from instar.statefunc.total import total

__all__ = [
    "Contract",
    "ContractError",
    "Edges",
    "MemHint",
    "Sample",
    "SampleMeta",
    "StateFunction",
    "add",
    "apply",
    "bessel",
    "column",
    "concatenate",
    "constant",
    "coordinates",
    "derivative",
    "distance",
    "einsum",
    "first",
    "fourier",
    "function",
    "gaussians",
    "linear_combination",
    "monomials",
    "multiply",
    "norm",
    "pair_sum",
    "second",
    "separation",
    "total",
    "unit_vectors",
    "vector_features",
    "velocities",
    "wavevectors",
]
