"""Who is within reach of a point: candidates by ranges of rows, hits as bits, bits to a list.

    for each column of bins that the ball around a point touches
        the candidates are one range of rows; up to 32 of them are tested into one word
    then walk over the set bits of all words, lowest first: the neighbors, in order

The order of neighbors depends on where they are, never on how much room there is.
"""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.jax import dataclass, field
from instar.geometry import Cell
from instar.neighbors.grid import MARGIN, Grid

__all__ = ["Found", "Points", "Room", "search"]

WORD = 32
"""Candidates in one word."""


@dataclass
class Points:
    """Where to look from: one entry each."""

    x: Array
    y: Array
    z: Array
    inside: Array  # (points, 3) fractional, inside the cell
    system: Array
    itself: Array  # the row of the grid that is the point itself, 0 if there is none
    there: Array


@dataclass
class Found:
    """Rows of the grid around each point; row 0, which is nowhere, where there are no more."""

    rows: Array  # (neighbors, points) int32
    count: Array  # (points,)
    candidates: Array  # (points,) the most candidates that one column of bins had


@dataclass
class Room:
    """How much a search may find."""

    neighbors: int = field(static=True)
    words: int = field(static=True)  # of candidates in one column of bins
    subdivision: int = field(static=True)  # bins to a reach


def search(grid: Grid, points: Points, cell: Cell, reach: Array, room: Room) -> Found:
    """The rows of ``grid`` within ``reach`` (one per system, Å) of each point."""
    starts, ends = _ranges(grid, points, cell, reach, room.subdivision)
    candidates = jnp.max(ends - starts, axis=0)
    limit = reach[points.system] ** 2 * (1 + MARGIN * jnp.finfo(reach.dtype).eps)

    offsets = WORD * jnp.arange(room.words, dtype=jnp.int32)[:, None]
    begins = (starts[:, None] + offsets[None]).reshape(-1, starts.shape[1])
    ends = jnp.repeat(ends, room.words, axis=0)

    def test(_: None, one: tuple[Array, Array]) -> tuple[None, Array]:
        return None, _hits(grid, points, limit, *one)

    masks = lax.scan(test, None, (begins, ends))[1]
    count = jnp.sum(lax.population_count(masks), axis=0).astype(jnp.int32)
    rows = _walk(masks, begins, room.neighbors)
    return Found(rows, count, candidates)


def _ranges(
    grid: Grid, points: Points, cell: Cell, reach: Array, subdivision: int
) -> tuple[Array, Array]:
    """First and last row of the candidates in each column around each point, (columns, points).

    In an orthorhombic cell a column at the distance d, seen from the point, is within reach only
    up to √(R² − d²) along z.
    """

    def of_each(values: Array) -> Array:
        """Values of systems, beside the points."""
        return values[points.system]

    bins = [of_each(grid.bins[:, k]) for k in range(3)]
    before = of_each(grid.before)
    place = [
        (points.inside[:, k] - of_each(grid.low[:, k])) / of_each(grid.width[:, k])
        for k in range(3)
    ]
    home = [jnp.clip(jnp.floor(place[k]).astype(jnp.int32), 0, bins[k] - 1) for k in range(2)]
    within = [place[k] - home[k].astype(place[k].dtype) for k in range(2)]
    breadth = [of_each((grid.width * cell.heights)[:, k]) for k in range(2)]  # of a bin, Å
    fuzz = [of_each((grid.fuzz * cell.heights)[:, k]) for k in range(2)]
    per_length = of_each(1 / (grid.width * cell.heights)[:, 2])  # bins per Å along z
    fuzz_z = of_each((grid.fuzz / grid.width)[:, 2])
    whole = of_each((grid.span / grid.width)[:, 2])
    squared = of_each(reach**2 * (1 + MARGIN * jnp.finfo(reach.dtype).eps))
    steps = range(-subdivision, subdivision + 1)

    def column(_: None, offset: Array) -> tuple[None, tuple[Array, Array]]:
        across = [home[k] + offset[k] for k in range(2)]
        valid = points.there
        for k in range(2):
            valid &= (across[k] >= 0) & (across[k] < bins[k])
        half = whole
        if cell.orthorhombic:
            gaps = [_gap(within[k], offset[k]) * breadth[k] - fuzz[k] for k in range(2)]
            left = squared - jnp.maximum(gaps[0], 0) ** 2 - jnp.maximum(gaps[1], 0) ** 2
            valid &= left >= 0
            half = jnp.sqrt(jnp.maximum(left, 0)) * per_length + fuzz_z
        bottom, top = (
            jnp.clip(jnp.floor(end).astype(jnp.int32), 0, bins[2] - 1)
            for end in (place[2] - half, place[2] + half)
        )
        number = before + (across[0] * bins[1] + across[1]) * bins[2]
        start = grid.first.at[jnp.where(valid, number + bottom, 0)].get(mode="clip")
        end = grid.first.at[jnp.where(valid, number + top + 1, 0)].get(mode="clip")
        return None, (start, end)

    offsets = jnp.array(list(itertools.product(steps, steps)), jnp.int32)
    return lax.scan(column, None, offsets)[1]


def _gap(within: Array, offset: Array) -> Array:
    """Distance, in bins, of a point at ``within`` of its bin from the bin ``offset`` away."""
    offset = offset.astype(within.dtype)
    return jnp.maximum(offset - within, within - offset - 1)


def _hits(grid: Grid, points: Points, limit: Array, begin: Array, end: Array) -> Array:
    """A bit for each of the 32 rows from ``begin`` on, set where the row is within reach."""
    most = jnp.clip(jnp.max(end - begin, initial=0), 0, WORD)

    def test(bit: Array, word: Array) -> Array:
        row = begin + bit
        at = jnp.where(row < end, row, 0)
        x, y, z = (p.at[at].get(mode="promise_in_bounds") for p in grid.points)
        squared = (x - points.x) ** 2 + (y - points.y) ** 2 + (z - points.z) ** 2
        hit = (squared <= limit) & (at != points.itself)
        return word | jnp.where(hit, jnp.uint32(1) << bit.astype(jnp.uint32), np.uint32(0))

    return lax.fori_loop(0, most, test, jnp.zeros(begin.shape, jnp.uint32))


def _walk(masks: Array, begins: Array, neighbors: int) -> Array:
    """The row of each set bit, word after word, ``neighbors`` of them for each point."""
    words, points = masks.shape
    lane = jnp.arange(points, dtype=jnp.int32)
    following = lax.scan(
        lambda later, one: ((here := jnp.where(one[1] != 0, one[0], later)), here),
        jnp.full(points, words, jnp.int32),
        (jnp.arange(words, dtype=jnp.int32), masks),
        reverse=True,
    )[1]  # the first word that is not empty, from each word on
    end = jnp.full((1, points), words, jnp.int32)
    following = jnp.concatenate([following, end, end]).reshape(-1)
    masks = jnp.concatenate([masks, jnp.zeros((1, points), jnp.uint32)]).reshape(-1)
    begins = jnp.concatenate([begins, jnp.zeros((1, points), jnp.int32)]).reshape(-1)

    def at(table: Array, word: Array) -> Array:
        return table.at[word * points + lane].get(mode="promise_in_bounds")

    def emit(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        word, bits = state
        lowest = bits & (~bits + np.uint32(1))
        place = lax.population_count(lowest - np.uint32(1)).astype(jnp.int32)
        row = jnp.where(bits != 0, at(begins, word) + place, 0)
        rest = bits & (bits - np.uint32(1))
        empty = rest == 0
        word = jnp.where(empty, at(following, jnp.minimum(word + 1, words)), word)
        return (word, jnp.where(empty, at(masks, word), rest)), row

    word = following[:points]
    return lax.scan(emit, (word, at(masks, word)), length=neighbors)[1]
