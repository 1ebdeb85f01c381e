"""`Table`: rows of data under unique, sorted keys.

The library in one line: ``table[index]`` is a join. It returns one row of the table per entry
of the index and compiles to one gather.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data.index import Index, trusted_index
from instar.core.data.notebook import table_html
from instar.core.data.rows import broadcast_rows, check_new_rows, check_rows, is_index, row_count
from instar.core.data.vocabulary import (
    SHOWN,
    Keys,
    Vocabulary,
    is_integer_class,
    sort_keys,
    vocabulary_from,
)
from instar.core.lens import BoundLens, View, identity_lens, lens
from instar.core.utils.pytree_dataclass import dataclass, field, replace_fields
from instar.core.utils.trees import DROP, rows_beside, tree_scatter_set, tree_take

if TYPE_CHECKING:
    from instar.core.typing import SystemId

__all__ = ["SYSTEM", "Table"]

SYSTEM: View[Any, Index[Any]] = lens(lambda data: data.system)


@dataclass(init=False, repr=False, eq=False)
class Table[K, D]:
    """Rows under keys: every leaf of ``data`` has one leading row per key."""

    vocabulary: Vocabulary[K] = field(static=True)
    data: D

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        raise TypeError("Tables are not compared with ==.\nCompare their data, or their keys.")

    @overload
    def __init__(self, keys: Keys[K], data: D, cls: type[K] | None = None) -> None: ...
    @overload
    def __init__(self, *, vocabulary: Vocabulary[K], data: D) -> None: ...
    def __init__(
        self,
        keys: Any = None,
        data: Any = None,
        cls: Any = None,
        *,
        vocabulary: Any = None,  # how dataclasses.replace passes the field on
    ) -> None:
        vocabulary = vocabulary_from(keys, cls, vocabulary)
        object.__setattr__(self, "vocabulary", vocabulary)
        object.__setattr__(self, "data", broadcast_rows(data, len(vocabulary)))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Refuse data that does not have one row per key."""
        check_rows(self.data, len(self.vocabulary))

    # Making -------------------------------------------------------------------------------

    @overload
    @staticmethod
    def arange[E](data: E) -> Table[int, E]: ...
    @overload
    @staticmethod
    def arange[L, E](data: E, label: type[L]) -> Table[L, E]: ...
    @staticmethod
    def arange(data: Any, label: type[Any] = int) -> Table[Any, Any]:
        """A table with the keys 0…n−1, n from the leading dimension of the data."""
        return Table(Vocabulary.range(0, row_count(data), label), data)

    @staticmethod
    def new[L, E](keys: Sequence[L], data: E, label: type[L] | None = None) -> Table[L, E]:
        """A table whose keys need not be sorted: rows are permuted with them."""
        keys = tuple(keys)
        data = broadcast_rows(data, len(keys))
        check_rows(data, len(keys))
        order = [i for _, i in sort_keys((key, i) for i, key in enumerate(keys))]
        rows = tree_take(data, jnp.asarray(order, jnp.int32))
        return Table(tuple(keys[i] for i in order), rows, label)

    # Reading ------------------------------------------------------------------------------

    @property
    def keys(self) -> tuple[K, ...]:
        """The keys as a tuple, built when it is read."""
        return self.vocabulary.keys

    @property
    def cls(self) -> type[K]:
        """The key class."""
        return self.vocabulary.cls

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.vocabulary)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, key: object) -> bool:
        return key in self.vocabulary

    def __iter__(self) -> Iterator[tuple[K, D]]:
        for position, key in enumerate(self.vocabulary):
            yield key, jax.tree.map(lambda leaf, row=position: leaf[row], self.data)

    def __getitem__(self, index: Index[K]) -> D:
        return tree_take(self.data, self._positions(index))

    def beside(self, index: Index[K]) -> D:
        """`table[index]` for arrays, to be used beside entries that are there.

        What stands beside an entry out of bounds means nothing, and is not worth a choice.
        """
        positions = self._positions(index)
        return jax.tree.map(lambda leaf: rows_beside(jnp.asarray(leaf), positions), self.data)

    def _positions(self, index: Index[K]) -> Array:
        self._require_index(index)
        return index.indices_in(self.vocabulary)

    @staticmethod
    def _require_index(index: Any) -> None:
        if not isinstance(index, Index):
            raise TypeError(
                f"Rows of a table are named by an Index, not by {type(index).__name__}.\n"
                "Make one with Index.new(key_values) or Index(keys, positions); for plain arrays "
                "use table.data."
            )

    def __repr__(self) -> str:
        name = type(self).__name__
        keys = self.keys if self.size <= SHOWN else self.vocabulary
        return f"{name}(keys={keys!r}, data={self.data!r}, cls={self.cls.__name__})"

    def _repr_html_(self) -> str:
        return table_html(self)

    # Writing ------------------------------------------------------------------------------

    def at(self, index: Index[K]) -> BoundLens[Table[K, D], D]:
        """A bound lens on those rows."""
        self._positions(index)
        return cast(Any, BoundLens(self, identity_lens().at(index)))

    def update(self, index: Index[K], data: D) -> Table[K, D]:
        """A new table with those rows replaced; out-of-bounds entries are dropped.

        Where an index names a row twice, one of the two is written.
        """
        positions = self._positions(index)
        check_new_rows(self.data, data, index.shape)
        rows = tree_scatter_set(self.data, data, positions, DROP)
        return self.set_data(rows)

    def update_if(
        self,
        accept: Table[SystemId, Array],
        index: Index[K],
        data: D,
        system: Index[SystemId] | View[D, Index[SystemId]] = SYSTEM,
    ) -> Table[K, D]:
        """`update`, only for the rows whose system accepted.

        The system of a row is that of the new row, and where that has none (the row is being
        freed) that of the row it replaces. ``system`` names another leaf, or gives the
        system of each entry of ``index``.
        """
        self._require_index(index)
        if isinstance(system, View):
            new, old = Index.match(system.get(data), system.get(self[index]))
            chosen = jnp.where(new.valid_mask, new.indices, old.indices)
            system = trusted_index(new.vocabulary, chosen)
        accepted = accept[system]  # where a row has several systems, all of them must accept
        accepted = jnp.all(accepted, axis=tuple(range(index.ndim, accepted.ndim)))
        return self.update(index.apply_mask(accepted), data)

    def set_data[E](self, data: E) -> Table[K, E]:
        """The same keys with other data."""
        return cast(Any, replace_fields(self, {"data": data}))

    def map_data[E](self, fn: Callable[[D], E]) -> Table[K, E]:
        """The same keys with ``fn`` of the data."""
        return self.set_data(fn(self.data))

    def subset(self, index: Index[K]) -> Table[Any, D]:
        """One row per entry of ``index``, under new keys 0…n−1."""
        self._require_index(index)
        label = self.cls if is_integer_class(self.cls) else int
        keys = Vocabulary.range(0, index.size, label)
        return replace_fields(self, {"vocabulary": keys, "data": self[index.ravel()]})

    def slice(self, start: int | None = None, stop: int | None = None) -> Table[K, D]:
        """The rows from position ``start`` up to ``stop``, under their own keys."""
        rows = jax.tree.map(lambda leaf: leaf[slice(start, stop)], self.data)
        return replace_fields(
            self, {"vocabulary": self.vocabulary.slice(start, stop), "data": rows}
        )

    # Combining ----------------------------------------------------------------------------

    @staticmethod
    def join(base: Table[Any, Any], *others: Table[Any, Any]) -> Table[Any, tuple[Any, ...]]:
        """The data of ``base`` and, for each of its keys, the row of every other table."""

        def matched(other: Table[Any, Any]) -> Any:
            if other.vocabulary is base.vocabulary:
                return other.data
            return other[Index(base.vocabulary, np.arange(len(base)))]

        return Table(base.vocabulary, (base.data, *map(matched, others)))

    @staticmethod
    def transform[R](fn: Callable[..., R]) -> Callable[..., Table[Any, R]]:
        """A function on data lifted to tables of equal keys."""

        @functools.wraps(fn)
        def lifted(first: Table[Any, Any], *others: Table[Any, Any]) -> Table[Any, R]:
            for other in others:
                _check_same_keys(first, other)
            return first.set_data(fn(first.data, *(other.data for other in others)))

        return lifted

    @overload
    @staticmethod
    def union[L, E](group: Sequence[Table[L, E]], /) -> Table[L, E]: ...
    @overload
    @staticmethod
    def union[L, E, L2, E2](
        group: Sequence[Table[L, E]], second: Sequence[Table[L2, E2]], /
    ) -> tuple[Table[L, E], Table[L2, E2]]: ...
    @overload
    @staticmethod
    def union(*groups: Sequence[Table[Any, Any]]) -> Any: ...
    @staticmethod
    def union(*groups: Sequence[Table[Any, Any]]) -> Any:
        """Concatenate each group of tables to one, with the indices between them kept right.

        Member i of every group belongs together. Integer keys are numbered again, 0…n−1, and
        every `Index` leaf into a group's keys follows; other keys must be disjoint. An `Index`
        into a key space that is not among the groups keeps its keys.
        """
        from instar.core.data.union import union

        return union(groups)

    # Arithmetic ---------------------------------------------------------------------------

    __array_ufunc__ = None  # an array next to a table is refused, not broadcast over it

    def _combine(self, other: Any, op: Callable[[Any, Any], Any]) -> Any:
        if any(map(is_index, jax.tree.leaves(self.data, is_leaf=is_index))):
            raise TypeError("Arithmetic on a table needs numbers in every column; one is an Index.")
        if isinstance(other, Table):
            _check_same_keys(self, other)
            return self.set_data(jax.tree.map(op, self.data, other.data))
        if jnp.ndim(other) != 0:
            return NotImplemented
        return self.set_data(jax.tree.map(lambda leaf: op(leaf, other), self.data))

    def __add__(self, other: Any) -> Table[K, D]:
        return self._combine(other, operator.add)

    def __radd__(self, other: Any) -> Table[K, D]:
        return self._combine(other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Table[K, D]:
        return self._combine(other, operator.sub)

    def __rsub__(self, other: Any) -> Table[K, D]:
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Table[K, D]:
        return self._combine(other, operator.mul)

    def __rmul__(self, other: Any) -> Table[K, D]:
        return self._combine(other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Table[K, D]:
        return self._combine(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Table[K, D]:
        return self._combine(other, lambda a, b: b / a)

    def __pow__(self, other: Any) -> Table[K, D]:
        return self._combine(other, operator.pow)

    def __neg__(self) -> Table[K, D]:
        return self._combine(0, lambda a, _: -a)


def _check_same_keys(table: Table[Any, Any], other: Table[Any, Any]) -> None:
    if table.vocabulary is not other.vocabulary:
        raise ValueError(
            f"The tables have different keys: {table.vocabulary!r} of class {table.cls.__name__} "
            f"and {other.vocabulary!r} of class {other.cls.__name__}.\n"
            "Use Table.join to match rows by key."
        )
