"""The length of a vector.

f = √(Σ_a g_a²)
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.separation import separation
from instar.statefunc.state import State, sum_of_axes

__all__ = ["Norm", "distance", "norm"]


@dataclass(repr=False, eq=False)
class Norm(StateFunction):
    """The Euclidean length over all tensor axes; its derivative at zero is zero."""

    def evaluate(self, state: State) -> Any:
        values = self.child.evaluate(state)
        square = sum_of_axes(jnp.square(values), range(self.child.rank))
        nonzero = square > 0
        return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, square, 1)), 0)

    def formula(self) -> str:
        return f"|{self.child.formula()}|"


def norm(function: StateFunction) -> Norm:
    """The length of a vector, or of a tensor over all its axes."""
    if function.rank == 0:
        raise ContractError(f"{function.formula()} is a scalar; norm takes a vector or a tensor.")
    return Norm(function.contract.but(rank=0), (function,))


def distance(dim: int) -> Norm:
    """The distance r between the two particles of a pair (Å)."""
    return norm(separation(dim))
