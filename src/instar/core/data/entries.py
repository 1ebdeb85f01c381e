"""Entries of an index: made, checked, and moved to another vocabulary."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data.vocabulary import Vocabulary, plain_key
from instar.core.utils.transforms import within_32_bits
from instar.core.utils.trees import from_host, take_rows

__all__ = [
    "as_entries",
    "check_entries",
    "flatten_values",
    "relocate",
    "relocate_on_host",
    "unique_integers",
]


def check_entries(entries: np.ndarray, vocabulary: Vocabulary[Any], max_count: int | None) -> None:
    """Raise unless concrete entries are integers, none negative, no key too often."""
    if entries.size == 0:
        return
    if not np.issubdtype(entries.dtype, np.integer):
        raise TypeError(f"Index entries are integers, not {entries.dtype}.")
    if entries.min() < 0:
        place = tuple(int(i) for i in np.argwhere(entries < 0)[0])
        raise ValueError(
            f"Index entries must not be negative: {entries[place]} at {place}.\n"
            f"An entry without a key is out of bounds: write {len(vocabulary)}, the number of "
            "keys, or use apply_mask."
        )
    if max_count is None:
        return
    counts = np.bincount(entries[entries < len(vocabulary)].astype(np.int64), minlength=1)
    most = int(counts.argmax())
    if counts[most] > max_count:
        raise ValueError(
            f"Key {vocabulary[most]!r} occurs {counts[most]} times, but max_count is {max_count}."
        )


def as_entries(indices: Any, size: int) -> Array:
    """Entries as 32-bit integers that nobody else can change."""
    on_host = not isinstance(indices, jax.Array)
    if on_host:
        indices = np.asarray(indices)
        indices = indices if indices.size else indices.astype(np.int32)
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise TypeError(f"Index entries are integers, not {indices.dtype}.")
    if indices.dtype == np.int32:
        return from_host(np.array(indices)) if on_host else indices
    narrow = within_32_bits(indices)
    return from_host(np.minimum(narrow, size)) if on_host else jnp.minimum(narrow, size)


def relocate(entries: Array, positions: np.ndarray, sentinel: int) -> Array:
    """Entry i becomes ``positions[i]``, anything out of bounds becomes ``sentinel``.

    Consecutive positions are an addition; others a look-up in a constant table.
    """
    size, positions = len(positions), positions.astype(np.int32)
    target = np.int32(sentinel)
    if size == 0 or positions[-1] - positions[0] == size - 1:
        inside = (entries >= 0) & (entries < size)
        offset = np.int32(positions[0]) if size else np.int32(0)
        return jnp.where(inside, entries + offset, target)
    return take_rows(jnp.asarray(positions), entries, target)


def relocate_on_host(
    entries: np.ndarray, positions: np.ndarray | range, sentinel: int, out: np.ndarray
) -> None:
    """`relocate` with NumPy, into ``out``: where compiling does not pay."""
    size = len(positions)
    inside = entries.view(np.uint32) < size  # negative numbers are large unsigned ones
    if isinstance(positions, range):
        np.add(entries, np.int32(positions.start), out=out)
    else:
        out[...] = np.append(positions, sentinel)[np.where(inside, entries, size)]
    if not inside.all():
        out[~inside] = sentinel


def unique_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted unique values, and the position of each value among them."""
    if values.size == 0:
        return np.zeros(0, np.int64), values.astype(np.int32)
    lowest, highest = int(values.min()), int(values.max())
    span = highest - lowest + 1
    if span <= 8 * values.size:  # counting beats sorting where the values lie close together
        shifted = values - lowest
        present = np.zeros(span, bool)
        present[shifted] = True
        rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return np.flatnonzero(present) + lowest, rank[shifted]
    unique, inverse = np.unique(values, return_inverse=True)
    return unique, inverse.reshape(values.shape).astype(np.int32)


def flatten_values(values: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Key values in one list, and the shape they came in (nested lists; keys may be tuples)."""
    if isinstance(values, np.ndarray | jax.Array):
        return [
            v.item() if isinstance(v, np.generic) else v for v in np.asarray(values).flat
        ], values.shape
    values = list(values)
    if not values or not isinstance(values[0], list):
        return [plain_key(value) for value in values], (len(values),)
    rows = [flatten_values(row) for row in values]
    if len({shape for _, shape in rows}) > 1:
        raise ValueError("Index.new takes rows of equal length.")
    return [value for row, _ in rows for value in row], (len(rows), *rows[0][1])
