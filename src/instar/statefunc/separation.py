"""From the first particle of a pair to the second.

r = x_2 − x_1
"""

from __future__ import annotations

from typing import Any

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.state import Particles, State

__all__ = ["Separation", "require_pair", "separation"]


@dataclass(repr=False, eq=False)
class Separation(StateFunction):
    """The vector between two particles, to the periodic image that the edge names."""

    pointwise = False
    stored = True
    given = True

    def values_at(self, state: State) -> Any:
        require_pair(self, state)
        return state.separation()[:, None]

    def formula(self) -> str:
        return "r"


def require_pair(function: StateFunction, state: State) -> None:
    """Refuse to evaluate a function of a pair on anything but two particles."""
    if isinstance(state, Particles) and state.mask is not None:
        raise ContractError(
            f"{function.formula()} is of a pair, of which no particle may be absent.\n"
            "Leave the mask out, or sum over pairs: pair_sum(f)."
        )
    if state.particles != 2:
        raise ContractError(
            f"{function.formula()} is of a pair, and has no meaning for "
            f"{state.particles} particles.\n"
            "Sum over pairs: pair_sum(f), or evaluate it on a sample of two particles."
        )


def separation(dim: int) -> Separation:
    """The vector r from the first particle of a pair to the second (Å)."""
    return Separation(Contract(1, dim, 0, 1, on_particles=True), ())
