"""Constants: the same for every state.

f = c
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.utils.jax import dataclass, field, is_traced
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.parameters import as_parameter
from instar.statefunc.state import State

__all__ = ["Constant", "constant", "unit_vectors"]


@dataclass(repr=False, eq=False)
class Constant(StateFunction):
    """Numbers, ``(dim,)*rank + (n_features,)`` of them; they are parameters."""

    values: Any
    symbol: str | None = field(static=True, default=None)

    def values_at(self, state: State) -> Any:
        values = jnp.asarray(self.values, state.dtype)
        return values.reshape(values.shape + (1,) * len(state.trailing(0)))

    def formula(self) -> str:
        if self.symbol is not None:
            return self.symbol
        known = isinstance(self.values, jax.Array | np.ndarray) and not is_traced(self.values)
        if known and self.values.size == 1:
            return f"{np.asarray(self.values).item():.8g}"
        return "c"


def constant(values: Any, *, rank: int = 0, symbol: str | None = None) -> Constant:
    """A number, or an array of shape ``(dim,)*rank + (n_features,)``.

    The axis of a single feature may be left out.
    """
    values = as_parameter(values)
    if values.ndim == rank:
        values = values[..., None]
    shape = np.shape(values)
    if len(shape) != rank + 1 or len(set(shape[:rank])) > 1:
        raise ContractError(
            f"A constant of rank {rank} has the shape (dim,)*{rank} + (n_features,), not {shape}."
        )
    contract = Contract(rank, shape[0] if rank else None, 0, shape[-1])
    return Constant(contract, (), values, symbol)


def unit_vectors(dim: int) -> Constant:
    """The axes of space as features: feature a is the vector e_a."""
    return constant(np.eye(dim, dtype=np.float32), rank=1, symbol="e")
