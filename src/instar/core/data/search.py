"""Finding rows by key: which rows of an index hold given keys.

All of these sort the rows by key once, ``order``; the rows of key i are then the run
``order[start[i] : start[i] + length[i]]``. Positions that are not used hold ``index.size``,
which is out of bounds for the rows that were searched.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from instar.core.capacity import Capacity, FixedCapacity
from instar.core.utils.pytree_dataclass import dataclass
from instar.core.utils.shapes import Int
from instar.core.utils.transforms import is_traced
from instar.core.utils.trees import take_rows

if TYPE_CHECKING:
    from instar.core.data.index import Index
    from instar.core.data.vocabulary import Keys

__all__ = ["Selection", "select_per_label", "subselect", "where_flat", "where_rectangular"]


@dataclass
class Selection:
    """Rows found for the entries of a target, one after the other."""

    rows: Int[Array, " capacity"]
    """Positions in the index that was searched; its ``size`` where unused."""
    entries: Int[Array, " capacity"]
    """Which entry of the target each row was found for; the target's ``size`` where unused."""


class _Runs(NamedTuple):
    """Rows of an index sorted by key."""

    order: Array
    start: Array
    length: Array

    def row(self, key: Array, k: Array) -> Array:
        """The k-th row of ``key``; out of bounds where the key has fewer, or is itself OOB."""
        first = take_rows(self.start, key, 0)
        rows = take_rows(self.order, first + k, self.order.size)
        return jnp.where(k < take_rows(self.length, key, 0), rows, self.order.size)


def _runs(index: Index[Any]) -> _Runs:
    entries = index.apply_mask(index.valid_mask).indices.ravel()  # OOB entries sort last
    count = index.counts.data
    return _Runs(
        jnp.argsort(entries, stable=True).astype(jnp.int32), jnp.cumsum(count) - count, count
    )


def _room(capacity: Any, needed: Array, what: str) -> int:
    """The static size of a result that needs ``needed`` places, checked."""
    if capacity is None:
        if is_traced(needed):
            raise ValueError(
                f"{what} needs a bound while it is traced: pass capacity, an int or a Capacity."
            )
        return int(needed)
    if not isinstance(capacity, Capacity):
        capacity = FixedCapacity(int(capacity), f"{what} found more rows than its bound.")
    return math.ceil(capacity.generate_assertion(needed).size)


def _matched(index: Index[Any], target: Any) -> tuple[Index[Any], Index[Any]]:
    """The index and the target (an index, or keys) over one vocabulary."""
    if not isinstance(target, type(index)):
        target = type(index).new(list(target), label=index.cls)
    index, target = index.match(index, target)
    return index, target


def where_flat(index: Index[Any], target: Index[Any] | Keys[Any], capacity: Any) -> Array:
    """See `Index.where_flat`."""
    held = index.isin(target).ravel()
    size = _room(capacity, jnp.sum(held, dtype=jnp.int32), "where_flat")
    return jnp.nonzero(held, size=size, fill_value=index.size)[0].astype(jnp.int32)


def where_rectangular(index: Index[Any], target: Index[Any] | Keys[Any], capacity: Any) -> Array:
    """See `Index.where_rectangular`."""
    index, target = _matched(index, target)
    runs = _runs(index)
    keys = target.indices.ravel()
    capacity = index.max_count if capacity is None else capacity
    width = _room(
        capacity, jnp.max(take_rows(runs.length, keys, 0), initial=0), "where_rectangular"
    )
    return runs.row(keys[:, None], jnp.arange(width, dtype=jnp.int32)[None, :])


def subselect(index: Index[Any], target: Index[Any] | Keys[Any], capacity: Any) -> Selection:
    """See `Index.subselect`."""
    index, target = _matched(index, target)
    runs = _runs(index)
    keys = target.indices.ravel()
    end = jnp.cumsum(take_rows(runs.length, keys, 0))
    total = end[-1] if keys.size else jnp.zeros((), jnp.int32)
    place = jnp.arange(_room(capacity, total, "subselect"), dtype=jnp.int32)
    entries = jnp.searchsorted(end, place, side="right").astype(jnp.int32)
    key = take_rows(keys, entries, len(target.vocabulary))
    k = place - (take_rows(end, entries, 0) - take_rows(runs.length, key, 0))
    return Selection(rows=runs.row(key, k), entries=entries)


def select_per_label(index: Index[Any], k: Any) -> Array:
    """See `Index.select_per_label`."""
    keys = jnp.arange(len(index.vocabulary), dtype=jnp.int32)
    wanted = jnp.broadcast_to(jnp.asarray(k, jnp.int32), keys.shape)
    rows = _runs(index).row(keys, wanted)
    return jnp.where(wanted < 0, index.size, rows)
