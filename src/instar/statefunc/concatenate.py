"""Features of several functions side by side.

f = [f_1, f_2, …]
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError, merged
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Concatenate", "concatenate"]


@dataclass(repr=False, eq=False)
class Concatenate(StateFunction):
    """All features of all functions, in order."""

    def values_at(self, state: State) -> Any:
        depth = self.pdepth
        parts = [state.deepened(c.values_at(state), c.pdepth, depth) for c in self.children]
        return jnp.concatenate([state.whole(part, depth) for part in parts], axis=self.rank)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """Every part is written where it belongs, in a loop of its own."""
        if sizes.grad:
            return super().buffers(sizes, loop)
        found: Buffers = {}
        for child in self.children:
            found |= child.buffers(sizes, sizes.numbers(child))
            if child.stored:
                found |= child.hold("{}", sizes.numbers(child))
        return found

    def formula(self) -> str:
        return f"[{', '.join(child.formula() for child in self.children)}]"

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.derivative import derivative

        if any(c.pdepth != self.pdepth or not c.moves for c in self.children):
            return None
        return concatenate(*(derivative(c, across=across) for c in self.children))


def concatenate(*functions: StateFunction) -> Concatenate:
    """All features of all functions, which must be of one rank, in order."""
    if len({f.rank for f in functions}) > 1:
        raise ContractError(
            "concatenate takes functions of one rank, not "
            + " and ".join(f"{f.formula()} of rank {f.rank}" for f in functions)
            + "."
        )
    features = sum(f.n_features for f in functions)
    rank = functions[0].rank if functions else 0
    return Concatenate(merged("concatenate", functions, rank=rank, n_features=features), functions)
