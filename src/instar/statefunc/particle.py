"""The value at one particle of a pair.

f = g_k
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.separation import require_pair
from instar.statefunc.state import State

__all__ = ["AtParticle", "first", "second"]


@dataclass(repr=False, eq=False)
class AtParticle(StateFunction):
    """A function per particle, taken at particle ``k``."""

    k: int = field(static=True)
    pointwise = False

    def values_at(self, state: State) -> Any:
        axis = self.rank + 1
        require_pair(self, state)
        if self.child.local:
            return self.child.values_at(state.particle(self.k)).squeeze(axis)
        return jnp.take(state.whole(self.child.values_at(state), 1), self.k, axis)

    def formula(self) -> str:
        return f"{self.child.within(9)}{'₁₂'[self.k]}"


def first(function: StateFunction) -> AtParticle:
    """The value of a function at the first particle of a pair."""
    return _at(function, 0)


def second(function: StateFunction) -> AtParticle:
    """The value of a function at the second particle of a pair."""
    return _at(function, 1)


def _at(function: StateFunction, k: int) -> AtParticle:
    if function.pdepth != 1:
        raise ContractError(
            f"{function.formula()} has {function.pdepth} particle axes.\n"
            "first and second take a function with one value per particle."
        )
    return AtParticle(function.contract.but(pdepth=0), (function,), k)
