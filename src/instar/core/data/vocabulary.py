"""Vocabularies: the unique, sorted keys behind a table or an index.

A vocabulary is part of the structure of a pytree, so JAX compares it on every call of a
compiled function. Equal vocabularies are therefore *one object* (they are interned), and
equality and hash are those of the object: they cost the same for one key and for a million.

    Vocabulary
    ├── RangeVocabulary     consecutive integers: two numbers, no memory per key
    ├── IntegerVocabulary   other integers: one array
    ├── ProductVocabulary   all pairs of two vocabularies: nothing of its own
    └── SortedVocabulary    any other sortable keys: one tuple
"""

from __future__ import annotations

import itertools
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import pairwise
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

__all__ = [
    "SHOWN",
    "Keys",
    "Vocabulary",
    "fits_64_bits",
    "is_integer_class",
    "plain_key",
    "sort_keys",
    "vocabulary_from",
]

SHOWN = 10  # keys in a message; more are abridged
_interned: weakref.WeakValueDictionary[Hashable, Vocabulary[Any]] = weakref.WeakValueDictionary()
_lock = threading.RLock()  # a collection inside may run code that makes a vocabulary


def is_integer_class(cls: type[Any]) -> bool:
    """Whether keys of this class are integers, which can be numbered and continued."""
    if not isinstance(cls, type):
        raise TypeError(f"A key class is a class such as SystemId, not {cls!r}.")
    return issubclass(cls, int) and cls is not bool


class Vocabulary[K](ABC):
    """Unique, sorted keys of one class. Make one with `of` or `range`."""

    __slots__ = ("__weakref__", "_keys", "cls")

    cls: type[K]
    _keys: tuple[K, ...] | None

    @property
    def kind(self) -> Any:
        """The key class; for keys that are tuples also the classes of their members."""
        return self.cls

    @staticmethod
    def of(keys: Keys[Any], cls: type[Any] | None = None) -> Vocabulary[Any]:
        """The vocabulary of these keys, which must be sorted and unique.

        ``cls`` is the key class, by default that of the keys; numbers and strings given as
        plain ``int`` and ``str`` become members of it.
        """
        if isinstance(keys, Vocabulary):
            if cls is not None and cls is not keys.cls:
                raise ValueError(_class_clash("These are", keys.cls, "asked for are", cls))
            return keys
        if isinstance(keys, range) and keys.step == 1:
            return Vocabulary.range(keys.start, keys.stop, cls or int)
        if isinstance(keys, np.ndarray | jax.Array) and fits_64_bits(keys.dtype):
            return _of_integers(np.asarray(keys, np.int64), cls or int)
        return _of_objects(keys, cls)

    @staticmethod
    def range(start: int, stop: int, cls: type[Any] = int) -> Vocabulary[Any]:
        """The integers from ``start`` up to, not including, ``stop``."""
        if not is_integer_class(cls):
            raise ValueError(
                f"Keys of class {cls.__name__} can't be numbered: it is not an integer class."
            )
        start, stop = (start, stop) if start < stop else (0, 0)
        if stop - start > np.iinfo(np.int32).max:
            raise ValueError(f"{stop - start} keys are more than 32-bit indices can number.")
        return _intern((cls, start, stop), lambda: RangeVocabulary(cls, start, stop))

    @staticmethod
    def product(first: Vocabulary[Any], second: Vocabulary[Any]) -> Vocabulary[Any]:
        """All pairs of a key of each, in the order of ``i * len(second) + j``."""
        size = len(first) * len(second)
        if size > np.iinfo(np.int32).max:
            raise ValueError(f"{size} pairs of keys are more than 32-bit indices can number.")
        if size == 0:
            return Vocabulary.of((), tuple)
        return _intern((tuple, first, second), lambda: ProductVocabulary(first, second))

    @property
    def keys(self) -> tuple[K, ...]:
        """The keys as a tuple, built when it is first read."""
        if self._keys is None:
            self._keys = tuple(self)
        return self._keys

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, position: int) -> K: ...

    @abstractmethod
    def __iter__(self) -> Iterator[K]: ...

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The keys as an array: what files hold; ``Vocabulary.of`` reads it back."""

    def find(self, keys: Vocabulary[Any]) -> np.ndarray:
        """The position of each of ``keys`` in this vocabulary, −1 where it is missing."""
        positions = {key: position for position, key in enumerate(self)}
        return np.array([positions.get(key, -1) for key in keys], dtype=np.int64)

    def __contains__(self, key: object) -> bool:
        try:
            return bool(self.find(Vocabulary.of((key,), self.cls))[0] >= 0)
        except (TypeError, ValueError):
            return False

    def positions_in(self, target: Vocabulary[Any]) -> np.ndarray:
        """Where each key stands in ``target``; a `ValueError` that lists those that don't."""
        clash = _class_clash("The index holds", self.kind, "the target holds", target.kind)
        same_kind = self._is_of_one_kind_with(target)
        comparable = is_integer_class(self.cls) == is_integer_class(target.cls)
        positions = target.find(self) if comparable else np.full(len(self), -1)
        missing = np.flatnonzero(positions < 0)
        if missing.size:
            shown = [self[int(i)] for i in missing[:SHOWN]]
            more = f" and {missing.size - SHOWN} more" if missing.size > SHOWN else ""
            second = "" if same_kind else f"\n{clash}"
            raise ValueError(
                f"Keys in self not found in target: {shown}{more}{second}\n"
                f"The target holds {target!r}; every key of the index must be among them."
            )
        if not same_kind:
            raise ValueError(clash)
        return positions.astype(np.int32)

    def _is_of_one_kind_with(self, other: Vocabulary[Any]) -> bool:
        """Same key class; for tuples also of their members, where there are any."""
        unknown = not len(self) or not len(other)
        return self.cls is other.cls and (unknown or self.kind == other.kind)

    def merge(self, other: Vocabulary[K]) -> Vocabulary[K]:
        """The vocabulary of the keys of both."""
        if self is other:
            return self
        if not self._is_of_one_kind_with(other):
            raise ValueError(_class_clash("One index holds", self.kind, "another", other.kind))
        if len(self) == 0 or len(other) == 0:
            return self if len(other) == 0 else other
        return self._merge_keys(other)

    def _merge_keys(self, other: Vocabulary[K]) -> Vocabulary[K]:
        return _of_objects(sort_keys({*self, *other}), self.cls)

    def slice(self, start: int | None, stop: int | None) -> Vocabulary[K]:
        """The keys from position ``start`` up to ``stop``, as in a Python slice."""
        begin, end, _ = slice(start, stop).indices(len(self))
        return Vocabulary.of(self.keys[begin:end], self.cls)

    def extended(self, extra: int) -> Vocabulary[K]:
        """This vocabulary with ``extra`` new integer keys behind the last one."""
        if not is_integer_class(self.cls):
            raise ValueError(
                f"Keys of class {self.cls.__name__} can't be continued.\n"
                "Only tables with integer keys can be given free rows."
            )
        start = int(cast(Any, self[len(self) - 1])) + 1 if len(self) else 0
        return self.merge(Vocabulary.range(start, start + extra, self.cls))

    def __copy__(self) -> Vocabulary[K]:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary[K]:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.of, (np.asarray(self), self.cls)

    def __repr__(self) -> str:
        if len(self) > SHOWN:
            shown = ", ".join(repr(self[i]) for i in range(SHOWN))
            return f"({shown}, … {len(self)} keys)"
        return repr(self.keys)


type Keys[K] = Vocabulary[K] | tuple[K, ...] | list[K] | range | np.ndarray


class RangeVocabulary[K](Vocabulary[K]):
    """Consecutive integers."""

    __slots__ = ("start", "stop")

    def __init__(self, cls: type[K], start: int, stop: int) -> None:
        self.cls, self.start, self.stop, self._keys = cls, start, stop, None

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, position: int) -> K:
        return cast(Any, self.cls)(range(self.start, self.stop)[position])

    def __iter__(self) -> Iterator[K]:
        return map(cast(Any, self.cls), range(self.start, self.stop))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.arange(self.start, self.stop, dtype=dtype or np.int64)

    def find(self, keys: Vocabulary[Any]) -> np.ndarray:
        if not isinstance(keys, RangeVocabulary | IntegerVocabulary):
            return super().find(keys)
        numbers = np.asarray(keys)
        return np.where((numbers >= self.start) & (numbers < self.stop), numbers - self.start, -1)

    def _merge_keys(self, other: Vocabulary[K]) -> Vocabulary[K]:
        if isinstance(other, RangeVocabulary):
            start, stop = min(self.start, other.start), max(self.stop, other.stop)
            if stop - start <= len(self) + len(other):
                return Vocabulary.range(start, stop, self.cls)
        return _merge_integers(self, other)

    def slice(self, start: int | None, stop: int | None) -> Vocabulary[K]:
        part = range(self.start, self.stop)[start:stop]
        return Vocabulary.range(part.start, part.stop, self.cls)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.range, (self.start, self.stop, self.cls)

    def __repr__(self) -> str:
        return f"{self.start}-{self.stop - 1}" if len(self) > 1 else repr(self.keys)


class IntegerVocabulary[K](Vocabulary[K]):
    """Integers with gaps, as the bytes of one array (bytes keep their hash)."""

    __slots__ = ("_numbers",)

    def __init__(self, cls: type[K], content: bytes) -> None:
        self.cls, self._numbers, self._keys = cls, np.frombuffer(content, np.int64), None

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, position: int) -> K:
        return cast(Any, self.cls)(self._numbers[position])

    def __iter__(self) -> Iterator[K]:
        return map(cast(Any, self.cls), self._numbers.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._numbers, dtype=dtype, copy=copy)

    def find(self, keys: Vocabulary[Any]) -> np.ndarray:
        if not isinstance(keys, RangeVocabulary | IntegerVocabulary):
            return super().find(keys)
        numbers = np.asarray(keys)
        positions = np.minimum(np.searchsorted(self._numbers, numbers), len(self) - 1)
        return np.where(self._numbers[positions] == numbers, positions, -1)

    def _merge_keys(self, other: Vocabulary[K]) -> Vocabulary[K]:
        return _merge_integers(self, other)


class ProductVocabulary[A, B](Vocabulary[tuple[A, B]]):
    """All pairs of a key of one vocabulary and a key of another."""

    __slots__ = ("first", "second")

    def __init__(self, first: Vocabulary[A], second: Vocabulary[B]) -> None:
        self.cls, self.first, self.second, self._keys = tuple, first, second, None

    @property
    def kind(self) -> Any:
        return tuple, (self.first.kind, self.second.kind)

    def __len__(self) -> int:
        return len(self.first) * len(self.second)

    def __getitem__(self, position: int) -> tuple[A, B]:
        i, j = divmod(range(len(self))[position], len(self.second))
        return self.first[i], self.second[j]

    def __iter__(self) -> Iterator[tuple[A, B]]:
        return itertools.product(self.first, self.second)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return _object_array(self.keys)

    def find(self, keys: Vocabulary[Any]) -> np.ndarray:
        if not isinstance(keys, ProductVocabulary):
            return super().find(keys)
        i = self.first.find(keys.first)[:, None]
        j = self.second.find(keys.second)[None, :]
        return np.where((i >= 0) & (j >= 0), i * len(self.second) + j, -1).ravel()

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.product, (self.first, self.second)


class SortedVocabulary[K](Vocabulary[K]):
    """Keys of any sortable, hashable class."""

    __slots__ = ("_kind",)

    def __init__(self, cls: type[K], keys: tuple[K, ...]) -> None:
        self.cls, self._keys = cls, keys
        self._kind = _kind_of(keys[0]) if keys else cls

    @property
    def kind(self) -> Any:
        return self._kind

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, position: int) -> K:
        return self.keys[position]

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if issubclass(self.cls, str | bytes | float):
            plain = next(c for c in (str, bytes, float) if issubclass(self.cls, c))
            return np.array(self.keys, dtype=dtype or plain)
        return _object_array(self.keys)

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.of, (self.keys, self.cls)


def vocabulary_from(keys: Any, cls: Any, vocabulary: Vocabulary[Any] | None) -> Vocabulary[Any]:
    """What the constructors of tables and indices were given: keys, or a vocabulary, or both.

    (``dataclasses.replace(table, keys=...)`` gives both: the new keys and the old vocabulary.)
    """
    if keys is None and vocabulary is None:
        raise TypeError("Keys are missing: pass them first, or as keys=...")
    if keys is None:
        return Vocabulary.of(cast(Any, vocabulary), cls)
    return Vocabulary.of(keys, cls if vocabulary is None else vocabulary.cls)


def sort_keys(keys: Iterable[Any]) -> list[Any]:
    """The keys in order; a `ValueError` where they have none."""
    try:
        return sorted(keys)
    except TypeError as error:
        raise ValueError(
            f"Keys can't be put in order: {error}.\n"
            "All keys of a table or an index are of one class."
        ) from error


def _intern[K](content: Hashable, build: Callable[[], Vocabulary[K]]) -> Vocabulary[K]:
    with _lock:
        known = _interned.get(content)
        if known is None:
            known = _interned[content] = build()
        return known


def plain_key(key: Any) -> Any:
    """A key as Python's own, where it or its members are NumPy's."""
    if type(key) is tuple:
        return tuple(map(plain_key, key))
    return key.item() if isinstance(key, np.generic) else key


def fits_64_bits(dtype: Any) -> bool:
    """Whether an array of this type holds integers that are surely below 2⁶³."""
    return jnp.issubdtype(dtype, jnp.integer) and dtype != np.uint64


def _of_integers(numbers: np.ndarray, cls: type[Any]) -> Vocabulary[Any]:
    """The vocabulary of an array of 64-bit integers."""
    if numbers.ndim != 1:
        raise ValueError(f"Keys must be a flat sequence, not an array of shape {numbers.shape}.")
    if not is_integer_class(cls):
        raise ValueError(f"The keys are integers, but the key class is {cls.__name__}.")
    if len(numbers) == 0:
        return Vocabulary.range(0, 0, cls)
    rising = numbers[1:] > numbers[:-1]
    if not np.all(rising):
        first = int(np.argmin(rising))
        _refuse_order(int(numbers[first]), int(numbers[first + 1]))
    lowest, highest = int(numbers[0]), int(numbers[-1])
    if highest - lowest == len(numbers) - 1:
        return Vocabulary.range(lowest, highest + 1, cls)
    content = numbers.tobytes()
    return _intern((cls, content), lambda: IntegerVocabulary(cls, content))


def _of_objects(keys: Iterable[Any], cls: type[Any] | None) -> Vocabulary[Any]:
    """The vocabulary of any sortable keys."""
    keys = tuple(map(plain_key, keys))
    if not keys and cls is None:
        raise ValueError(
            "Without keys the key class is unknown.\n"
            "Pass it, as in Table(keys=(), data=..., cls=SystemId)."
        )
    cls = cls or type(keys[0])
    if any(type(key) is not cls for key in keys):
        keys = tuple(_as_member(key, cls) for key in keys)
    if is_integer_class(cls):
        try:
            return _of_integers(np.array([int(key) for key in keys], dtype=np.int64), cls)
        except OverflowError:
            pass  # beyond 64 bits: kept as Python integers
    for key, following in pairwise(keys):
        if not key < following:
            _refuse_order(key, following)
    if keys and keys[0] != keys[0]:
        raise ValueError(f"Keys must be comparable, and {keys[0]!r} is not equal to itself.")
    if cls is tuple and keys:
        return _of_tuples(keys)
    return _intern((cls, keys), lambda: SortedVocabulary(cls, keys))


def _of_tuples(keys: tuple[Any, ...]) -> Vocabulary[Any]:
    """The vocabulary of sorted tuples; equal tuples of other classes are other keys."""
    kind = _kind_of(keys[0])
    mixed = next((key for key in keys if _kind_of(key) != kind), None)
    if mixed is not None:
        raise ValueError(_class_clash("Some are", kind, "others are", _kind_of(mixed)))
    if len(keys[0]) == 2:
        first, second = ({key[i] for key in keys} for i in (0, 1))
        if len(first) * len(second) == len(keys):  # all pairs, each once
            parts = (_of_objects(sort_keys(part), None) for part in (first, second))
            return Vocabulary.product(*parts)
    return _intern((kind, keys), lambda: SortedVocabulary(tuple, keys))


def _kind_of(key: Any) -> Any:
    """The class of a key, and for a tuple the classes of its members."""
    return (tuple, tuple(map(_kind_of, key))) if type(key) is tuple else type(key)


def _object_array(keys: tuple[Any, ...]) -> np.ndarray:
    array = np.empty(len(keys), dtype=object)
    array[:] = keys
    return array


def _merge_integers(first: Vocabulary[Any], second: Vocabulary[Any]) -> Vocabulary[Any]:
    if isinstance(second, SortedVocabulary):  # integers beyond 64 bits
        return second._merge_keys(first)
    return _of_integers(np.union1d(np.asarray(first), np.asarray(second)), first.cls)


def _as_member(key: Any, cls: type[Any]) -> Any:
    """A key of a plain class (``int``) as a member of ``cls`` (``SystemId``)."""
    if type(key) is cls:
        return key
    if type(key) in cls.__mro__ and type(key) is not object:
        return cls(key)
    raise ValueError(
        f"Key {key!r} is of class {type(key).__name__}, but the key class is {cls.__name__}.\n"
        "All keys of a table or an index are of one class."
    )


def _refuse_order(key: Any, following: Any) -> None:
    if key == following:
        raise ValueError(f"Duplicate key: {key!r}.\nThe keys of a table or an index are unique.")
    raise ValueError(
        f"Keys are not sorted: {key!r} stands before {following!r}.\n"
        "Table.new(keys, data) and Index.new(values) sort them."
    )


def _class_clash(first: str, kind: Any, second: str, other: Any) -> str:
    return f"{first} keys of class {_name(kind)}, {second} keys of class {_name(other)}."


def _name(kind: Any) -> str:
    """A key class by name, ``tuple[SystemId, str]`` for tuples."""
    return f"tuple[{', '.join(map(_name, kind[1]))}]" if isinstance(kind, tuple) else kind.__name__
