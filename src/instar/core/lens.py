"""Lenses: reading and replacing one part of an immutable state.

Generic code (an integrator, a capacity) is written once and told by lenses where its data
lives::

    positions = lens(lambda s: s.particles.data.positions, cls=State)
    positions.get(state)                       # read
    positions.set(state, new)                  # a new state
    bind(state).focus(lambda s: s.size).set(5)

What kinds there are::

    View                 reads            view(fn)
    └── Lens             reads, writes
        ├── PathLens     attributes and items, one or several places at once
        ├── RowsLens     rows of another lens's focus          .at(indices)
        ├── NestedLens   one lens inside another               .nest(other), .focus(fn)
        ├── MergedLens   two lenses side by side               .merge(other)
        └── ConstLens    a value that is not in the state      const_lens(value)

Lenses are hashable and equal when made alike, so they can be static fields.
"""

from __future__ import annotations

import dataclasses
import typing
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.utils.paths import (
    Edit,
    LensError,
    Path,
    SupportsRowIndex,
    SupportsRows,
    check_disjoint,
    check_fields,
    describe,
    edit,
    names_rows,
    read,
    record,
    same,
)
from instar.core.utils.pytree_dataclass import is_lens_field
from instar.core.utils.transforms import is_traced, within_32_bits
from instar.core.utils.trees import (
    DROP,
    PyTreeDef,
    SupportsTake,
    tree_scatter_set,
    tree_structure,
    tree_take,
)

__all__ = [
    "BoundLens",
    "HasLensFields",
    "Lens",
    "LensError",
    "LensField",
    "View",
    "bind",
    "const_lens",
    "identity_lens",
    "lens",
    "lens_property",
    "view",
]

_UNSET: Any = object()


class View[S, T]:
    """Reads a part of a state, or something computed from it."""

    @abstractmethod
    def get(self, state: S) -> T:
        """The part of ``state`` that this looks at."""

    def __call__(self, state: S) -> T:
        return self.get(state)

    def focus[U](self, fn: Callable[[T], U]) -> View[S, U]:
        """Look deeper: ``fn`` of what this reads."""
        return _NestedView(self, _FunctionView(fn))


class Lens[S, T](View[S, T]):
    """Reads and replaces a part of a state."""

    @property
    @abstractmethod
    def paths(self) -> tuple[Path, ...]:
        """The places in the state that a write may change."""

    @abstractmethod
    def edits(self, state: S, value: T) -> list[Edit]:
        """What to replace, and where, so that ``get`` returns ``value``."""

    def set(self, state: S, value: T) -> S:
        """A new state in which the part is ``value``."""
        return edit(state, self.edits(state, value))

    def apply(self, state: S, fn: Callable[[T], T]) -> S:
        """A new state in which the part is ``fn`` of what it was."""
        return self.set(state, fn(self.get(state)))

    @overload
    def __call__(self, state: S) -> T: ...
    @overload
    def __call__(self, state: S, value: T) -> S: ...
    def __call__(self, state: S, value: T = _UNSET) -> T | S:
        return self.get(state) if value is _UNSET else self.set(state, value)

    def focus[U](self, fn: Callable[[T], U]) -> Lens[S, U]:
        """A lens on a part of this part."""
        return self.nest(lens(fn))

    def nest[U](self, other: Lens[T, U]) -> Lens[S, U]:
        """The other lens, applied to what this one reads."""
        return NestedLens(self, other)

    def merge[U](self, other: Lens[S, U]) -> Lens[S, tuple[T, U]]:
        """Both places as a pair."""
        return MergedLens(self, other)

    def at(self, indices: Any) -> Lens[S, T]:
        """Some rows of the part: an `Index`, or integers; out-of-bounds entries are dropped."""
        return RowsLens(self, indices)

    def bind(self, state: S) -> BoundLens[S, T]:
        """This lens with the state held."""
        return BoundLens(state, self)


@overload
def lens[T](fn: Callable[[Any], T], cls: None = None) -> Lens[Any, T]: ...
@overload
def lens[S, T](fn: Callable[[S], T], cls: type[S]) -> Lens[S, T]: ...
def lens(fn: Callable[[Any], Any], cls: Any = None) -> Lens[Any, Any]:
    """A lens on the place that ``fn`` describes, or on several: ``lambda s: (s.a, s.b)``."""
    structure, paths = record(fn)
    check_fields(cls, paths)
    return PathLens(cls, structure, tuple(paths))


@overload
def identity_lens(cls: None = None) -> Lens[Any, Any]: ...
@overload
def identity_lens[S](cls: type[S]) -> Lens[S, S]: ...
def identity_lens(cls: Any = None) -> Lens[Any, Any]:
    """The lens on the whole state."""
    return lens(lambda s: s, cls)


def const_lens(value: Any) -> Lens[Any, Any]:
    """A lens that always reads ``value`` and can't be written."""
    return ConstLens(value)


def view[T](fn: Callable[[Any], T]) -> View[Any, T]:
    """Any function of the state as a read-only lens; equal where the function is the same."""
    return _FunctionView(fn)


@overload
def bind[S](obj: S) -> BoundLens[S, S]: ...
@overload
def bind[S, T](obj: S, where: Lens[S, T] | Callable[[S], T]) -> BoundLens[S, T]: ...
def bind(obj: Any, where: Any = None) -> Any:
    """A lens with the state held: ``bind(state, lambda s: s.size).set(5)``."""
    if where is None:
        return BoundLens(obj, identity_lens())
    return BoundLens(obj, where if isinstance(where, Lens) else lens(where))


class _ReadOnly[S, T](View[S, T]):
    def set(self, state: S, value: T) -> typing.NoReturn:
        raise LensError("A view is read only.\nUse lens(...) on a path to replace a part.")


@dataclasses.dataclass(frozen=True)
class _FunctionView[S, T](_ReadOnly[S, T]):
    fn: Callable[[S], T]

    def get(self, state: S) -> T:
        return self.fn(state)


@dataclasses.dataclass(frozen=True)
class _NestedView[S, T, U](_ReadOnly[S, U]):
    outer: View[S, T]
    inner: View[T, U]

    def get(self, state: S) -> U:
        return self.inner.get(self.outer.get(state))


@dataclasses.dataclass(frozen=True)
class PathLens[S, T](Lens[S, T]):
    """The places at ``places``, put together to a tree of this structure."""

    cls: type[S] | None
    structure: PyTreeDef[T]
    places: tuple[Path, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.places

    @property
    def _is_single(self) -> bool:
        return self.structure == tree_structure(0)

    def get(self, state: S) -> T:
        return self.structure.unflatten(read(state, path) for path in self.places)

    def edits(self, state: S, value: T) -> list[Edit]:
        self.get(state)  # a place that is not there is named by its whole path
        try:
            values = self.structure.flatten_up_to(value)
        except ValueError as error:
            raise LensError(
                f"A value for {', '.join(map(describe, self.places))} must have the structure "
                f"{self.structure}.\nIt is {jax.tree.structure(value)}."
            ) from error
        return list(zip(self.places, values, strict=True))

    def nest[U](self, other: Lens[T, U]) -> Lens[S, U]:
        if self._is_single and isinstance(other, PathLens):
            (prefix,) = self.places
            places = tuple(prefix + path for path in other.places)
            return PathLens(self.cls, other.structure, places)
        return NestedLens(self, other)

    def merge[U](self, other: Lens[S, U]) -> Lens[S, tuple[T, U]]:
        if isinstance(other, PathLens):
            places = self.places + other.places
            check_disjoint(places)
            halves: Any = (
                self.structure.unflatten([0] * len(self.places)),
                other.structure.unflatten([0] * len(other.places)),
            )
            return PathLens(self.cls or other.cls, tree_structure(halves), places)
        return MergedLens(self, other)

    def __repr__(self) -> str:
        state = self.cls.__name__ if self.cls else "state"
        places = [describe(path).replace("state", state, 1) for path in self.places]
        return f"lens({', '.join(places)})"


@dataclasses.dataclass(frozen=True, eq=False)
class RowsLens[S, T](Lens[S, T]):
    """Rows of what ``base`` reads."""

    base: Lens[S, T]
    indices: Any

    def __post_init__(self) -> None:
        if not names_rows(self.indices):
            raise LensError(f"Rows are named by an Index or by integers, not by {self.indices!r}.")
        if not isinstance(self.indices, SupportsRowIndex) and not is_traced(self.indices):
            lowest = np.min(np.asarray(self.indices), initial=0)
            if lowest < 0:
                raise LensError(f"Row numbers must not be negative: {lowest}.")

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.base.paths

    def get(self, state: S) -> T:
        return jax.tree.map(self._read, self.base.get(state), is_leaf=_has_own_rows)

    def edits(self, state: S, value: T) -> list[Edit]:
        part = self.base.get(state)
        return self.base.edits(state, jax.tree.map(self._write, part, value, is_leaf=_has_own_rows))

    def _read(self, node: Any) -> Any:
        if isinstance(node, SupportsRows):
            return node[self.indices]
        return tree_take(node, self._positions(node))

    def _write(self, node: Any, value: Any) -> Any:
        if isinstance(node, SupportsRows):
            return node.update(self.indices, value)
        return tree_scatter_set(node, value, self._positions(node), DROP)

    def _positions(self, node: Any) -> Any:
        """The rows of plain arrays; an index must be one over exactly those rows."""
        if not isinstance(self.indices, SupportsRowIndex):
            return jnp.asarray(within_32_bits(self.indices))
        keys = len(self.indices.vocabulary)
        for leaf in jax.tree.leaves(node):
            if leaf.shape[0] != keys:
                raise LensError(
                    f"An Index of {keys} keys can't name rows of an array of {leaf.shape[0]}.\n"
                    "Focus on the table itself, which knows its keys."
                )
        return self.indices.indices

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RowsLens)
            and self.base == other.base
            and same(self.indices, other.indices)
        )

    def __hash__(self) -> int:
        return hash((RowsLens, self.base, self.indices))


def _has_own_rows(node: Any) -> bool:
    return isinstance(node, SupportsRows | SupportsTake)


@dataclasses.dataclass(frozen=True)
class NestedLens[S, T, U](Lens[S, U]):
    """``inner``, applied to what ``outer`` reads."""

    outer: Lens[S, T]
    inner: Lens[T, U]

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.outer.paths

    def get(self, state: S) -> U:
        return self.inner.get(self.outer.get(state))

    def edits(self, state: S, value: U) -> list[Edit]:
        return self.outer.edits(state, self.inner.set(self.outer.get(state), value))


@dataclasses.dataclass(frozen=True)
class MergedLens[S, T, U](Lens[S, tuple[T, U]]):
    """Two lenses side by side, written together."""

    first: Lens[S, T]
    second: Lens[S, U]

    def __post_init__(self) -> None:
        check_disjoint(self.paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.first.paths + self.second.paths

    def get(self, state: S) -> tuple[T, U]:
        return self.first.get(state), self.second.get(state)

    def edits(self, state: S, value: tuple[T, U]) -> list[Edit]:
        first, second = value
        return self.first.edits(state, first) + self.second.edits(state, second)


@dataclasses.dataclass(frozen=True, eq=False)
class ConstLens[S, T](Lens[S, T]):
    """A value that is not in the state."""

    value: T

    @property
    def paths(self) -> tuple[Path, ...]:
        return ()

    def get(self, state: S) -> T:
        return self.value

    def edits(self, state: S, value: T) -> list[Edit]:
        raise LensError(
            f"A constant can't be set: const_lens({self.value!r}) is read only.\n"
            "Put the value into the state and use lens(...) to replace it."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstLens) and same(self.value, other.value)

    def __hash__(self) -> int:
        return hash((ConstLens, self.value))


@dataclasses.dataclass(frozen=True, eq=False)
class BoundLens[S, T]:
    """A lens with the state held: writing returns the new state."""

    state: S
    lens: Lens[S, T]

    def get(self) -> T:
        """The part."""
        return self.lens.get(self.state)

    def set(self, value: T) -> S:
        """A new state in which the part is ``value``."""
        return self.lens.set(self.state, value)

    def apply(self, fn: Callable[[T], T]) -> S:
        """A new state in which the part is ``fn`` of what it was."""
        return self.lens.apply(self.state, fn)

    @overload
    def __call__(self) -> T: ...
    @overload
    def __call__(self, value: T) -> S: ...
    def __call__(self, value: T = _UNSET) -> T | S:
        return self.get() if value is _UNSET else self.set(value)

    def focus[U](self, fn: Callable[[T], U]) -> BoundLens[S, U]:
        """A part of this part."""
        return BoundLens(self.state, self.lens.focus(fn))

    def nest[U](self, other: Lens[T, U]) -> BoundLens[S, U]:
        """The other lens, applied to this part."""
        return BoundLens(self.state, self.lens.nest(other))

    def merge[U](self, other: Lens[S, U]) -> BoundLens[S, tuple[T, U]]:
        """This place and another as a pair."""
        return BoundLens(self.state, self.lens.merge(other))

    def at(self, indices: Any) -> BoundLens[S, T]:
        """Some rows of the part."""
        return BoundLens(self.state, self.lens.at(indices))


_T = TypeVar("_T")


class LensField(Generic[_T]):  # noqa: UP046 (old style: a descriptor must be invariant)
    """Annotation ``x: LensField[float]``: ``Point.x`` is a lens, ``point.x`` a float.

    A non-data descriptor: on an instance the value in its ``__dict__`` comes first.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    if typing.TYPE_CHECKING:

        @overload
        def __get__[O](self, instance: None, owner: type[O]) -> Lens[O, _T]: ...
        @overload
        def __get__(self, instance: object, owner: Any) -> _T: ...
        def __get__(self, instance: Any, owner: Any) -> Any: ...

        def __set__(self, instance: Any, value: _T) -> None: ...

    else:

        def __get__(self, instance: Any, owner: Any) -> Any:
            redeclared = self._name in vars(owner).get("__annotations__", ())
            unfinished = "__dataclass_fields__" not in vars(owner)
            if instance is not None or (redeclared and unfinished):  # no default to be found here
                raise AttributeError(self._name)
            return lens(lambda s: getattr(s, self._name), owner)


class HasLensFields:
    """Base of classes with ``LensField`` annotations or ``lens_field()`` defaults."""

    @classmethod
    def __after_dataclass__(cls) -> None:
        for field in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
            if is_lens_field(field) or _is_lens_annotation(field.type):
                setattr(cls, field.name, LensField(field.name))


def _is_lens_annotation(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == LensField.__name__
    return annotation is LensField or typing.get_origin(annotation) is LensField


class lens_property[S, T]:  # noqa: N801 (used like ``property``)
    """A property that can be written through a lens: ``State.positions`` is a lens on it."""

    def __init__(self, fget: Callable[[S], T]) -> None:
        self._fget = fget
        self.__doc__ = fget.__doc__

    @overload
    def __get__(self, instance: None, owner: type[S]) -> Lens[S, T]: ...
    @overload
    def __get__(self, instance: S, owner: type[S]) -> T: ...
    def __get__(self, instance: S | None, owner: type[S]) -> Lens[S, T] | T:
        return lens(self._fget, owner) if instance is None else self._fget(instance)

    def edits_of(self, owner: S, value: T) -> list[Edit]:
        """The places that the property stands for (see ``utils.paths.SupportsEdits``)."""
        return lens(self._fget).edits(owner, value)
