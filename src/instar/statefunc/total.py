"""Sums over the particles of a system.

f = Σ_i g_i
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.state import Particles, State

__all__ = ["Total", "total"]


@dataclass(repr=False, eq=False)
class Total(StateFunction):
    """The sum of a function over the particles that are there, per system."""

    pointwise = False
    stored = True

    def values_at(self, state: State) -> Any:
        values = lax.optimization_barrier(state.whole(self.child.values_at(state), 1))
        if not isinstance(state, Particles):
            return values.sum(self.rank + 1)
        values = state.present(values, 1)
        if state.system is None:
            return values.sum(self.rank + 1)
        sums = jnp.zeros((*self.contract.components, *state.trailing(0)), values.dtype)
        return sums.at[..., state.system.indices].add(values, mode="drop")

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """What is summed is written down first."""
        found = super().buffers(sizes, sizes.numbers(self.child))
        if not sizes.grad:
            found |= self.child.hold("{}", sizes.numbers(self.child))
        return found

    def formula(self) -> str:
        return f"Σᵢ({self.child.formula()})"


def total(function: StateFunction) -> Total:
    """The sum of a function per particle over all particles of a system."""
    if function.pdepth != 1:
        raise ContractError(
            f"total sums a function with one value per particle; {function.formula()} has "
            f"{function.pdepth} particle axes."
        )
    return Total(function.contract.but(pdepth=0), (function,))
