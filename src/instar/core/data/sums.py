"""Sums of rows by key: exact for whole numbers, and for others free of the room for rows."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from instar.core.capacity import sum_over_capacity
from instar.core.utils.trees import DROP

__all__ = ["sum_by_key"]

_PARTIAL_SUMS = 2**16
"""Partial sums of all keys together, about: what they may take of memory."""

_FEW = 9
"""Columns that are added up one by one."""


def sum_by_key(values: Array, entries: Array, keys: int) -> Array:
    """Sums over the entries of each key: entries.shape + (...) → (keys, ...).

    Entries out of bounds are left out. Rows of numbers that round are dealt out to lanes by their
    place along the first axis, so that no partial sum is long and free rows at the end never
    change a bit of the result.
    """
    if keys == 1 and entries.ndim == 1:  # the same sums without a scatter
        return _sum_of_all(_without_free(values, entries))[None]
    shape = values.shape[entries.ndim :]
    if not jnp.issubdtype(values.dtype, jnp.inexact) or entries.ndim == 0:
        return jnp.zeros((keys, *shape), values.dtype).at[entries].add(values, **DROP)
    lanes = _lanes(keys)
    lane = jnp.arange(entries.shape[0], dtype=jnp.int32) % lanes
    lane = jnp.broadcast_to(lane.reshape(-1, *(1,) * (entries.ndim - 1)), entries.shape)
    partial = jnp.zeros((keys, lanes, *shape), values.dtype)
    return sum_over_capacity(partial.at[entries, lane].add(values, **DROP), axis=1)


def _lanes(keys: int) -> int:
    """Lanes of each key; they never depend on the number of rows, and very many keys have one.

    A power of two: then it does not matter in which lane the rows of a key begin, as long as they
    follow each other, and rows of edges may get more room.
    """
    wanted = max(16, 256 // max(1, keys))
    most = max(1, min(wanted, _PARTIAL_SUMS // max(1, keys)))
    return 1 << (most.bit_length() - 1)


def _without_free(values: Array, entries: Array) -> Array:
    """Zeros in the rows that are out of bounds; entries are of one key."""
    here = (entries == 0).reshape(-1, *(1,) * (values.ndim - 1))
    return jnp.where(here, values, jnp.zeros((), values.dtype))


def _sum_of_all(values: Array) -> Array:
    """The sum of all rows, in as many lanes as one key has."""
    if not jnp.issubdtype(values.dtype, jnp.inexact):
        return jnp.sum(values, axis=0, dtype=values.dtype)
    lanes = _lanes(1)
    turns = -(-values.shape[0] // lanes)
    room = [(0, turns * lanes - values.shape[0]), *[(0, 0)] * (values.ndim - 1)]
    dealt = jnp.pad(values, room).reshape(turns, lanes, *values.shape[1:])
    columns = math.prod(values.shape[1:])
    if 1 < columns <= _FEW:
        # Column by column: a reduction with an axis of three behind it is slow.
        each = jnp.moveaxis(dealt.reshape(turns, lanes, columns), -1, 0)
        found = jnp.stack([jnp.sum(column, axis=0) for column in each], axis=-1)
        return sum_over_capacity(found.reshape(dealt.shape[1:]), axis=0)
    return sum_over_capacity(jnp.sum(dealt, axis=0), axis=0)
