"""Derivatives of sums over pairs.

    f_{i,…a}  = Σ_{edges (i, j)} dg(i, j) / dx_{i,a}
    f_{ij,…a} = ∂/∂x_{j,a} Σ_{edges (i, k)} g(i, k)

A pair depends on two particles only, so that the derivative of the sum is a sum of derivatives
of pairs: 2·dim tangents an edge at most, instead of dim tangents for each particle.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.footprint import Buffers, Sizes, with_tangents
from instar.statefunc.over_edges import OverEdges, depends_on_separation_only
from instar.statefunc.pairing import Block, sum_over_edges
from instar.statefunc.state import State, chosen
from instar.statefunc.tangents import along_axes

__all__ = ["PairDerivative"]


@dataclass(repr=False, eq=False)
class PairDerivative(OverEdges):
    """The derivative of a pair sum; ``children`` holds the function that is summed."""

    across: bool = field(static=True)

    def values_at(self, state: State) -> Any:
        state = self.with_edges(state)
        start = jnp.zeros(self.contract.components + state.trailing(1), state.dtype)
        if not self.across:
            own = sum_over_edges(
                state, self._by_first, lambda t, block, v: block.onto_first(t, v), start, self.chunk
            )
            return state.filled(own, 1)
        matrix = jnp.zeros(self.contract.components + state.trailing(2), state.dtype)
        own, others = sum_over_edges(
            state, self._by_each, _onto_matrix, (start, matrix), self.chunk
        )
        diagonal = jnp.eye(*state.trailing(1), dtype=bool)
        return state.filled(others + chosen(diagonal, state.whole(own[..., None], 2), 0), 2)

    def _by_first(self, block: Block) -> Any:
        """By the first particle, which moves the second too where both are the same."""
        same = block.pair.same
        carried = 0 if same is None else same.astype(block.pair.dtype)[None, None]
        return along_axes(self.child, block.pair, (1, carried))

    def _by_each(self, block: Block) -> tuple[Any, Any]:
        by_first, by_second = (along_axes(self.child, block.pair, k) for k in ((1, 0), (0, 1)))
        return by_first, by_second

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """What one edge holds, with its tangents, for as many edges as are evaluated at a time."""
        edge, dim = sizes.of_pair(), self.dim or 1
        numbers = edge.numbers(self.child)
        ends = 2 if self.across else 1
        # of a function of the separation, tangents by one end are minus those by the other
        different = ends if sizes.grad or not depends_on_separation_only(self.child) else 1
        found = self.child.buffers(edge, numbers)
        if sizes.grad:
            found = with_tangents(found, 2 * dim * different)
        elif not self._in_place(sizes):
            found = with_tangents(found, dim * different) | self.child.hold("{}", numbers)
        terms = dim * numbers * (1 if self._in_place(sizes) and not sizes.grad else ends)
        found |= self.hold("the terms of {}", terms * (1 + sizes.masked))
        return self.over_edges(found, sizes)

    def uses_of_separation(self) -> int:
        """Every derivative of a function of the separation uses it once more."""
        return 1 + super().uses_of_separation()

    def copies(self, sizes: Sizes) -> int:
        """Between all pairs the derivatives are computed where they are returned."""
        return 1 if self._in_place(sizes) else 2

    def _in_place(self, sizes: Sizes) -> bool:
        return self.across and sizes.layout == "all" and self.chunk is None

    def formula(self) -> str:
        return f"∂(Σⱼ({self.child.formula()}))ᵢ/∂x{'ⱼ' if self.across else 'ᵢ'}"


def _onto_matrix(total: tuple[Any, Any], block: Block, values: tuple[Any, Any]) -> Any:
    (own, others), (by_first, by_second) = total, values
    own = block.onto_first(own, by_first)
    by_second = chosen(block.valid, by_second, 0)
    if block.complete and block.everything:
        return own, others + by_second
    first = block.first[:, None] if block.in_rows else block.first
    return own, others.at[..., first, block.second].add(by_second, mode="drop")
