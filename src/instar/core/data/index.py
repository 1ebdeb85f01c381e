"""`Index`: a column of foreign keys.

An index holds positions into a vocabulary of keys. The vocabulary is static (known when
tracing), the positions are an array. A position that is not in the vocabulary is *out of
bounds* (OOB) and stands for "no row"; ``len(vocabulary)`` is the sentinel that instar writes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import search
from instar.core.data.entries import (
    as_entries,
    check_entries,
    flatten_values,
    relocate,
    unique_integers,
)
from instar.core.data.notebook import index_html
from instar.core.data.search import Selection
from instar.core.data.sums import sum_by_key
from instar.core.data.vocabulary import (
    Keys,
    Vocabulary,
    fits_64_bits,
    is_integer_class,
    plain_key,
    sort_keys,
    vocabulary_from,
)
from instar.core.utils.pytree_dataclass import dataclass, field
from instar.core.utils.shapes import Bool, Int
from instar.core.utils.transforms import is_traced, isin, no_jax_tracing
from instar.core.utils.trees import ScatterArgs, concatenate_rows, from_host, take_rows

if TYPE_CHECKING:
    from instar.core.data.table import Table

__all__ = ["Index", "trusted_index"]


@dataclass(init=False, repr=False, eq=False)
class Index[K]:
    """Foreign keys: ``indices`` into the static vocabulary ``keys``.

    ``max_count``, where given, is a static bound on how often one key occurs.
    """

    vocabulary: Vocabulary[K] = field(static=True)
    indices: Int[Array, "..."]
    max_count: int | None = field(static=True, default=None)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    __array_ufunc__ = None  # NumPy leaves comparisons to this class

    def __eq__(self, other: object) -> Any:
        """Entry by entry: which hold this key, or the same key as the other index.

        An out-of-bounds entry is equal to nothing.
        """
        if isinstance(other, Index):
            mine, others = Index.match(self, other)
            return (mine.indices == others.indices) & mine.valid_mask
        if isinstance(other, jax.Array | np.ndarray):
            raise TypeError(
                "An Index is compared with a key or with another Index, not with an array.\n"
                "For positions in its vocabulary compare index.indices."
            )
        key = plain_key(other)
        if type(key) not in self.cls.__mro__[:-1]:
            return NotImplemented
        return self.isin((key,))

    def __ne__(self, other: object) -> Any:
        """Entry by entry, the opposite of ``==``."""
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else ~equal

    @overload
    def __init__(
        self,
        keys: Keys[K],
        indices: Any,
        max_count: int | None = None,
        *,
        cls: type[K] | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self, *, vocabulary: Vocabulary[K], indices: Any, max_count: int | None = None
    ) -> None: ...
    def __init__(
        self,
        keys: Any = None,
        indices: Any = (),
        max_count: Any = None,
        *,
        cls: Any = None,
        vocabulary: Any = None,  # how dataclasses.replace passes the field on
    ) -> None:
        object.__setattr__(self, "vocabulary", vocabulary_from(keys, cls, vocabulary))
        object.__setattr__(self, "indices", indices)
        object.__setattr__(self, "max_count", max_count)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check what can be checked of concrete entries, and bring them to one type."""
        if self.max_count is not None:
            if not hasattr(self.max_count, "__index__") or isinstance(self.max_count, type):
                raise TypeError(f"max_count is a number, not {self.max_count!r}.")
            object.__setattr__(self, "max_count", operator.index(self.max_count))
        if not is_traced(self.indices):
            check_entries(np.asarray(self.indices), self.vocabulary, self.max_count)
        entries = as_entries(self.indices, len(self.vocabulary))
        object.__setattr__(self, "indices", entries)

    @property
    def keys(self) -> tuple[K, ...]:
        """The vocabulary as a tuple, built when it is read."""
        return self.vocabulary.keys

    @property
    def cls(self) -> type[K]:
        """The key class."""
        return self.vocabulary.cls

    # Making -------------------------------------------------------------------------------

    @overload
    @staticmethod
    def new[L](values: Any, label: type[L]) -> Index[L]: ...
    @overload
    @staticmethod
    def new[L](values: list[L] | tuple[L, ...]) -> Index[L]: ...
    @overload
    @staticmethod
    def new(values: Any) -> Index[Any]: ...
    @staticmethod
    @no_jax_tracing
    def new(values: Any, label: type[Any] | None = None) -> Index[Any]:
        """The index of these key values; its vocabulary are the sorted unique values."""
        if isinstance(values, str):
            raise TypeError(f"Index.new takes several values, not the one string {values!r}.")
        if isinstance(values, np.ndarray | jax.Array) and fits_64_bits(values.dtype):
            return _index_of_integers(np.asarray(values, np.int64), label or int)
        flat, shape = flatten_values(values)
        if label is None and not flat:
            raise ValueError("Without values the key class is unknown.\nPass it as label=SystemId.")
        classes = {*map(type, flat)}
        if len(classes) == 1 and is_integer_class(*classes):
            numbers = np.array(flat)
            own_class = label is None or classes & {label, int}
            if numbers.dtype == np.int64 and own_class:
                return _index_of_integers(numbers.reshape(shape), label or classes.pop())
        vocabulary = Vocabulary.of(sort_keys(set(flat)), label)
        position = {key: i for i, key in enumerate(vocabulary.keys)}
        entries = np.array([position[value] for value in flat], np.int32).reshape(shape)
        return trusted_index(vocabulary, from_host(entries))

    @overload
    @staticmethod
    def integer(
        array: Any, n: int | None = None, *, max_count: int | None = None
    ) -> Index[int]: ...
    @overload
    @staticmethod
    def integer[L](
        array: Any, n: int | None = None, *, label: type[L], max_count: int | None = None
    ) -> Index[L]: ...
    @staticmethod
    def integer(
        array: Any, n: int | None = None, *, label: type[Any] = int, max_count: int | None = None
    ) -> Index[Any]:
        """Entries into the keys 0…n−1; n is by default one more than the largest entry."""
        if n is None:
            if is_traced(array):
                raise ValueError("Index.integer of traced entries needs n, the number of keys.")
            n = int(np.max(np.asarray(array), initial=-1)) + 1
        return Index(Vocabulary.range(0, operator.index(n), label), array, max_count)

    @overload
    @staticmethod
    def arange(n: int) -> Index[int]: ...
    @overload
    @staticmethod
    def arange[L](n: int, label: type[L]) -> Index[L]: ...
    @staticmethod
    def arange(n: int, label: type[Any] = int) -> Index[Any]:
        """Each of the keys 0…n−1 once, in order."""
        return trusted_index(Vocabulary.range(0, n, label), from_host(np.arange(n, dtype=np.int32)))

    @overload
    @staticmethod
    def zeros(shape: int | tuple[int, ...], n: int = 1) -> Index[int]: ...
    @overload
    @staticmethod
    def zeros[L](shape: int | tuple[int, ...], n: int = 1, *, label: type[L]) -> Index[L]: ...
    @staticmethod
    def zeros(shape: int | tuple[int, ...], n: int = 1, *, label: type[Any] = int) -> Index[Any]:
        """Entries that all point to the first of the keys 0…n−1."""
        return trusted_index(Vocabulary.range(0, n, label), from_host(np.zeros(shape, np.int32)))

    # Array manners ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the entries."""
        return self.indices.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions of the entries."""
        return self.indices.ndim

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.indices.size

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.indices.dtype

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[Index[K]]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, item: Any) -> Index[K]:
        if isinstance(item, int) and not -len(self) <= item < len(self):
            raise IndexError(f"Row {item} of an Index with {len(self)} rows.")
        entries = (
            jnp.asarray(self.indices).at[item].get(mode="fill", fill_value=len(self.vocabulary))
        )
        parts = item if isinstance(item, tuple) else (item,)
        no_repeats = all(p is None or p is ... or isinstance(p, int | slice) for p in parts)
        return trusted_index(self.vocabulary, entries, self.max_count if no_repeats else None)

    def ravel(self) -> Index[K]:
        """The entries in one dimension."""
        return self._with(self.indices.ravel())

    def reshape(self, *shape: Any) -> Index[K]:
        """The same entries in another shape."""
        return self._with(self.indices.reshape(*shape))

    def transpose(self, *axes: Any) -> Index[K]:
        """The entries with their axes permuted."""
        return self._with(self.indices.transpose(*axes))

    def _with(self, entries: Any) -> Index[K]:
        """The same keys and bound with other entries, known to be good."""
        return trusted_index(self.vocabulary, entries, self.max_count)

    # Reading ------------------------------------------------------------------------------

    @property
    def valid_mask(self) -> Bool[Array, "..."]:
        """Where an entry is in bounds."""
        return (self.indices >= 0) & (self.indices < len(self.vocabulary))

    @property
    def counts(self) -> Table[K, Int[Array, " keys"]]:
        """How many entries each key has."""
        return self.sum_over(jnp.ones(self.shape, jnp.int32))

    def sum_over[D](self, array: D) -> Table[K, D]:
        """Sum of ``array`` (or of every leaf of a tree) over the entries of each key.

        A leaf has one row per entry, ``index.shape + (...)``. OOB entries are left out, and such
        rows at the end never change a bit of the sums.
        """
        from instar.core.data.table import Table  # a table of an index, an index in a table

        sums = jax.tree.map(self._sum_leaf, array)
        return Table(self.vocabulary, sums)

    def _sum_leaf(self, leaf: Any) -> Array:
        leaf = jnp.asarray(leaf)
        result = jnp.int32 if leaf.dtype == bool else leaf.dtype
        if leaf.dtype.itemsize < 4:  # small types overflow or stop counting: sum in 32 bits
            leaf = leaf.astype(
                jnp.float32 if jnp.issubdtype(leaf.dtype, jnp.floating) else jnp.int32
            )
            result = result if jnp.issubdtype(result, jnp.floating) else jnp.int32
        if leaf.shape[: self.ndim] != self.shape:
            raise ValueError(
                f"sum_over takes one row per entry: the index has shape {self.shape}, the array "
                f"{leaf.shape}."
            )
        return sum_by_key(leaf, jnp.asarray(self.indices), len(self.vocabulary)).astype(result)

    def isin(self, other: Index[K] | Keys[K]) -> Bool[Array, "..."]:
        """Which entries hold a key that occurs in ``other``; OOB entries never do."""
        if isinstance(other, Index):
            mine, others = Index.match(self, other)
            return isin(mine.indices, others.indices, len(mine.vocabulary))
        keys = other if isinstance(other, Vocabulary) else sort_keys(set(other))
        wanted = Vocabulary.of(keys, self.cls).find(self.vocabulary) >= 0
        return take_rows(jnp.asarray(wanted), self.indices, False)

    def indices_in(self, keys: Keys[K]) -> Int[Array, "..."]:
        """The entries as positions in another vocabulary, which must hold all keys."""
        target = keys if isinstance(keys, Vocabulary) else Vocabulary.of(keys, self.cls)
        if target is self.vocabulary:
            return self.indices
        positions = self.vocabulary.positions_in(target)
        return relocate(self.indices, positions, len(target))

    # Changing -----------------------------------------------------------------------------

    def apply_mask(self, mask: Any) -> Index[K]:
        """The same index with OOB entries where ``mask`` is ``False``.

        ``mask`` names leading dimensions of the index, or all of them.
        """
        mask = jnp.asarray(mask)
        if mask.dtype != bool:
            raise TypeError(f"A mask is of booleans, not of {mask.dtype}.")
        if mask.shape != self.shape[: mask.ndim]:
            raise ValueError(f"A mask of shape {mask.shape} does not fit an index of {self.shape}.")
        mask = mask.reshape(mask.shape + (1,) * (self.ndim - mask.ndim))
        sentinel = jnp.asarray(len(self.vocabulary), self.indices.dtype)
        return self._with(jnp.where(mask, self.indices, sentinel))

    def update_labels(self, keys: Keys[K]) -> Index[K]:
        """The same entries over a larger vocabulary."""
        target = keys if isinstance(keys, Vocabulary) else Vocabulary.of(keys, self.cls)
        return trusted_index(target, self.indices_in(target), self.max_count)

    @staticmethod
    def concatenate[L](*indices: Index[L]) -> Index[L]:
        """Indices joined along the first axis, over the vocabulary of all their keys."""
        if not indices:
            raise ValueError("Index.concatenate takes one or more indices.")
        bounds = [index.max_count for index in indices]
        bound = None if None in bounds else sum(cast(list[int], bounds))
        matched = Index.match(*indices)
        entries = concatenate_rows([index.indices for index in matched])
        return trusted_index(matched[0].vocabulary, entries, bound)

    @staticmethod
    def match[L](*indices: Index[L]) -> tuple[Index[L], ...]:
        """The indices over one common vocabulary."""
        vocabulary = functools.reduce(Vocabulary.merge, (index.vocabulary for index in indices))
        return tuple(index.update_labels(vocabulary) for index in indices)

    def combine[L](self, other: Index[L]) -> Index[tuple[K, L]]:
        """Pairs of keys, entry by entry, as an index over all pairs; OOB where either is."""
        if self.shape != other.shape:
            raise ValueError(f"combine takes one shape, not {self.shape} and {other.shape}.")
        width = len(other.vocabulary)
        pairs = Vocabulary.product(self.vocabulary, other.vocabulary)
        combined = trusted_index(pairs, self.indices * width + other.indices)
        return combined.apply_mask(self.valid_mask & other.valid_mask)

    # Finding rows -------------------------------------------------------------------------

    def where_flat(self, target: Index[K] | Keys[K], capacity: Any = None) -> Int[Array, " rows"]:
        """Rows (of the flattened index) that hold any of the target's keys, in order.

        ``capacity`` bounds how many, as an int or a `Capacity`; unused places hold ``size``,
        which is out of bounds. It may be left out where the index is concrete.
        """
        return search.where_flat(self, target, capacity)

    def where_rectangular(
        self, target: Index[K] | Keys[K], capacity: Any = None
    ) -> Int[Array, "entries width"]:
        """One row of positions for each entry of ``target``: where its key is held.

        ``capacity`` bounds the width, by default it is ``max_count``; unused places hold
        ``size``, which is out of bounds.
        """
        return search.where_rectangular(self, target, capacity)

    def subselect(self, target: Index[K] | Keys[K], capacity: Any = None) -> Selection:
        """The rows held by each entry of ``target`` in turn, as one ragged list (`Selection`)."""
        return search.subselect(self, target, capacity)

    def select_per_label(self, k: Any) -> Int[Array, " keys"]:
        """The position of the k-th row (from 0) of each key; ``size`` where it has fewer.

        ``k`` is one number, or an array with one for each key.
        """
        return search.select_per_label(self, k)

    # How tree functions treat an index ----------------------------------------------------

    @property
    def scatter_args(self) -> ScatterArgs:
        """Writing drops rows that are out of bounds."""
        return {"mode": "drop"}

    def __tree_match__(self, *others: Any) -> tuple[Index[K], ...]:
        """All over one vocabulary, with this index's bound: the first tree gives the structure."""
        for other in others:
            if not isinstance(other, Index):
                raise TypeError(
                    f"An Index column takes an Index, not {type(other).__name__}.\n"
                    f"Its keys are of class {self.cls.__name__}."
                )
        matched = Index.match(self, *others)
        return tuple(trusted_index(i.vocabulary, i.indices, self.max_count) for i in matched)

    def __tree_concat__(self, *others: Index[K]) -> Index[K]:
        """This column with others behind it."""
        return Index.concatenate(self, *others)

    def __tree_take__(self, idxs: Any) -> Index[K]:
        """Rows of this column; out of bounds stays out of bounds."""
        return trusted_index(
            self.vocabulary, take_rows(jnp.asarray(self.indices), idxs, len(self.vocabulary))
        )

    def __repr__(self) -> str:
        return (
            f"Index({self._show_entries()}, cls={self.cls.__name__}, keys={self.vocabulary!r}, "
            f"shape={getattr(self.indices, 'shape', None)}, max_count={self.max_count})"
        )

    def _repr_html_(self) -> str:
        return index_html(self)

    def _show_entries(self) -> str:
        if is_traced(self.indices) or not isinstance(self.indices, jax.Array | np.ndarray):
            return str(self.indices)
        size = len(self.vocabulary)

        def show(entry: Any) -> str:
            return f"'{self.vocabulary[int(entry)]}'" if 0 <= entry < size else "'OOB'"

        return np.array2string(np.asarray(self.indices), formatter={"int_kind": show})


def trusted_index(
    vocabulary: Vocabulary[Any], entries: Any, max_count: int | None = None
) -> Index[Any]:
    """An index from parts that are known to be good: nothing is checked, nothing is read."""
    index = object.__new__(Index)
    object.__setattr__(index, "vocabulary", vocabulary)
    object.__setattr__(index, "indices", entries)
    object.__setattr__(index, "max_count", max_count)
    return index


def _index_of_integers(values: np.ndarray, cls: type[Any]) -> Index[Any]:
    unique, entries = unique_integers(values)
    return trusted_index(Vocabulary.of(unique, cls), from_host(entries))
