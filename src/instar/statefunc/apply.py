"""Elementwise functions of a function.

f = φ(g)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Apply", "apply", "power"]


@dataclass(repr=False, eq=False)
class Apply(StateFunction):
    """A function applied to every number; ``{}`` in ``template`` stands for what it is of."""

    function: Callable[[Any], Any] = field(static=True)
    template: str = field(static=True)

    def evaluate(self, state: State) -> Any:
        values = self.child.evaluate(state)
        result = self.function(values)
        if jnp.shape(result) != values.shape:
            raise ContractError(
                f"{self.formula()} applies an elementwise function, but it turned the shape "
                f"{values.shape} into {jnp.shape(result)}.\n"
                "Use function(...) with a declared contract for anything else."
            )
        return result

    def formula(self) -> str:
        tight = self.template.startswith("{}")
        return self.template.format(self.child.within(9 if tight else 0))


def apply(fn: Callable[[Any], Any], function: StateFunction, name: str | None = None) -> Apply:
    """``fn`` of every number of a function; ``name`` is what the formula calls it."""
    name = name or getattr(fn, "__name__", "φ")
    template = "φ({})" if name == "<lambda>" else f"{name}({{}})"
    return Apply(function.contract, (function,), fn, template)


def power(function: StateFunction, exponent: int | float) -> Apply:
    """Every number of a function to a fixed power."""
    return Apply(function.contract, (function,), _to_the(exponent), f"{{}}^{exponent:g}")


@functools.cache
def _to_the(exponent: int | float) -> Callable[[Any], Any]:
    return lambda values: values**exponent
