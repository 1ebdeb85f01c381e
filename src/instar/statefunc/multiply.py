"""Products of functions, feature by feature.

f = Π_k f_k
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError, merged
from instar.statefunc.footprint import Buffers, Sizes, kept
from instar.statefunc.node import StateFunction, as_function
from instar.statefunc.state import State

__all__ = ["Multiply", "multiply"]


@dataclass(repr=False, eq=False)
class Multiply(StateFunction):
    """The product of scalars and at most one tensor; a single feature stands for all."""

    strength = 2

    def values_at(self, state: State) -> Any:
        def factor(child: StateFunction) -> Any:
            values = state.deepened(child.values_at(state), child.pdepth, self.pdepth)
            return jnp.expand_dims(values, tuple(range(self.rank - child.rank)))

        return functools.reduce(operator.mul, map(factor, self.children))

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """A gradient needs no value of a multiple."""
        moving = [c for c in self.children if c.contract.on_particles is not None]
        return kept(self, sizes, loop) if len(moving) < 2 else super().buffers(sizes, loop)

    def formula(self) -> str:
        first, *others = (child.within(2) for child in self.children)
        if first == "-1" and others:
            return "-" + "·".join(others)
        return "·".join([first, *others])

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.derivative import derivative

        fixed = [c for c in self.children if c.contract.on_particles is None and c.rank == 0]
        moving = [c for c in self.children if c not in fixed]
        if len(moving) != 1 or moving[0].n_features != self.n_features:
            return None
        return multiply(*fixed, derivative(moving[0], across=across))


def multiply(*functions: Any) -> StateFunction:
    """The product of scalars and at most one tensor; numbers are constants."""
    parts = tuple(as_function(f) for f in functions)
    if sum(f.rank > 0 for f in parts) > 1:
        raise ContractError(
            "A product takes scalars and at most one tensor, not "
            + " and ".join(f"{f.formula()} of rank {f.rank}" for f in parts)
            + '.\nSay which axes are meant: einsum("i,i->", f, g).'
        )
    if len({f.n_features for f in parts} - {1}) > 1:
        raise ContractError(
            "A product takes functions with as many features, or one, not "
            + " and ".join(str(f.n_features) for f in parts)
            + '.\nFor every feature with every other use einsum(",->", f, g).'
        )
    flat = [g for f in parts for g in (f.children if isinstance(f, Multiply) else (f,))]
    rank, features = max(f.rank for f in parts), max(f.n_features for f in parts)
    contract = merged("A product", parts, rank=rank, n_features=features)
    return Multiply(contract, tuple(flat))
