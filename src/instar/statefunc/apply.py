"""Elementwise functions of a function, and powers.

f = φ(g),   f = g^n
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.norm import Norm
from instar.statefunc.state import State

__all__ = ["Apply", "Power", "apply", "power"]


@dataclass(repr=False, eq=False)
class Apply(StateFunction):
    """A function applied to every number."""

    call: Callable[[Any], Any] = field(static=True)
    name: str = field(static=True)

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)
        result = self.call(values)
        if jnp.shape(result) != values.shape:
            raise ContractError(
                f"{self.formula()} applies an elementwise function, but it turned the shape "
                f"{values.shape} into {jnp.shape(result)}.\n"
                "Use function(...) with a declared contract for anything else."
            )
        return jnp.asarray(result).astype(values.dtype)

    def formula(self) -> str:
        return f"{self.name}({self.child.formula()})"


@dataclass(repr=False, eq=False)
class Power(StateFunction):
    """Every number to a fixed power."""

    exponent: int | float = field(static=True)
    strength = 8

    def values_at(self, state: State) -> Any:
        return self.child.values_at(state) ** self.exponent

    def formula(self) -> str:
        return f"{self.child.within(9)}^{self.exponent:g}"


def apply(fn: Callable[[Any], Any], function: StateFunction, name: str | None = None) -> Apply:
    """``fn`` of every number of a function; ``name`` is what the formula calls it."""
    label = name or str(getattr(fn, "__name__", "φ"))
    return Apply(function.contract, (function,), fn, "φ" if label == "<lambda>" else label)


def power(function: StateFunction, exponent: Any) -> StateFunction:
    """Every number of a function to a fixed power."""
    if not isinstance(exponent, int | float | np.integer | np.floating):
        raise ContractError(
            f"An exponent is a number, not {type(exponent).__name__}.\n"
            "For one that depends on the state or is a parameter, use function(...)."
        )
    if isinstance(function, Norm):  # of its square there are derivatives at zero, or of itself
        exponent = function.exponent * exponent
        even = exponent in (2, 4, 6, 8)
        function = Norm(function.contract, function.children, int(exponent) if even else 1)
        exponent = 1 if even else exponent
    if exponent == 1:
        return function
    whole = float(exponent).is_integer()
    return Power(function.contract, (function,), int(exponent) if whole else float(exponent))
