"""Neighbors and forces for particles where they are now: what steps of several kinds begin with.

A state of particles has the tables ``particles`` (positions, system, fixed) and ``systems`` (cell),
a ``potential`` and ``neighbors``, a list or None. Particles that are lost, because they are not
finite or too far away to count cells, get forces of NaN, so that `contained` freezes their system.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from instar.core.lens import Lens
from instar.geometry.triples import largest

__all__ = ["forces_on_free", "located"]

_FARTHEST = 2.0**27
"""Cells away, beyond which a particle is lost: they are counted in 32 bits."""


def located[S](state: S, where: Lens[Any, Any]) -> tuple[S, S]:
    """The state with an up-to-date list, and the same with all systems where the list can be.

    ``where`` is the list in the state.
    """
    known: Any = state
    if known.neighbors is None:
        return state, state
    there = _searchable(known)
    neighbors = known.neighbors.updated(there.particles, there.systems, where=where)
    return where.set(state, neighbors), where.set(there, neighbors)


def forces_on_free(forces: Array, state: Any) -> Array:
    """Forces (particles, 3) as they act: none on what is fixed, NaN on what is lost."""
    data = state.particles.data
    lost = data.system.valid_mask[:, None] & ~jnp.isfinite(data.positions)
    return jnp.where(lost, jnp.nan, jnp.where(data.fixed[:, None], 0, forces))


def _searchable(state: Any) -> Any:
    """With every lost system put back to where it was when the list was made."""
    listed = state.neighbors
    data, cell = state.particles.data, state.systems.data.cell
    shortest = jnp.min(jnp.where(cell.periodic, cell.heights, jnp.inf), axis=1)
    farthest = state.systems.set_data(_FARTHEST * shortest).beside(data.system)
    far = largest(data.positions) > farthest
    lost = data.system.valid_mask & (far | ~jnp.isfinite(data.positions).all(axis=1))
    flat = ~(jnp.isfinite(cell.vectors).all(axis=(1, 2)) & (shortest > 0))

    def put_back(positions: Array, vectors: Array) -> tuple[Array, Array]:
        gone = flat | (data.system.sum_over(lost).data > 0)
        own = state.systems.set_data(gone)[data.system]
        return (
            jnp.where(own[:, None], listed.positions, positions),
            jnp.where(gone[:, None, None], listed.vectors, vectors),
        )

    positions, vectors = lax.cond(
        jnp.any(lost) | jnp.any(flat),
        put_back,
        lambda positions, vectors: (positions, vectors),
        data.positions,
        cell.vectors,
    )
    cell = dataclasses.replace(cell, vectors=vectors)
    moved = state.with_columns("particles", positions=positions)
    return moved.with_systems(cell=cell)
