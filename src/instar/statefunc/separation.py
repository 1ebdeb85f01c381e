"""From the first particle of a pair to the second.

r = x_2 − x_1
"""

from __future__ import annotations

from typing import Any

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Separation", "separation"]


@dataclass(repr=False, eq=False)
class Separation(StateFunction):
    """The vector between two particles, to the periodic image that the edge names."""

    pointwise = False
    stored = True
    given = True

    def evaluate(self, state: State) -> Any:
        if state.particles != 2:
            raise ContractError(
                f"r, the separation of a pair, has no meaning for {state.particles} particles.\n"
                "Sum it over pairs: pair_sum(f), or evaluate it on a sample of two particles."
            )
        return state.separation()[:, None]

    def formula(self) -> str:
        return "r"


def separation(dim: int) -> Separation:
    """The vector r from the first particle of a pair to the second (Å)."""
    return Separation(Contract(1, dim, 0, 1, on_particles=True), ())
