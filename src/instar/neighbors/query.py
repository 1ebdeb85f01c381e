"""Neighbors of a few points among all particles, as trial moves need them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.capacity import Capacity, FixedCapacity
from instar.core.data import Index
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.neighbors.grid import grid_of
from instar.neighbors.images import wrap
from instar.neighbors.search import WORD, Points, Room, search
from instar.neighbors.sizes import Sizes

__all__ = ["Near", "query"]


@dataclass
class Near:
    """Particles near each point; out of bounds where there are no more."""

    neighbors: Index[ParticleId]  # (points, room)
    separation: Array  # (points, room, 3): from the point to the image, Å


def query(
    particles: Any,
    systems: Any,
    points: Array,
    system: Index[SystemId],
    cutoff: Any,
    sizes: Sizes,
    capacities: dict[str, Capacity[Any]] | None = None,
) -> Near:
    """Particles within ``cutoff`` (Å, one for all systems or one each) of each point (n, 3).

    Each point lies in a system, anywhere; a particle at the very same place counts as near.
    Buffers that are too small are reported by a check; ``capacities`` by name (images, neighbors,
    words) may carry repairs. Wrap the caller, as for `NeighborList.updated`.
    """
    positions, cell = particles.data.positions, systems.data.cell
    count = cell.vectors.shape[0]
    reach = jnp.broadcast_to(jnp.asarray(cutoff, positions.dtype), (count,))
    wrapped = wrap(positions, particles.data.system.update_labels(systems.vocabulary), cell)
    grid = grid_of(wrapped, positions, cell, reach, sizes.images, sizes.subdivision)
    seen = wrap(points, system.update_labels(systems.vocabulary), cell)
    inside = points - _shifted(seen.cells, seen.system, cell)
    x, y, z = (inside[:, k] for k in range(3))
    nowhere = jnp.zeros_like(seen.system)
    looked = Points(x, y, z, seen.inside, seen.system, nowhere, seen.there)
    room = Room(sizes.neighbors, sizes.words, sizes.subdivision)
    found = search(grid, looked, cell, reach, room)
    needs = {
        "images": grid.needed + 1,
        "neighbors": jnp.max(found.count, initial=0),
        "words": -(-found.candidates // WORD),
    }
    for name, need in needs.items():
        fixed = FixedCapacity(getattr(sizes, name), f"Query with more room for {name}.")
        ((capacities or {}).get(name) or fixed).generate_assertion(need)
    rows = found.rows.T
    there = rows > 0
    owner = jnp.where(there, grid.images.owner[rows], positions.shape[0])
    apart = [
        jnp.where(there, place[rows] - here[:, None], 0)
        for place, here in zip(grid.points, (x, y, z), strict=True)
    ]
    return Near(
        Index.integer(owner, n=positions.shape[0], label=ParticleId), jnp.stack(apart, axis=-1)
    )


def _shifted(cells: Array, system: Array, cell: Any) -> Array:
    """Whole cells as lengths (Å)."""
    return jnp.einsum("pk,pkx->px", cells.astype(cell.vectors.dtype), cell.vectors[system])
