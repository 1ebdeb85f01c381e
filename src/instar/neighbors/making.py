"""How a list is made: images sorted into bins, then who is near each particle, block by block.

On a CPU both are done by compiled kernels, elsewhere by `grid` and `search` in JAX; the arrays are
equal to the bit, with the order of rows and slots.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh

from instar import kernels
from instar.geometry import Cell
from instar.kernels.choice import by_platform
from instar.kernels.neighbor_search import (
    MOST_SUBDIVISION,
    Bins,
    Looking,
    Particles,
    neighbor_grid,
    neighbor_search,
)
from instar.neighbors.blocks import in_turn, over_devices
from instar.neighbors.exclusion import without
from instar.neighbors.grid import Grid, fractional_reach, grid_of, table_length
from instar.neighbors.images import FAR, Images, Wrapped
from instar.neighbors.search import Found, Points, Room, search

__all__ = ["Made", "in_blocks", "neighbors_of", "sorted_images"]


class Made(NamedTuple):
    """All images, and the particles among them in the order of space."""

    grid: Grid
    at: Array  # (particles,) the row of each; 0 for absent ones, which come last
    place: Array  # (particles,) which of them each particle is


def sorted_images(
    wrapped: Wrapped,
    positions: Array,
    cell: Cell,
    reach: Array,
    unseen: Array | None,
    rows: int,
    subdivision: int,
) -> Made:
    """Images of all particles in the order of their bins, in ``rows`` rows.

    ``reach`` (systems,) in Å; ``unseen`` from `exclusion.unseen_images`.
    """

    def plain(given: Any) -> Made:
        grid = grid_of(*given, rows=rows, subdivision=subdivision)
        return Made(grid, *_in_space(grid.home))

    def kernel(given: Any) -> Made:
        return _by_kernel(*given, rows=rows, subdivision=subdivision)

    given = (wrapped, positions, cell, fractional_reach(reach, cell), unseen)
    if _has_kernel(subdivision, positions, cell.vectors, reach):
        return by_platform(kernel, plain, given)
    return plain(given)


def neighbors_of(
    rows: Array,
    grid: Grid,
    wrapped: Wrapped,
    cell: Cell,
    reach: Array,
    room: Room,
    mesh: Mesh | None = None,
) -> Found:
    """The rows near each of ``rows`` (blocks, width) within the reach (systems,), Å."""

    def plain(given: Any) -> Found:
        return in_turn(lambda rows, shared: _block(rows, *shared, room=room), *given)

    def kernel(given: Any) -> Found:
        return Found(
            *neighbor_search(
                _looking(given[0], *given[1]),
                room=room.neighbors,
                words=room.words,
                subdivision=room.subdivision,
                orthorhombic=cell.orthorhombic,
            )
        )

    native = _has_kernel(room.subdivision, grid.points[0], cell.vectors, reach)

    def find(rows: Array, shared: Any) -> Found:
        given = (rows, shared)
        return by_platform(kernel, plain, given) if native else plain(given)

    return over_devices(find, rows, (grid, wrapped, cell, reach), mesh)


def in_blocks(at: Array, shape: tuple[int, ...]) -> Array:
    """Rows in the order of space as blocks, (blocks, width); 0 beyond the last."""
    free = shape[0] * shape[1] - at.shape[0]
    return jnp.pad(at, (0, free)).reshape(shape)


def _has_kernel(subdivision: int, *reals: Array) -> bool:
    same = {np.dtype(a.dtype) for a in reals}
    known = same in ({np.dtype(np.float32)}, {np.dtype(np.float64)})
    return known and subdivision <= MOST_SUBDIVISION and kernels.in_use()


def _by_kernel(
    wrapped: Wrapped,
    positions: Array,
    cell: Cell,
    span: Array,
    unseen: Array | None,
    *,
    rows: int,
    subdivision: int,
) -> Made:
    particles, systems = positions.shape[0], span.shape[0]
    none = jnp.zeros((particles, 0, 4), jnp.int32)
    given = Particles(
        inside=wrapped.inside,
        cells=wrapped.cells,
        system=wrapped.system,
        there=wrapped.there,
        positions=positions,
        vectors=cell.vectors,
        periodic=cell.periodic,
        reach=span,
        unseen=none if unseen is None else unseen,
    )
    table = table_length(rows, systems, subdivision)
    made = neighbor_grid(given, rows=rows, table=table, looking=particles, subdivision=subdivision)
    grid = Grid(
        images=Images(made.owner, made.shift),
        points=made.points,
        **made.bins._asdict(),
        home=made.home,
        needed=made.needed,
        left_out=None if unseen is None else made.left_out,
    )
    return Made(grid, made.at, made.place)


def _looking(rows: Array, grid: Grid, wrapped: Wrapped, cell: Cell, reach: Array) -> Looking:
    none = jnp.zeros((wrapped.system.shape[0], 0), jnp.int32)
    return Looking(
        points=grid.points,
        owner=grid.images.owner,
        bins=Bins(*(getattr(grid, name) for name in Bins._fields)),
        heights=cell.heights,
        reach=reach,
        inside=wrapped.inside,
        system=wrapped.system,
        rows=rows,
        left_out=none if grid.left_out is None else grid.left_out,
    )


def _in_space(home: Array) -> tuple[Array, Array]:
    """Rows of particles in the order of space, and which of them each particle is."""
    particles = home.shape[0]
    number = jnp.arange(particles, dtype=jnp.int32)
    absent = np.iinfo(np.int32).max
    at, order = lax.sort((jnp.where(home > 0, home, absent), number), num_keys=1)
    place = jnp.zeros(particles, jnp.int32).at[order].set(number, unique_indices=True)
    return jnp.where(at < absent, at, 0), place


def _block(
    rows: Array, grid: Grid, wrapped: Wrapped, cell: Cell, reach: Array, *, room: Room
) -> Found:
    found = search(grid, _points(grid, wrapped, rows), cell, reach, room)
    if grid.left_out is None:
        return found
    owner = jnp.where(rows > 0, grid.images.owner[rows], 0)
    kept = without(found.rows, grid.left_out[owner])
    return Found(kept, found.count, found.candidates)


def _points(grid: Grid, wrapped: Wrapped, rows: Array) -> Points:
    """The particles that these images are, as points to look from."""
    there = rows > 0
    owner = jnp.where(there, grid.images.owner[rows], 0)
    x, y, z = (jnp.where(there, p[rows], -FAR) for p in grid.points)
    return Points(x, y, z, wrapped.inside[owner], wrapped.system[owner], rows, there)
