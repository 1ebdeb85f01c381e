"""`Edge`: two particles within a cutoff of each other, as a row of a table."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Index, Table
from instar.core.typing import ParticleId
from instar.core.utils.jax import dataclass
from instar.neighbors import NeighborList

__all__ = ["Edge", "edges_within"]


@dataclass
class Edge:
    """Columns of a table of edges: every pair is there twice, once from each side.

    A row that is not an edge has both particles out of bounds, and a vector longer than the cutoff:
    joins give zeros for it, and `Index.sum_over` leaves it out.
    """

    receiver: Index[ParticleId]  # (edges,) the particle that looks
    sender: Index[ParticleId]  # (edges,) the particle that it sees
    vector: Array  # (edges, 3) Å, from receiver to sender, to the right image


def edges_within(
    cutoff: Any, neighbors: NeighborList, particles: Any, systems: Any
) -> Table[int, Edge]:
    """The edges of an up-to-date list that are shorter than ``cutoff`` (Å); differentiable.

    ``cutoff`` is one length for all systems, or one each.
    """
    listed = neighbors.edges(particles, systems)
    receiver, sender = listed.indices[:, 0], listed.indices[:, 1]
    positions = particles.set_data(particles.data.positions)
    vectors = positions[sender] - positions[receiver]
    if listed.shifts is not None:
        vectors = vectors + listed.shifts
    systems_of = particles.set_data(particles.data.system)[receiver]
    count = len(systems)
    own = systems.set_data(jnp.broadcast_to(jnp.asarray(cutoff, vectors.dtype), (count,)))
    length = own[systems_of]
    used = sender.valid_mask & receiver.valid_mask
    squared = jnp.sum(jnp.where(used[:, None], vectors, 0) ** 2, axis=1)
    near = used & ~(squared >= length**2)  # a distance that is not a number must not vanish
    beyond = 2 * jnp.max(own.data, initial=1) * jnp.eye(1, 3, dtype=vectors.dtype)
    edge = Edge(
        receiver.apply_mask(near),
        sender.apply_mask(near),
        jnp.where(near[:, None], vectors, beyond),
    )
    return Table.arange(edge)
