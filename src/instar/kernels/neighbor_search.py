"""The neighbor search: images sorted into bins, and who is near each of them.

`source/neighbor_grid.cpp` and `source/neighbor_search.cpp` have the steps; `neighbors.grid` and
`neighbors.search` are the same in JAX, with equal arrays to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from jax import Array

from instar.kernels.library import target

__all__ = [
    "MOST_SUBDIVISION",
    "Bins",
    "Looking",
    "Particles",
    "SortedImages",
    "neighbor_grid",
    "neighbor_search",
]

MOST_SUBDIVISION = 7
"""Bins to a reach, at most."""

_SCRATCH_OF_PARTICLE = 7


class Particles(NamedTuple):
    """What images are made of: particles in their cells, and how far they see."""

    inside: Array  # (particles, 3) fractional
    cells: Array  # (particles, 3) int32: how many cells away they were
    system: Array  # (particles,) int32
    there: Array  # (particles,)
    positions: Array  # (particles, 3) Å
    vectors: Array  # (systems, 3, 3) Å
    periodic: Array  # (systems, 3)
    reach: Array  # (systems, 3) fractional
    unseen: Array  # (particles, partners, 4) int32: a partner or −1, and cells to it


class Bins(NamedTuple):
    """The bins of each system; `neighbors.grid.Grid` says more."""

    first: Array  # (table,) the first row of each bin
    bins: Array  # (systems, 3) int32
    before: Array  # (systems,)
    low: Array  # (systems, 3) fractional, as the next three
    width: Array
    span: Array
    fuzz: Array


class SortedImages(NamedTuple):
    """Images in the order of their bins."""

    owner: Array  # (rows,)
    shift: Array  # (rows, 3)
    points: tuple[Array, Array, Array]  # (rows,) Å
    bins: Bins
    home: Array  # (particles,)
    needed: Array  # ()
    at: Array  # (looking,) rows that are particles, in the order of space
    place: Array  # (particles,)
    left_out: Array  # (particles, partners) rows that each does not see


def neighbor_grid(
    given: Particles, *, rows: int, table: int, looking: int, subdivision: int
) -> SortedImages:
    """All images in ``rows`` rows, with bins in a table of that length; only on a CPU."""
    particles, partners = given.unseen.shape[:2]
    systems = given.vectors.shape[0]
    real = given.positions.dtype
    scratch = _SCRATCH_OF_PARTICLE * particles + rows + table + systems

    def whole(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.int32)

    reals = [jax.ShapeDtypeStruct((rows,), real)] * 3
    per_axis = [jax.ShapeDtypeStruct((systems, 3), real)] * 4
    call = jax.ffi.ffi_call(
        target(f"instar_neighbor_grid_{np.dtype(real).name}"),
        (
            *(whole(rows), whole(rows, 3), *reals),
            *(whole(table), whole(systems, 3), whole(systems), *per_axis),
            *(whole(particles), whole(), whole(looking), whole(particles)),
            *(whole(particles, partners), whole(scratch)),
        ),
        vmap_method="sequential",
    )
    found = call(*given, subdivision=np.int64(subdivision))
    owner, shift, x, y, z = found[:5]
    return SortedImages(owner, shift, (x, y, z), Bins(*found[5:12]), *found[12:17])


class Looking(NamedTuple):
    """What a search takes: images in bins, and the rows to look from."""

    points: tuple[Array, ...]  # x, y, z of each image, Å
    owner: Array  # (images,)
    bins: Bins
    heights: Array  # (systems, 3) Å
    reach: Array  # (systems,) Å
    inside: Array  # (particles, 3) fractional
    system: Array  # (particles,) int32
    rows: Array  # (blocks, width) images; 0 for none
    left_out: Array  # (particles, partners) images that each particle does not see


def neighbor_search(
    given: Looking, *, room: int, words: int, subdivision: int, orthorhombic: bool
) -> tuple[Array, Array, Array]:
    """Slots (blocks, room, width) of each row, how many are near, and the most candidates.

    ``words`` is the room for candidates in one column of bins. Only on a CPU.
    """
    blocks, width = given.rows.shape
    call = jax.ffi.ffi_call(
        target(f"instar_neighbor_search_{np.dtype(given.reach.dtype).name}"),
        (
            jax.ShapeDtypeStruct((blocks, room, width), np.int32),
            jax.ShapeDtypeStruct((blocks, width), np.int32),
            jax.ShapeDtypeStruct((blocks, width), np.int32),
        ),
        vmap_method="sequential",
    )
    slots, count, candidates = call(
        *jax.tree.leaves(given),
        words=np.int64(words),
        subdivision=np.int64(subdivision),
        orthorhombic=np.int64(orthorhombic),
    )
    return slots, count, candidates
