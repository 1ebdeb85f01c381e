"""Monomials up to an order.

f_k = Π_v y_v^{n_kv},   Σ_v n_kv ≤ order,   y the components of g
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.utils.jax import dataclass, field
from instar.statefunc.constant import unit_vectors
from instar.statefunc.contract import ContractError
from instar.statefunc.einsum import einsum
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State

__all__ = ["Monomials", "monomials", "vector_features"]


@dataclass(repr=False, eq=False)
class Monomials(StateFunction):
    """All monomials of the components of a function, by order, from ``lowest`` to ``order``."""

    order: int = field(static=True)
    lowest: int = field(static=True)

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)
        count = math.prod(self.child.contract.components)
        variables = values.reshape(count, *values.shape[self.child.rank + 1 :])
        return _products(_exponents(count, self.lowest, self.order), variables)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """In derivatives the monomials of lower order are written down, with their tangents."""
        found = super().buffers(sizes, loop)
        if sizes.differentiated and not sizes.grad:
            found |= self.hold("steps to {}", sizes.numbers(self))
        return found

    def formula(self) -> str:
        orders = f"≤{self.order}" if self.lowest == 0 else f"{self.lowest}…{self.order}"
        return f"{self.child.within(9)}^{orders}"


@functools.cache
def _exponents(variables: int, lowest: int, order: int) -> tuple[tuple[int, ...], ...]:
    """The exponents of each monomial, by order."""
    return tuple(
        tuple(factors.count(v) for v in range(variables))
        for n in range(lowest, order + 1)
        for factors in itertools.combinations_with_replacement(range(variables), n)
    )


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _products(exponents: tuple[tuple[int, ...], ...], variables: Any) -> Any:
    """All monomials in one pass: each factor is a variable or 1, and nothing else is stored."""
    table = np.array(exponents)
    result = jnp.ones((len(table), *variables.shape[1:]), variables.dtype)
    for v, variable in enumerate(variables):
        for n in range(1, table[:, v].max() + 1):
            taken = (table[:, v] >= n).reshape(-1, *(1,) * variable.ndim)
            result = result * jnp.where(taken, variable, 1)
    return result


@_products.defjvp
def _products_jvp(
    exponents: tuple[tuple[int, ...], ...], primals: tuple[Any], tangents: tuple[Any]
) -> tuple[Any, Any]:
    """For derivatives each monomial is one of lower order times a variable: few terms."""
    return jax.jvp(functools.partial(_step_by_step, exponents), primals, tangents)


def _step_by_step(exponents: tuple[tuple[int, ...], ...], variables: Any) -> Any:
    known = {(0,) * len(variables): jnp.ones_like(variables[0])}

    def monomial(powers: tuple[int, ...]) -> Any:
        if powers not in known:
            v = max(k for k, power in enumerate(powers) if power)
            lower = (*powers[:v], powers[v] - 1, *powers[v + 1 :])
            known[powers] = monomial(lower) * variables[v]
        return known[powers]

    return jnp.stack([monomial(powers) for powers in exponents])


def monomials(of: StateFunction, order: int, *, lowest: int = 0) -> Monomials:
    """All monomials of the components of a function, up to ``order``; scalar features.

    For positions in two dimensions and order 2: 1, x, y, x², xy, y².
    """
    if not 0 <= lowest <= order:
        raise ContractError(f"Monomials go from 0 ≤ lowest to order, not {lowest} to {order}.")
    count = math.prod(of.contract.components)
    features = sum(math.comb(count + n - 1, n) for n in range(lowest, order + 1))
    return Monomials(of.contract.but(rank=0, n_features=features), (of,), order, lowest)


def vector_features(scalars: StateFunction) -> StateFunction:
    """Scalar features along each axis of space: feature (k, a) is g_k e_a."""
    if scalars.dim is None:
        raise ContractError(f"{scalars.formula()} does not know the dimension of space.")
    return einsum(",i->i", scalars, unit_vectors(scalars.dim))
