"""The length of a vector.

f = √(Σ_a g_a²)
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.separation import separation
from instar.statefunc.state import State, sum_of_axes

__all__ = ["Norm", "distance", "norm"]


@dataclass(repr=False, eq=False)
class Norm(StateFunction):
    """The Euclidean length over all tensor axes, or an even power of it.

    The derivative of the length at zero is taken as zero, the second one too; even powers, such
    as ``norm(f)**2``, are polynomials and have theirs everywhere.
    """

    exponent: int = field(static=True, default=1)
    steps = 2

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)
        square = sum_of_axes(jnp.square(values), range(self.child.rank))
        if self.exponent > 1:
            return square ** (self.exponent // 2)
        nonzero = square > 0
        return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, square, 1)), 0)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """A tensor of many components is written down before it is summed."""
        found = super().buffers(sizes, loop)
        if self.child.rank > 1 and not sizes.grad:
            found |= self.child.hold("{}", sizes.numbers(self.child))
        return found

    def formula(self) -> str:
        return f"|{self.child.formula()}|" + {1: "", 2: "²", 4: "⁴", 6: "⁶", 8: "⁸"}[self.exponent]


def norm(function: StateFunction) -> Norm:
    """The length of a vector, or of a tensor over all its axes."""
    if function.rank == 0:
        raise ContractError(f"{function.formula()} is a scalar; norm takes a vector or a tensor.")
    return Norm(function.contract.but(rank=0), (function,))


def distance(dim: int) -> Norm:
    """The distance r between the two particles of a pair (Å)."""
    return norm(separation(dim))
