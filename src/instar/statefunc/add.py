"""Sums of functions.

f = Σ_k f_k
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError, merged
from instar.statefunc.node import StateFunction, as_function
from instar.statefunc.state import State

__all__ = ["Add", "add"]


@dataclass(repr=False, eq=False)
class Add(StateFunction):
    """The sum of functions of one rank; a single feature stands for all."""

    strength = 1

    def values_at(self, state: State) -> Any:
        values = [state.deepened(c.values_at(state), c.pdepth, self.pdepth) for c in self.children]
        return functools.reduce(operator.add, values)

    def formula(self) -> str:
        return " + ".join(child.within(1) for child in self.children).replace(" + -", " - ")

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.derivative import derivative

        moving = tuple(c for c in self.children if c.moves)
        alike = {(c.pdepth, c.n_features) for c in moving} == {(self.pdepth, self.n_features)}
        return add(*(derivative(c, across=across) for c in moving)) if alike else None


def add(*functions: Any) -> StateFunction:
    """The sum of functions of one rank; numbers are constants."""
    parts = tuple(as_function(f) for f in functions)
    if len({f.rank for f in parts}) > 1:
        raise ContractError(
            "A sum takes functions of one rank, not "
            + " and ".join(f"{f.formula()} of rank {f.rank}" for f in parts)
            + "."
        )
    if len({f.n_features for f in parts} - {1}) > 1:
        raise ContractError(
            "A sum takes functions with as many features, or one, not "
            + " and ".join(str(f.n_features) for f in parts)
            + ".\nTake some of them with f[a:b], or put them side by side with concatenate."
        )
    flat = [g for f in parts for g in (f.children if isinstance(f, Add) else (f,))]
    features = max(f.n_features for f in parts)
    return Add(merged("A sum", parts, rank=parts[0].rank, n_features=features), tuple(flat))
