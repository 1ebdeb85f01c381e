"""Neighbors of a few points among all particles, as trial moves need them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from instar.core.capacity import Capacity, FixedCapacity
from instar.core.data import Index, Table
from instar.core.typing import ArrayLike, ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.neighbors.images import wrap
from instar.neighbors.making import sorted_images
from instar.neighbors.search import WORD, Points, Room, search
from instar.neighbors.sizes import Sizes

__all__ = ["Near", "query"]


@dataclass
class Near:
    """Particles near each point; out of bounds where there are no more."""

    neighbors: Index[ParticleId]  # (points, room)
    separation: Array  # (points, room, 3): from the point to the image, Å


def query(
    particles: Table[ParticleId, Any],
    systems: Table[SystemId, Any],
    points: Array,
    system: Index[SystemId],
    cutoff: ArrayLike,
    sizes: Sizes,
    capacities: dict[str, Capacity[Any]] | None = None,
) -> Near:
    """Particles within a cutoff of each of a few points, as trial moves need them.

    Each point lies in a system, anywhere; a particle at the very same place counts as near. Wrap
    the caller, as for `NeighborList.updated`.

    Parameters
    ----------
    particles, systems
        Tables as for `NeighborList.of`.
    points
        (n, 3) in Å.
    system
        `Index` (n,): the system of each point.
    cutoff
        In Å, one for all systems or one per system.
    sizes
        Room of the buffers; that of a list for the same cutoff is enough: ``listed.sizes``.
    capacities
        By name (images, neighbors, words): capacities whose checks carry repairs. Left out, buffers
        that are too small are a failed check.

    Returns
    -------
    Near
        ``neighbors`` (n, room) and ``separation`` (n, room, 3) in Å, from the point to the image.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import instar
    >>> from instar.neighbors import NeighborList, query
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
    >>> tables = (state.particles, state.systems)
    >>> sizes = NeighborList.of(*tables, cutoff=7.0).sizes
    >>> point, home = jnp.array([[0.0, 0.0, 3.0]]), state.particles.data.system
    >>> found = jax.jit(lambda point: query(*tables, point, home, 7.0, sizes))(point)
    >>> print(found.separation[0, 0])
    [ 0.  0. -3.]
    """
    positions, cell = particles.data.positions, systems.data.cell
    count = cell.vectors.shape[0]
    reach = jnp.broadcast_to(jnp.asarray(cutoff, positions.dtype), (count,))
    if positions.shape[0] == 0:
        return _nobody(points, sizes)
    wrapped = wrap(positions, particles.data.system.update_labels(systems.vocabulary), cell)
    still = lax.stop_gradient((wrapped, positions, cell, reach))
    grid = sorted_images(*still, None, sizes.images, sizes.subdivision).grid
    seen = wrap(points, system.update_labels(systems.vocabulary), cell)
    inside = points - _shifted(seen.cells, seen.system, cell)
    x, y, z = (inside[:, k] for k in range(3))
    nowhere = jnp.zeros_like(seen.system)
    looked = Points(x, y, z, seen.inside, seen.system, nowhere, seen.there)
    room = Room(sizes.neighbors, sizes.words, sizes.subdivision)
    found = search(grid, lax.stop_gradient(looked), cell, reach, room)
    needs = {
        "images": grid.needed + 1,
        "neighbors": jnp.max(found.count, initial=0),
        "words": -(-jnp.max(found.candidates, initial=0) // WORD),
    }
    for name, need in needs.items():
        fixed = FixedCapacity(getattr(sizes, name), f"Query with more room for {name}.")
        ((capacities or {}).get(name) or fixed).generate_assertion(need)
    rows = found.rows.T
    there = rows > 0
    owner = jnp.where(there, grid.images.owner[rows], positions.shape[0])
    places = grid.images.positions(positions, wrapped.system, cell)  # differentiable
    apart = [
        jnp.where(there, place[rows] - here[:, None], 0)
        for place, here in zip(places, (x, y, z), strict=True)
    ]
    return Near(
        Index.integer(owner, n=positions.shape[0], label=ParticleId), jnp.stack(apart, axis=-1)
    )


def _nobody(points: Array, sizes: Sizes) -> Near:
    shape = (points.shape[0], sizes.neighbors)
    none = Index.integer(jnp.zeros(shape, jnp.int32), n=0, label=ParticleId)
    return Near(none, jnp.zeros((*shape, 3), points.dtype))


def _shifted(cells: Array, system: Array, cell: Any) -> Array:
    """Whole cells as lengths (Å)."""
    return jnp.einsum("pk,pkx->px", cells.astype(cell.vectors.dtype), cell.vectors[system])
