"""Which numbers an evaluation holds in memory, and for how long it needs them.

The compiler fuses: a chain of elementwise steps becomes one loop that writes only its last
result. Three things are written down all the same, and these a footprint counts:

    the sample's own columns     in the order of axes that the nodes work on
    values that are used often   where a loop over many numbers needs fewer of another kind,
                                 such as one weight for the three components of a vector
    operands and results of what is not an elementwise step: sums over pairs, products with
                                 weights, derivatives

For a gradient every step is kept until the way back, and its cotangent beside it. The rules are
held against the compiler's own figures in ``bench/statefunc.py``.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from instar.statefunc.memhint import SampleMeta, output_elems_per_sample

if TYPE_CHECKING:
    from instar.statefunc.node import StateFunction

__all__ = ["Buffer", "Buffers", "Sizes", "kept", "multiplied", "sizes_of", "with_tangents"]

type Layout = Literal["list", "rows", "all"]


class Buffer(NamedTuple):
    """So many numbers that hold ``what``; ``given`` if they are part of the sample."""

    what: str
    numbers: int
    given: bool = False


type Buffers = dict[Any, Buffer]
"""What is held for one sample, each thing once: the key tells things apart."""


@dataclasses.dataclass(frozen=True)
class Sizes:
    """What is known of a sample, or assumed."""

    particles: int
    edges: int
    layout: Layout
    grad: bool
    masked: bool = False
    differentiated: bool = False

    def numbers(self, function: StateFunction) -> int:
        """Numbers in the output of a function."""
        return output_elems_per_sample(function, particle_size=self.particles)

    def of_pair(self) -> Sizes:
        """Those of one edge: a sample of two particles."""
        return dataclasses.replace(self, particles=2, edges=0)


def sizes_of(particle_size: int | None, mode: str, sample: SampleMeta | None) -> Sizes:
    """What is known; unknown edges are assumed to join every particle with every other."""
    meta = sample or SampleMeta()
    particles = particle_size if particle_size is not None else meta.P
    particles = 1 if particles is None else operator.index(particles)
    edges = particles * (particles - 1) if meta.E is None else meta.E
    return Sizes(particles, edges, meta.layout or "list", mode == "grad", bool(meta.has_mask))


def kept(function: StateFunction, sizes: Sizes, loop: int) -> Buffers:
    """What is held for the children of an elementwise step, in a loop over ``loop`` numbers."""
    found: Buffers = {}
    for child in function.children:
        if child.contract.on_particles is None:
            continue  # a constant is not part of a sample
        numbers = sizes.numbers(child)
        if sizes.grad:
            found |= child.buffers(sizes, numbers)
        elif child.stored or numbers < loop:
            found |= child.hold("{}", numbers) | child.buffers(sizes, numbers)
        else:
            found |= child.buffers(sizes, loop)
    return found


def with_tangents(found: Buffers, directions: int) -> Buffers:
    """The same with tangents in so many directions beside everything that is computed."""
    return {
        key: b if b.given else b._replace(numbers=b.numbers * (1 + directions))
        for key, b in found.items()
    }


def multiplied(found: Buffers, factor: int) -> Buffers:
    """The same for ``factor`` times as many."""
    return {key: b._replace(numbers=b.numbers * factor) for key, b in found.items()}
