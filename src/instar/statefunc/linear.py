"""Linear combinations of features, with parameters.

f_m = Σ_k w_km g_k
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.parameters import as_parameter
from instar.statefunc.state import State

__all__ = ["LinearCombination", "linear_combination"]


@dataclass(repr=False, eq=False)
class LinearCombination(StateFunction):
    """Features weighted and summed; ``weights`` are (features of the child, features)."""

    weights: Any
    stored = True
    steps = 2

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)
        weights = jnp.asarray(self.weights, values.dtype)
        axes = "abcdefgh"[: self.rank]
        return jnp.einsum(f"KM,{axes}K...->{axes}M...", weights, values)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """The features are an operand of a matrix product, and so written down.

        On the way back their cotangents are the result of another one.
        """
        found, numbers = super().buffers(sizes, loop), sizes.numbers(self.child)
        if sizes.grad:
            return found | self.child.hold("{} and back", 2 * numbers)
        return found | self.child.hold("{}", numbers)

    def formula(self) -> str:
        return f"Σₖ wₖ·({self.child.formula()})ₖ"

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.derivative import derivative

        return linear_combination(derivative(self.child, across=across), self.weights)


def linear_combination(function: StateFunction, weights: Any) -> LinearCombination:
    """The features of a function weighted and summed.

    ``weights`` has one number a feature, or a column of them for each feature of the result.
    """
    weights = as_parameter(weights)
    if np.ndim(weights) == 1:
        weights = weights[:, None]
    if np.ndim(weights) != 2 or np.shape(weights)[0] != function.n_features:
        raise ContractError(
            f"{function.formula()} has {function.n_features} features, but the weights have the "
            f"shape {np.shape(weights)}.\nGive one weight a feature: ({function.n_features},)."
        )
    contract = function.contract.but(n_features=np.shape(weights)[1])
    return LinearCombination(contract, (function,), weights)
