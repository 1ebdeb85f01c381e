"""`Images`: every periodic image of a particle that another particle may see, sorted in space.

A particle in the cell sees others up to its reach R. All images that can matter lie within R of
the cell: in fractional coordinates, for a periodic axis of height h,

    −R/h ≤ s + t ≤ 1 + R/h       for whole numbers t: a range of them for each axis.

Once they are rows of a table, space has no periods any more: who is near whom is a question of
plain distances, for skewed and for tiny cells alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.data import Index, Table
from instar.core.typing import SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell

__all__ = ["FAR", "Images", "Wrapped", "images_of", "wrap"]

FAR = 1e9
"""Where rows are that stand for no particle (Å); the square of it is finite in float32."""


@dataclass
class Images:
    """Rows of particles shifted by whole cells: r = positions[owner] + shift·A.

    Row 0 is nowhere, and so is each row whose owner is out of bounds.
    """

    owner: Array  # (rows,) int32
    shift: Array  # (rows, 3) int32

    def positions(self, positions: Array, system: Array, cell: Cell) -> tuple[Array, ...]:
        """x, y, z of every row, each an array of its own; differentiable.

        ``positions`` (particles, 3); ``system`` (particles,) the row of ``cell`` of each.
        """
        there = self.owner < positions.shape[0]
        owner = jnp.where(there, self.owner, 0)
        home = [positions[:, k].at[owner].get(mode="promise_in_bounds") for k in range(3)]
        offset = self._offsets(system.at[owner].get(mode="promise_in_bounds"), cell)
        return tuple(
            jnp.where(there, h + o, jnp.asarray(FAR, h.dtype))
            for h, o in zip(home, offset, strict=True)
        )

    def _offsets(self, system: Array, cell: Cell) -> list[Array]:
        """shift·A, axis by axis."""
        vectors = cell.vectors
        steps = [self.shift[:, k].astype(vectors.dtype) for k in range(3)]

        def entry(k: int, axis: int) -> Any:
            if vectors.shape[0] == 1:
                return vectors[0, k, axis]
            return vectors[:, k, axis].at[system].get(mode="clip")

        # All nine entries, also of straight cells: the energy depends on each of them.
        return [
            steps[0] * entry(0, axis) + steps[1] * entry(1, axis) + steps[2] * entry(2, axis)
            for axis in range(3)
        ]


class Wrapped(NamedTuple):
    """Particles brought into their cells."""

    inside: Array  # (particles, 3) fractional, in [0, 1] along periodic axes
    cells: Array  # (particles, 3) int32: how many cells away they were
    system: Array  # (particles,) int32; 0 for absent ones
    there: Array  # (particles,) whether the row is a particle


def wrap(positions: Array, system: Index[SystemId], cell: Cell) -> Wrapped:
    """Particles in fractional coordinates inside their cells."""
    there = system.valid_mask
    own = Table(system.vocabulary, cell)[system]
    fractional = own.fractional(positions)
    cells = jnp.where(own.periodic, jnp.floor(fractional), 0)
    inside = fractional - cells
    inside = jnp.where(there[:, None] & jnp.isfinite(inside), inside, 0)
    cells = jnp.where(there[:, None], cells, 0).astype(jnp.int32)
    return Wrapped(inside, cells, jnp.where(there, system.indices, 0), there)


class Expanded(NamedTuple):
    """Images in the order of their owners."""

    owner: Array  # (rows,) int32, the number of particles where the row is free
    step: Array  # (rows, 3) int32: cells away from the wrapped particle
    needed: Array  # () int32: rows that are needed
    start: Array  # (particles,) int32: the first row of each particle
    lowest: Array  # (particles, 3) int32: its first step along each axis
    widths: Array  # (particles, 3) int32: how many steps it has


def images_of(wrapped: Wrapped, span: Array, periodic: Array, rows: int) -> Expanded:
    """All images whose fractional coordinates lie within ``span`` (systems, 3) of the cell."""
    inside, system = wrapped.inside, wrapped.system
    particles = inside.shape[0]
    span, periodic = span[system], periodic[system]
    span = jnp.minimum(span, 2.0**20)
    lowest = jnp.where(periodic, jnp.ceil(-span - inside), 0).astype(jnp.int32)
    highest = jnp.where(periodic, jnp.floor(1 + span - inside), 0).astype(jnp.int32)
    widths = highest - lowest + 1
    counts = jnp.where(wrapped.there, widths[:, 0] * widths[:, 1] * widths[:, 2], 0)
    ends = jnp.cumsum(counts, dtype=jnp.int32)
    # A cell that collapsed needs more images than 32 bits can count.
    exact = jnp.sum(jnp.where(wrapped.there, jnp.prod(widths.astype(span.dtype), axis=1), 0))
    needed = ends[-1] if particles else jnp.zeros((), jnp.int32)
    needed = jnp.where(exact < 2.0**30, needed, np.int32(np.iinfo(np.int32).max - 1))
    starts = ends - counts
    # owner of a row: the last particle whose block of rows has begun
    first = jnp.where(counts > 0, starts, rows)
    numbers = jnp.arange(particles, dtype=jnp.int32)
    owner = lax.cummax(jnp.zeros(rows, jnp.int32).at[first].set(numbers, mode="drop"))
    row = jnp.arange(rows, dtype=jnp.int32)
    free = row >= needed
    at = jnp.where(free, 0, owner)
    place = row - starts[at]
    steps = []
    for axis in (2, 1, 0):
        width = widths[:, axis][at]
        steps.append(lowest[:, axis][at] + place % width)
        place = place // width
    step = jnp.where(free[:, None], 0, jnp.stack(steps[::-1], axis=-1))
    owner = jnp.where(free, np.int32(particles), owner)
    return Expanded(owner, step, needed, starts, lowest, widths)
