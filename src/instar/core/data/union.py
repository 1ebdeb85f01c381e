"""Concatenating groups of related tables."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data.entries import relocate, relocate_on_host
from instar.core.data.index import Index, trusted_index
from instar.core.data.rows import is_index
from instar.core.data.vocabulary import RangeVocabulary, Vocabulary, is_integer_class
from instar.core.utils.pytree_dataclass import replace_fields
from instar.core.utils.trees import concatenate_rows, from_host, is_host_like, tree_take

if TYPE_CHECKING:
    from instar.core.data.table import Table

__all__ = ["union"]


class _KeySpace(NamedTuple):
    """Where the keys of each member of a group go in the concatenated table."""

    merged: Vocabulary[Any]
    members: tuple[Vocabulary[Any], ...]
    positions: tuple[np.ndarray | range, ...]


def union(groups: Sequence[Sequence[Table[Any, Any]]]) -> Any:
    """See `Table.union`."""
    members = [list(group) for group in groups]
    _check_groups(members)
    spaces = {group[0].vocabulary.kind: _key_space(group) for group in members}
    tables = tuple(_concatenate(group, spaces) for group in members)
    return tables[0] if len(groups) == 1 else tables


def _check_groups(groups: Sequence[list[Table[Any, Any]]]) -> None:
    if not groups or any(len(group) == 0 for group in groups):
        raise ValueError("Table.union takes one or more groups, each of one or more tables.")
    if len({len(group) for group in groups}) > 1:
        sizes = ", ".join(str(len(group)) for group in groups)
        raise ValueError(
            f"Table.union takes groups of equal length, not of {sizes} tables.\n"
            "Member i of each group belongs together."
        )
    seen: set[type[Any]] = set()
    for group in groups:
        classes = {table.cls for table in group}
        if len(classes) > 1:
            names = ", ".join(sorted(cls.__name__ for cls in classes))
            raise ValueError(f"The tables of one group have different key classes: {names}.")
        if len({(type(table), getattr(table, "view", None)) for table in group}) > 1:
            raise ValueError(
                "The tables of one group must be of one kind: all Table, or all Buffered with "
                "the same occupation column."
            )
        (cls,) = classes
        if cls in seen:
            raise ValueError(
                f"Two groups have the key class {cls.__name__}.\n"
                "An index could not tell which of them it points to."
            )
        seen.add(cls)


def _key_space(group: list[Table[Any, Any]]) -> _KeySpace:
    members = tuple(table.vocabulary for table in group)
    sizes = [len(vocabulary) for vocabulary in members]
    cls = members[0].cls
    if is_integer_class(cls):
        ends = [int(end) for end in np.cumsum(sizes)]
        positions = tuple(range(end - n, end) for n, end in zip(sizes, ends, strict=True))
        return _KeySpace(Vocabulary.range(0, ends[-1], cls), members, positions)
    merged = functools.reduce(Vocabulary.merge, members)
    if len(merged) < sum(sizes):
        keys = sorted(key for vocabulary in members for key in vocabulary)
        repeated = next(a for a, b in pairwise(keys) if a == b)
        raise ValueError(
            f"Duplicate key: {repeated!r}.\nKeys that are not integers are not renumbered, "
            "so the tables of a group must not share any."
        )
    return _KeySpace(merged, members, tuple(v.positions_in(merged) for v in members))


def _concatenate(group: list[Table[Any, Any]], spaces: dict[Any, _KeySpace]) -> Table[Any, Any]:
    def join(*nodes: Any) -> Any:
        if any(map(is_index, nodes)):
            if not all(map(is_index, nodes)):
                raise TypeError("A column is an Index in one table and an array in another.")
            return _join_indices(nodes, spaces.get(nodes[0].vocabulary.kind))
        return concatenate_rows(nodes)

    first, *others = (table.data for table in group)
    data = jax.tree.map(join, first, *others, is_leaf=is_index)
    space = spaces[group[0].vocabulary.kind]
    if not isinstance(space.merged, RangeVocabulary):  # keys that are merged, not renumbered
        order = np.argsort(np.concatenate(space.positions))
        data = tree_take(data, jnp.asarray(order, jnp.int32))
    return replace_fields(group[0], {"vocabulary": space.merged, "data": data})


def _join_indices(indices: Sequence[Index[Any]], space: _KeySpace | None) -> Index[Any]:
    if space is None:
        return Index.concatenate(*indices)
    targets = [
        positions
        if index.vocabulary is member
        else np.asarray(positions)[index.vocabulary.positions_in(member)]
        for index, member, positions in zip(indices, space.members, space.positions, strict=True)
    ]
    entries = _join_entries([index.indices for index in indices], targets, len(space.merged))
    # The key spaces of the members are disjoint, so a key keeps the bound of its member.
    bounds = [index.max_count for index in indices]
    bound = None if None in bounds else max(b for b in bounds if b is not None)
    return trusted_index(space.merged, entries, bound)


def _join_entries(
    pieces: Sequence[Any], targets: Sequence[np.ndarray | range], sentinel: int
) -> Array:
    """Entries of several members, each moved to where its keys went, one after the other."""
    if len({piece.shape[1:] for piece in pieces}) > 1:
        shapes = ", ".join(str(piece.shape) for piece in pieces)
        raise ValueError(f"An Index column has different shapes in the tables: {shapes}.")
    if not all(map(is_host_like, pieces)):
        moved = [
            relocate(piece, np.asarray(target), sentinel)
            for piece, target in zip(pieces, targets, strict=True)
        ]
        return jnp.concatenate(moved)
    ends = np.cumsum([len(piece) for piece in pieces])
    joined = np.empty((ends[-1], *pieces[0].shape[1:]), np.int32)
    for piece, target, part in zip(pieces, targets, np.split(joined, ends[:-1]), strict=True):
        relocate_on_host(np.asarray(piece, np.int32), target, sentinel, out=part)
    return from_host(joined)
