"""Products of tensors, summed over axes of space.

    f_{…ab} = Σ g_{…a} h_{…b}

The letters stand for axes of space. Features are combined each with each (the features of the
last function run fastest), or feature by feature.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from typing import Any, Literal

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError, merged
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.state import State, sum_of_axes

__all__ = ["Einsum", "einsum"]


@dataclass(repr=False, eq=False)
class Einsum(StateFunction):
    """A product of tensors as ``numpy.einsum`` writes it, over axes of space."""

    subscripts: str = field(static=True)
    features: Literal["outer", "match"] = field(static=True, default="outer")
    steps = 2

    def values_at(self, state: State) -> Any:
        inputs, output = self.subscripts.split("->")
        letters = output + "".join(sorted(set(inputs) - {*output, ","}))
        factors = []
        for place, (child, axes) in enumerate(zip(self.children, inputs.split(","), strict=True)):
            values = state.deepened(child.values_at(state), child.pdepth, self.pdepth)
            factors.append(self._with_feature_axes(_along(letters, axes, values), place, letters))
        product = functools.reduce(operator.mul, factors)
        summed = sum_of_axes(product, range(len(output), len(letters)))
        trailing = summed.shape[summed.ndim - len(state.trailing(self.pdepth)) :]
        return summed.reshape(*self.contract.components, *trailing)

    def _with_feature_axes(self, values: Any, place: int, letters: str) -> Any:
        """With one feature axis for each function where features are combined each with each."""
        if self.features == "match":
            return values
        first, others = len(letters), len(self.children) - 1
        before, after = range(first, first + place), range(first + place + 1, first + others + 1)
        return jnp.expand_dims(values, (*before, *after))

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """Tensors of many components are written down before they are summed over."""
        found = super().buffers(sizes, loop)
        inputs, output = self.subscripts.split("->")
        if set(inputs) - {",", *output} and not sizes.grad:
            for child in self.children:
                found |= child.hold("{}", sizes.numbers(child)) if child.rank > 1 else {}
        return found

    def formula(self) -> str:
        parts = ", ".join(child.formula() for child in self.children)
        return f'einsum("{self.subscripts}", {parts})'


def _along(letters: str, axes: str, values: Any) -> Any:
    """A tensor with the axes that are named, in the order of ``letters``; the others length 1."""
    own = "".join(dict.fromkeys(axes))
    if own != axes:  # a letter that occurs twice: the diagonal
        values = jnp.einsum(f"{axes}...->{own}...", values)
    order = [own.index(letter) for letter in letters if letter in own]
    values = jnp.transpose(values, (*order, *range(len(own), values.ndim)))
    return jnp.expand_dims(values, [k for k, letter in enumerate(letters) if letter not in own])


def einsum(
    subscripts: str, *functions: StateFunction, features: Literal["outer", "match"] = "outer"
) -> Einsum:
    """``einsum("i,j->ij", f, g)``: a product over axes of space; letters are lower-case.

    ``features="outer"`` combines each feature with each, ``"match"`` feature by feature.
    """
    subscripts = subscripts.replace(" ", "")
    if not re.fullmatch(r"[a-z]*(,[a-z]*)*->[a-z]*", subscripts):
        raise ContractError(
            f"{subscripts!r} does not say which axes are meant.\n"
            'Write lower-case letters for axes of space: "ij,j->i", or ",i->i".'
        )
    inputs, output = subscripts.split("->")
    parts = inputs.split(",")
    ranks = [f.rank for f in functions]
    if [len(part) for part in parts] != ranks:
        raise ContractError(
            f"{subscripts!r} is for functions of rank {[len(part) for part in parts]}, not {ranks}."
        )
    if not set(output) <= set(inputs) or len(set(output)) < len(output):
        raise ContractError(
            f"{subscripts!r}: each letter of the result occurs there once, and in a function."
        )
    if features == "match" and len({f.n_features for f in functions} - {1}) > 1:
        raise ContractError(
            'einsum with features="match" takes functions with as many features, or one, not '
            + " and ".join(str(f.n_features) for f in functions)
            + "."
        )
    counts = [f.n_features for f in functions]
    n_features = math.prod(counts) if features == "outer" else max(counts, default=0)
    contract = merged("einsum", functions, rank=len(output), n_features=n_features)
    return Einsum(contract, functions, subscripts, features)
