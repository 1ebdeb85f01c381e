"""Pairs that are not neighbors although they are near: of each, the nearest image."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from instar.geometry import Cell
from instar.neighbors.images import Wrapped

__all__ = ["are_close", "unseen_images", "without"]


def unseen_images(
    excluded: Array | None, wrapped: Wrapped, positions: Array, cell: Cell
) -> Array | None:
    """The images that each particle does not see, (particles, room, 4) int32.

    Each is a partner, −1 for none, and how many cells it is from where it is when wrapped.
    ``excluded`` (particles, room) names partners, out of bounds for none.
    """
    if excluded is None:
        return None
    partner, there = _partners(excluded, wrapped)
    cells: Cell = jax.tree.map(lambda column: column[wrapped.system], cell)
    search = (0, 0, 0) if cell.orthorhombic else (1, 1, 1)

    def step(partner: Array) -> Array:
        """Cells from the wrapped partner to its image that is nearest."""
        away = positions[partner] - positions
        shift = cells.fractional(cells.minimum_image(away, search) - away)
        return jnp.round(shift).astype(jnp.int32) + wrapped.cells[partner] - wrapped.cells

    steps = jnp.swapaxes(lax.map(step, partner.T), 0, 1)
    return jnp.concatenate([jnp.where(there, partner, -1)[..., None], steps], axis=-1)


def are_close(
    excluded: Array | None, wrapped: Wrapped, positions: Array, cell: Cell, margin: Array
) -> Array:
    """Whether excluded partners are so near that the nearest image stays the same.

    That is so while their distance and a ``margin`` (systems,), by which it may grow (Å), are
    within what the cell allows.
    """
    if excluded is None:
        return jnp.ones((), bool)
    partner, there = _partners(excluded, wrapped)
    cells: Cell = jax.tree.map(lambda column: column[wrapped.system], cell)
    limit = jnp.maximum(cells.exact_within - margin[wrapped.system], 0) ** 2

    def close(one: tuple[Array, Array]) -> Array:
        partner, there = one
        nearest = cells.minimum_image(positions[partner] - positions)
        return jnp.all(~there | (jnp.sum(nearest**2, axis=1) <= limit))

    return jnp.all(lax.map(close, (partner.T, there.T)))


def _partners(excluded: Array, wrapped: Wrapped) -> tuple[Array, Array]:
    """Rows of partners, in bounds, and where both particles are there."""
    inside = (excluded >= 0) & (excluded < wrapped.there.shape[0])
    partner = jnp.where(inside, excluded, 0)
    return partner, inside & wrapped.there[:, None] & wrapped.there[partner]


def without(rows: Array, left_out: Array) -> Array:
    """Rows of neighbors (room, points) without those of each point (points, few)."""

    def cleared(rows: Array, one: Array) -> tuple[Array, None]:
        return jnp.where(rows == one[None], 0, rows), None

    return lax.scan(cleared, rows, left_out.T)[0]
