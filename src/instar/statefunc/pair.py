"""Sums over pairs of particles.

    f_i = Σ_{edges (i, j)} g(i, j)      per particle
    f   = Σ_{edges (i, j)} g(i, j)      per system

Every edge is a sample of two particles, on which g is evaluated. If g has one value per
particle, both particles of an edge get theirs; otherwise the first one gets it.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.over_edges import OverEdges
from instar.statefunc.pairing import Block, sum_over_edges
from instar.statefunc.state import State

__all__ = ["PairSum", "pair_sum"]


@dataclass(repr=False, eq=False)
class PairSum(OverEdges):
    """The sum of a function of two particles over the edges of the sample."""

    to: str = field(static=True)

    @property
    def both(self) -> bool:
        """Whether both particles of an edge get a value."""
        return self.child.pdepth == 1

    def values_at(self, state: State) -> Any:
        state = self.with_edges(state)

        def values_of(block: Block) -> Any:
            return block.pair.whole(self.child.values_at(block.pair), self.child.pdepth)

        def add(total: Any, block: Block, values: Any) -> Any:
            ends = [jnp.take(values, k, self.rank + 1) for k in (0, 1)] if self.both else [values]
            if self.to == "system":
                return block.onto_system(total, sum(ends), state)
            total = block.onto_first(total, ends[0])
            return block.onto_second(total, ends[1]) if self.both else total

        start = jnp.zeros(self.contract.components + state.trailing(self.pdepth), state.dtype)
        sums = sum_over_edges(state, values_of, add, start, self.chunk)
        return state.filled(sums, self.pdepth)

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """What one edge holds, for as many edges as are evaluated at a time."""
        edge = sizes.of_pair()
        found = self.child.buffers(edge, edge.numbers(self.child))
        if not sizes.grad:
            found |= self.child.hold("{}", edge.numbers(self.child))
        return self.over_edges(found, sizes)

    def formula(self) -> str:
        return f"Σ{'ⱼ' if self.to == 'particle' else 'ᵢⱼ'}({self.child.formula()})"

    def derivative_rule(self, across: bool) -> StateFunction | None:
        from instar.statefunc.pair_derivative import PairDerivative

        if self.to == "system" or self.both:
            return None
        deeper = self.contract.but(rank=self.rank + 1, pdepth=1 + across)
        return PairDerivative(deeper, self.children, self.chunk, across)


def pair_sum(
    function: StateFunction,
    *,
    to: str = "particle",
    chunk: int | None = None,
) -> PairSum:
    """A function of two particles, summed over the edges of the sample.

    ``to`` is ``"particle"`` for a value of each particle, or ``"system"`` for one of all.
    ``chunk`` evaluates so many edges at a time, which takes less memory: see
    ``suggest_chunk_size``.
    """
    if function.pdepth > 1 or function.contract.on_particles is False:
        raise ContractError(
            f"pair_sum takes a function of two particles with at most one particle axis, but "
            f"{function.formula()} has {function.contract}."
        )
    if to not in ("particle", "system"):
        raise ContractError(f'A sum over pairs goes to each "particle" or "system", not {to!r}.')
    if chunk is not None and chunk < 1:
        raise ContractError(f"A chunk has at least one edge, not {chunk}.")
    depth = 1 if to == "particle" else 0
    return PairSum(function.contract.but(pdepth=depth, on_particles=True), (function,), chunk, to)
