"""`Buffered`: a table with free rows.

How many rows there are is fixed when compiling; which of them are occupied is data, so
inserting and deleting never recompiles. A row is occupied where one of its columns, an
`Index`, by default ``.system``, is in bounds; nothing else is stored.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.data.index import Index, trusted_index
from instar.core.data.rows import check_new_rows, is_index, row_count
from instar.core.data.table import SYSTEM, Table
from instar.core.data.vocabulary import Keys, Vocabulary, vocabulary_from
from instar.core.lens import Lens, View
from instar.core.utils.pytree_dataclass import dataclass, field
from instar.core.utils.shapes import Bool, Int
from instar.core.utils.trees import concatenate_rows, tree_map, zero_rows, zero_where

__all__ = ["Buffered", "add_buffers", "grow"]


@dataclass(init=False, repr=False, eq=False)
class Buffered[K, D](Table[K, D]):
    """A table with free rows; ``view`` reads the column that tells which are occupied."""

    view: View[D, Index[Any]] = field(static=True, default=SYSTEM)

    __hash__ = None

    @overload
    def __init__(
        self,
        keys: Keys[K],
        data: D,
        cls: type[K] | None = None,
        view: View[D, Index[Any]] = SYSTEM,
    ) -> None: ...
    @overload
    def __init__(
        self, *, vocabulary: Vocabulary[K], data: D, view: View[D, Index[Any]] = SYSTEM
    ) -> None: ...
    def __init__(
        self,
        keys: Any = None,
        data: Any = None,
        cls: Any = None,
        view: Any = SYSTEM,
        *,
        vocabulary: Any = None,
    ) -> None:
        object.__setattr__(self, "view", view)
        super().__init__(vocabulary_from(keys, cls, vocabulary), data)

    def __post_init__(self) -> None:
        """Check the rows, and that one column tells which are occupied."""
        super().__post_init__()
        if not isinstance(self.view, View):
            raise TypeError(
                f"view names a column by a lens, lens(lambda d: d.system), not by {self.view!r}."
            )
        if not _tells_occupation(self.view, self.data):
            raise ValueError(
                "A Buffered reads which rows are occupied from an Index in its data, by default "
                "the leaf .system.\nThis data has none there; name another with view=lens(...)."
            )

    # Making -------------------------------------------------------------------------------

    @staticmethod
    def pad[L, E](
        table: Table[L, E], num_free: int, view: View[E, Index[Any]] | None = None
    ) -> Buffered[L, E]:
        """The table with ``num_free`` free rows behind its own.

        Where other tables point to this one, pad them together, with `add_buffers`.
        """
        if num_free == 0:
            return Buffered(table.vocabulary, table.data, view=_view_of(table, view))
        (padded,) = add_buffers([table], [num_free], [view])
        return cast(Any, padded)

    @overload
    @staticmethod
    def arange[E](
        data: E, *, num_free: int = 0, view: View[E, Index[Any]] = SYSTEM
    ) -> Buffered[int, E]: ...
    @overload
    @staticmethod
    def arange[L, E](
        data: E, label: type[L], num_free: int = 0, view: View[E, Index[Any]] = SYSTEM
    ) -> Buffered[L, E]: ...
    @staticmethod
    def arange(
        data: Any, label: type[Any] = int, num_free: int = 0, view: View[Any, Any] = SYSTEM
    ) -> Buffered[Any, Any]:
        """Rows under the keys 0…n−1, and ``num_free`` free ones behind them."""
        rows = Buffered(Vocabulary.range(0, row_count(data), label), data, view=view)
        return Buffered.pad(rows, num_free)

    @staticmethod
    def full[L, E](table: Table[L, E], view: View[E, Index[Any]] | None = None) -> Buffered[L, E]:
        """The table as a buffer that has no free rows yet."""
        return Buffered.pad(table, 0, view)

    # Reading ------------------------------------------------------------------------------

    @property
    def occupation(self) -> Bool[Array, " rows"]:
        """Which rows are occupied."""
        return _occupied(self.view.get(self.data), 1)

    @property
    def num_occupied(self) -> Int[Array, ""]:
        """How many rows are occupied."""
        return jnp.sum(self.occupation, dtype=jnp.int32)

    def select_free(self, n: int, where: Lens[Any, Any] | None = None) -> Index[K]:
        """The first ``n`` free rows; OOB entries, and a failed check, where fewer are free.

        ``where`` is the lens on this buffer in the state it belongs to: with it the check
        carries a fix, which grows the buffer (see `grow`) to the next power of two.
        """
        if where is not None and not isinstance(where, Lens):
            raise TypeError(
                f"where is a lens on the buffer, lens(lambda s: s.particles), not {where!r}."
            )
        occupied = self.occupation
        free = jnp.sum(~occupied, dtype=jnp.int32)
        remedy = "" if where is not None else "\nGive select_free the lens where=... for a repair."
        runtime_assert(
            free >= n,
            "Not enough free rows: {asked} asked for, {free} of {size} are free." + remedy,
            fmt_args={"asked": n, "free": free, "size": len(self)},
            fix_fn=None if where is None else _GrowBuffer(where),
            fix_args=len(self) - free + n,
        )
        rows = jnp.nonzero(~occupied, size=n, fill_value=len(self))[0]
        return Index(self.vocabulary, rows.astype(jnp.int32))

    # Writing ------------------------------------------------------------------------------

    def update(self, index: Index[K], data: D) -> Buffered[K, D]:
        """A new buffer with those rows replaced; out-of-bounds entries are dropped.

        A row whose occupation leaf is in bounds becomes occupied, any other becomes free; the
        rest of a freed row is set to zero, its other `Index` leaves to out of bounds.
        """
        self._require_index(index)
        check_new_rows(self.data, data, index.shape)
        if not is_index(self.view.get(data)):
            found = type(self.view.get(data)).__name__
            raise TypeError(f"The occupation column takes an Index, not {found}.")

        def whole(old: Any, new: Any) -> Any:
            shape = index.shape + old.shape[1:]
            if is_index(new):
                entries = jnp.broadcast_to(new.indices, shape)
                return trusted_index(new.vocabulary, entries, new.max_count)
            return jnp.broadcast_to(new, shape)

        rows = tree_map(whole, self.data, data, is_leaf=is_index)
        occupied = _occupied(self.view.get(rows), index.ndim)

        def clean(new: Any) -> Any:
            return new.apply_mask(occupied) if is_index(new) else zero_where(~occupied, new)

        rows = jax.tree.map(clean, rows, is_leaf=is_index)
        return cast(Any, super().update(index, rows))

    def free(self, index: Index[K]) -> Buffered[K, D]:
        """A new buffer with those rows free."""
        self._require_index(index)
        return self.update(index, self[index.apply_mask(False)])

    def set_data[E](self, data: E) -> Table[K, E]:
        """The same keys with other data; a plain `Table` if the occupation leaf is gone."""
        if _tells_occupation(self.view, data):
            return super().set_data(data)
        return Table(self.vocabulary, data)


def _tells_occupation(view: View[Any, Any], data: Any) -> bool:
    try:
        return is_index(view.get(data))
    except (AttributeError, KeyError, IndexError, TypeError):
        return False


def _occupied(column: Index[Any], row_dims: int) -> Array:
    """Rows whose entries are all in bounds (a column may hold several per row)."""
    return jnp.all(column.valid_mask, axis=tuple(range(row_dims, column.ndim)))


def add_buffers(
    tables: Sequence[Table[Any, Any]],
    num_free: Sequence[int],
    views: Sequence[View[Any, Any] | None] | None = None,
) -> tuple[Table[Any, Any], ...]:
    """Give related tables free rows, all at once.

    Every `Index` leaf in any of them that points to a padded table learns its new keys.
    A table with 0 free rows stays as it is, apart from that. ``views`` names the occupation
    leaf of each table where it isn't ``.system``.
    """
    views = views or [None] * len(tables)
    if not len(tables) == len(num_free) == len(views):
        raise ValueError(
            f"add_buffers takes one number of free rows, and one view, per table: there are "
            f"{len(tables)} tables, {len(num_free)} numbers and {len(views)} views."
        )
    if any(operator.index(extra) < 0 for extra in num_free):
        raise ValueError(f"The number of free rows must not be negative: {list(num_free)}.")
    new_keys = _extended(tables, num_free)
    return tuple(
        _padded(_widened(table, new_keys), extra, view)
        for table, extra, view in zip(tables, num_free, views, strict=True)
    )


def grow[S](state: S, where: Lens[S, Any], size: Any) -> S:
    """The state with larger buffers: more free rows, new keys at the end.

    ``where`` is a lens on a `Buffered` in the state, or on several; ``size`` the number of
    rows, one for all or a tree of them. Every `Index` in the state that points to a grown
    buffer learns the new keys; occupied rows keep their keys and data. A buffer never shrinks.

    Works on the host, between compiled calls: the new size is part of the compilation key.
    """
    buffers, structure = jax.tree.flatten(where.get(state), is_leaf=_is_table)
    for buffer in buffers:
        if not isinstance(buffer, Buffered):
            raise TypeError(f"grow takes a lens on a Buffered, not on a {type(buffer).__name__}.")
    one_size = jax.tree_util.all_leaves([size])
    sizes = [size] * len(buffers) if one_size else structure.flatten_up_to(size)
    extra = [max(0, int(rows) - len(b)) for b, rows in zip(buffers, sizes, strict=True)]
    state = _widened(state, _extended(buffers, extra))
    buffers = jax.tree.leaves(where.get(state), is_leaf=_is_table)
    grown = [_padded(buffer, n, None) for buffer, n in zip(buffers, extra, strict=True)]
    return where.set(state, structure.unflatten(grown))


def _is_table(node: Any) -> bool:
    return isinstance(node, Table)


@dataclasses.dataclass(frozen=True)
class _GrowBuffer:
    """Fix of a full buffer: at least the rows that were needed, on a grid of powers of two."""

    where: Lens[Any, Any]

    def __call__(self, state: Any, needed: Any) -> Any:
        rows = int(np.max(needed))
        return grow(state, self.where, 1 << (rows - 1).bit_length())


type _NewKeys = dict[Vocabulary[Any], Vocabulary[Any]]


def _extended(tables: Sequence[Table[Any, Any]], extra: Sequence[int]) -> _NewKeys:
    """The keys that each table has once it got ``extra`` more rows, by the keys it had."""
    new_keys: _NewKeys = {}
    for table, rows in zip(tables, extra, strict=True):
        old = table.vocabulary
        new = old.extended(rows) if rows else old
        for other in new_keys:
            if _share_a_key_space(old, other) and new_keys[other] is not new:
                raise ValueError(
                    f"Two tables with keys of class {old.cls.__name__} would get different keys.\n"
                    "An index could not tell which of them it points to: give both the same rows."
                )
        new_keys[old] = new
    return new_keys


def _share_a_key_space(first: Vocabulary[Any], second: Vocabulary[Any]) -> bool:
    """Whether keys of both mean the same rows: a key class is a key space.

    (Plain ``int`` is nobody's own: such keys may well be those of another table.)
    """
    return first is second or (first.cls is second.cls and first.cls is not int)


def _widened(tree: Any, new_keys: _NewKeys) -> Any:
    """The tree with every index into a table that grew brought to the table's new keys."""

    def widen(node: Any) -> Any:
        if not is_index(node):
            return node
        for old, new in new_keys.items():
            held = node.vocabulary
            if _share_a_key_space(held, old) and np.all(old.find(held) >= 0):
                return node.update_labels(new)
        return node

    return jax.tree.map(widen, tree, is_leaf=is_index)


def _padded(table: Table[Any, Any], extra: int, view: View[Any, Any] | None) -> Any:
    """The table with free rows at its end; unchanged where there are none to add."""
    if extra == 0:
        return table

    def pad(node: Any) -> Any:
        if is_index(node):
            free = np.full((extra, *node.shape[1:]), len(node.vocabulary), np.int32)
            return dataclasses.replace(node, indices=concatenate_rows([node.indices, free]))
        return concatenate_rows([node, zero_rows(node, extra)])

    data = jax.tree.map(pad, table.data, is_leaf=is_index)
    return Buffered(table.vocabulary.extended(extra), data, view=_view_of(table, view))


def _view_of(table: Table[Any, Any], view: View[Any, Any] | None) -> View[Any, Any]:
    """The occupation leaf: the one named, else the table's own, else ``.system``."""
    if view is not None:
        return view
    return table.view if isinstance(table, Buffered) else SYSTEM
