"""Who is within the cutoff: ragged batches of systems, each with a cell and a cutoff of its own."""

from instar.neighbors.brute_force import Pairs, brute_force
from instar.neighbors.neighbor_list import HasCell, NeighborList, NeighborMatrix
from instar.neighbors.query import Near, query
from instar.neighbors.sizes import Sizes

__all__ = [
    "HasCell",
    "Near",
    "NeighborList",
    "NeighborMatrix",
    "Pairs",
    "Sizes",
    "brute_force",
    "query",
]
