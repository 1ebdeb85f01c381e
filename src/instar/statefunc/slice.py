"""Some of the features.

f = g[a:b]
"""

from __future__ import annotations

import operator
from typing import Any

from jax import lax

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Slice", "features_of"]


@dataclass(repr=False, eq=False)
class Slice(StateFunction):
    """Features ``start`` to ``stop`` of a function, every ``step``-th."""

    start: int = field(static=True)
    stop: int = field(static=True)
    step: int = field(static=True)

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)
        return lax.slice_in_dim(values, self.start, self.stop, self.step, self.rank)

    def formula(self) -> str:
        step = "" if self.step == 1 else f":{self.step}"
        features = f"{self.start}:{self.stop}{step}"
        return f"{self.child.within(9)}[{self.start if self.n_features == 1 else features}]"

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.derivative import derivative

        return derivative(self.child, across=across)[self.start : self.stop : self.step]


def _number(feature: Any) -> int:
    try:
        return operator.index(feature)
    except TypeError:
        raise ContractError(
            f"A feature is named by its number or by a slice, not by {feature!r}.\n"
            "Put several side by side with concatenate(f[0], f[2])."
        ) from None


def features_of(function: StateFunction, features: Any) -> Slice:
    """``function[features]``: one feature by its number, or a slice with a positive step."""
    n = function.n_features
    if not isinstance(features, slice):
        features = _number(features)
        if not -n <= features < n:
            raise ContractError(f"{function.formula()} has {n} features; there is no {features}.")
        features = slice(features % n, features % n + 1)
    start, stop, step = features.indices(n)
    if step < 1 or start >= stop:
        raise ContractError(
            f"{function.formula()} has {n} features, of which {features} are none.\n"
            "Slices go forward: f[a:b] with a < b."
        )
    contract = function.contract.but(n_features=len(range(start, stop, step)))
    return Slice(contract, (function,), start, stop, step)
