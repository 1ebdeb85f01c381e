"""What all functions over the edges of a sample have in common: chunks, and their memory."""

from __future__ import annotations

import dataclasses
from typing import Any

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffer, Buffers, Sizes, multiplied
from instar.statefunc.memhint import SampleMeta
from instar.statefunc.node import StateFunction
from instar.statefunc.separation import Separation
from instar.statefunc.state import Pair, Particles, State

__all__ = ["OverEdges", "depends_on_separation_only"]


@dataclass(repr=False, eq=False)
class OverEdges(StateFunction):
    """A function that is evaluated on every edge; on ``chunk`` edges at a time if that is given."""

    chunk: int | None = field(static=True)
    pointwise = False
    stored = True

    def chunked(self, chunk: int | None) -> OverEdges:
        """The same function, evaluated on so many edges at a time; None for all at once."""
        if chunk is not None and chunk < 1:
            raise ContractError(f"A chunk has at least one edge, not {chunk}.")
        return dataclasses.replace(self, chunk=chunk)

    def suggest_chunk_size(
        self,
        max_per_sample_bytes: int,
        *,
        dtype: Any = None,
        particle_size: int | None = None,
        mode: str = "forward",
        sample: SampleMeta | None = None,
    ) -> int | None:
        """The most edges at a time for which the hint stays within so many bytes per sample.

        None if all edges fit at once. The other arguments are those of `memory_hint`.
        """

        def needed(chunk: int | None) -> int:
            known: dict[str, Any] = {"dtype": dtype, "particle_size": particle_size}
            hint = self.chunked(chunk).memory_hint(mode=mode, sample=sample, **known)
            return hint.per_sample_bytes

        if needed(None) <= max_per_sample_bytes:
            return None
        if needed(1) > max_per_sample_bytes:
            raise ContractError(
                f"{self.formula()} takes {needed(1)} bytes per sample with the smallest chunk, "
                f"more than the {max_per_sample_bytes} that it may take.\n"
                "Allow more, or use float32."
            )
        fits, too_large = 1, 2
        while needed(too_large) <= max_per_sample_bytes:
            fits, too_large = too_large, 2 * too_large
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            fits, too_large = (
                (middle, too_large) if needed(middle) <= max_per_sample_bytes else (fits, middle)
            )
        return fits

    def with_edges(self, state: State) -> Particles:
        """The state of many particles with edges, which this function needs."""
        if isinstance(state, Pair):
            raise ContractError(
                f"{self.formula()} is a sum over pairs within a sum over pairs.\n"
                "Evaluate the inner one first, and give it as a column of the sample."
            )
        if not isinstance(state, Particles) or state.edges is None:
            raise ContractError(
                f"{self.formula()} is a sum over pairs, but the sample has no edges.\n"
                "Give them: Sample(positions, edges=Edges.all_pairs(n))."
            )
        return state

    def over_edges(self, found: Buffers, sizes: Sizes) -> Buffers:
        """What one edge holds, times the edges at a time; chunks are summed up in one more value.

        Between all pairs nothing is gathered: what is given is read where it is needed, except
        for a separation that is used in several places.
        """
        gathered = sizes.layout != "all" or self.uses_of_separation() > 1
        gathered |= sizes.grad and self.chunk is not None
        if sizes.masked:
            found = found | self.hold("which edges are pairs in {}", 1)
        apart = self.identity if sizes.grad else self.chunk  # what sums do not share
        held: Buffers = {
            (key, apart): buffer._replace(what=f"{buffer.what} per pair")
            for key, buffer in multiplied(found, self._at_a_time(sizes)).items()
            if gathered or not buffer.given
        }
        held["x"] = Buffer("x", sizes.particles * (self.dim or 1), given=True)
        held |= self.hold("a typical pair of {}", 8 * (self.dim or 1))
        if sizes.masked:
            held |= self.hold("{} of those that are there", sizes.numbers(self))
        if sizes.grad or self.chunk is not None:
            held |= self.hold("sums of {}", sizes.numbers(self) * (2 if sizes.grad else 1))
        return held

    def uses_of_separation(self) -> int:
        """How many different functions of the separation the terms are made of."""
        from instar.statefunc.derivative import Derivative

        users: set[Any] = set()

        def visit(node: StateFunction) -> None:
            if isinstance(node, Derivative):  # uses it on the way there and back
                users.update({node.identity, node.child.identity})
            for child in node.children:
                if isinstance(child, Separation):
                    users.add(node.identity)
                visit(child)

        visit(self.child)
        return len(users)

    def _at_a_time(self, sizes: Sizes) -> int:
        """Edges that are evaluated together: whole rows, where edges are in rows."""
        if self.chunk is None:
            return sizes.edges
        width = 1 if sizes.layout == "list" else sizes.edges // max(1, sizes.particles)
        return min(max(1, self.chunk // max(1, width)) * width, sizes.edges)


def depends_on_separation_only(function: StateFunction) -> bool:
    """Whether the ends of a pair enter by nothing but their separation."""
    if not function.children:
        return isinstance(function, Separation) or function.contract.on_particles is None
    return all(depends_on_separation_only(child) for child in function.children)
