"""Paths into immutable states: recorded from a function, read, and replaced together.

A path is a tuple of steps, each an attribute or an item. `edit` replaces the parts at several
paths at once: every object along the way is rebuilt once, with all its changes, and validated
once, when it is complete.
"""

from __future__ import annotations

import copy
import dataclasses
import typing
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.utils.pytree_dataclass import replace_fields

__all__ = [
    "Attribute",
    "Edit",
    "Item",
    "LensError",
    "Path",
    "SupportsEdits",
    "SupportsRowIndex",
    "SupportsRows",
    "check_disjoint",
    "check_fields",
    "describe",
    "edit",
    "names_rows",
    "read",
    "record",
    "same",
]


class LensError(ValueError):
    """A lens that can't be made, or can't write where it was asked to."""


def same(a: Any, b: Any) -> bool:
    """Equality of steps and indices: by value where hashable, else by identity (arrays)."""
    if a is b:
        return True
    try:
        return hash(a) == hash(b) and type(a) is type(b) and bool(a == b)
    except TypeError:
        return False


@dataclasses.dataclass(frozen=True)
class Attribute:
    """The step ``.name``."""

    name: str

    def read(self, part: Any) -> Any:
        """The attribute of ``part``."""
        return getattr(part, self.name)

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """The step ``[key]``."""

    key: Any

    def read(self, part: Any) -> Any:
        """The item of ``part``; unlike JAX, an error where an array has no such row."""
        if isinstance(part, jax.Array | np.ndarray) and isinstance(self.key, int):
            range(part.shape[0])[self.key]
        return part[self.key]

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and same(self.key, other.key)

    def __hash__(self) -> int:
        return hash((Item, self.key))


type Step = Attribute | Item
type Path = tuple[Step, ...]
type Edit = tuple[Path, Any]


@runtime_checkable
class SupportsRows(Protocol):
    """A container whose rows are read with ``[index]`` and replaced with ``update``."""

    def __getitem__(self, index: Any, /) -> Any: ...

    def update(self, index: Any, data: Any, /) -> Any:
        """A new container with those rows replaced."""
        ...

    def map_data(self, fn: Any, /) -> Any:
        """A new container with other data (tells it apart from a mapping)."""
        ...


@runtime_checkable
class SupportsRowIndex(Protocol):
    """A column of positions in a vocabulary of rows."""

    vocabulary: Any
    indices: Any


@runtime_checkable
class SupportsEdits(Protocol):
    """A class attribute that stands for other places, as a `lens_property` does."""

    def edits_of(self, owner: Any, value: Any) -> list[Edit]:
        """What to replace in ``owner`` so that this attribute reads ``value``."""
        ...


def describe(path: Path) -> str:
    """The path as a user would write it, ``state.particles.data``."""
    return "state" + "".join(str(step) for step in path)


def read(state: Any, path: Path) -> Any:
    """The part of ``state`` at ``path``."""
    for depth, step in enumerate(path, 1):
        try:
            state = step.read(state)
        except (AttributeError, LookupError) as error:
            what = error.args[0] if error.args else ""
            raise type(error)(f"No {describe(path[:depth])}: {what}") from error
    return state


def edit(state: Any, edits: Sequence[Edit]) -> Any:
    """``state`` with the parts at all the paths replaced; ``state`` itself is left as it is."""
    edits = _through_properties(state, edits)
    if any(not path for path, _ in edits):
        return edits[0][1]
    inner: list[tuple[Step, list[Edit]]] = []
    for (step, *rest), value in edits:
        found = next((below for known, below in inner if known == step), None)
        if found is None:
            inner.append((step, found := []))
        found.append((tuple(rest), value))
    parts = [(step, edit(step.read(state), below)) for step, below in inner]
    attributes = {step.name: part for step, part in parts if isinstance(step, Attribute)}
    if attributes:
        state = _replace_attributes(state, attributes)
    for step, part in parts:
        if isinstance(step, Item):
            state = _replace_item(state, step.key, part)
    return state


def _through_properties(state: Any, edits: Sequence[Edit]) -> list[Edit]:
    """Edits with attributes that stand for other places written out as those places."""
    check_disjoint([path for path, _ in edits])
    plain: list[Edit] = []
    behind: dict[str, list[Edit]] = {}
    for path, value in edits:
        first = path[0] if path else None
        if isinstance(first, Attribute) and _stand_in(state, first.name):
            behind.setdefault(first.name, []).append((path[1:], value))
        else:
            plain.append((path, value))
    for name, inner in behind.items():
        part = edit(getattr(state, name), inner)
        plain += _through_properties(state, _stand_in(state, name).edits_of(state, part))
    check_disjoint([path for path, _ in plain])
    return plain


def _stand_in(state: Any, name: str) -> Any:
    """The class attribute, if it stands for other places."""
    attribute = _class_attribute(state, name)
    return attribute if isinstance(attribute, SupportsEdits) else None


def _class_attribute(state: Any, name: str) -> Any:
    """The class attribute itself, where ``getattr`` would call its ``__get__``."""
    for cls in type(state).__mro__:
        if name in vars(cls):
            return vars(cls)[name]
    return None


def _replace_attributes(state: Any, changes: dict[str, Any]) -> Any:
    if dataclasses.is_dataclass(state) and not isinstance(state, type):
        known = {field.name for field in dataclasses.fields(state)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise LensError(
                f"{type(state).__name__} has no field {unknown[0]!r} to set.\n"
                f"Its fields are: {', '.join(sorted(known))}."
            )
        return replace_fields(state, changes)
    if isinstance(state, tuple) and hasattr(state, "_replace"):
        return cast(Any, state)._replace(**changes)
    name = next(iter(changes))
    raise LensError(
        f"Can't set attribute {name!r} of a {type(state).__name__}.\n"
        "A lens writes into dataclasses, named tuples, dicts, lists, tuples, arrays and tables."
    )


def _replace_item(state: Any, key: Any, part: Any) -> Any:
    match state:
        case dict():
            changed = copy.copy(state)
            changed[key] = part
            return changed
        case list() | tuple() if isinstance(key, int):
            position = range(len(state))[key]
            items = [*state[:position], part, *state[position + 1 :]]
            return type(state)(*items) if hasattr(state, "_fields") else type(state)(items)
        case jax.Array() | np.ndarray():
            return jnp.asarray(state).at[key].set(part)
        case SupportsRows():
            return state.update(key, part)
        case _:
            raise LensError(
                f"Can't set item [{key!r}] of a {type(state).__name__}.\n"
                "A lens writes into dataclasses, named tuples, dicts, lists, tuples, arrays "
                "and tables."
            )


def check_disjoint(paths: Sequence[Path]) -> None:
    """Raise unless no path leads into another, so that the order of writing can't matter."""
    for i, path in enumerate(paths):
        for other in paths[:i]:
            if _may_overlap(path, other):
                raise LensError(
                    f"Lens paths overlap: {describe(other)} and {describe(path)}.\n"
                    "Several places at once must be separate parts of the state."
                )


def _may_overlap(path: Path, other: Path) -> bool:
    for a, b in zip(path, other, strict=False):
        if a != b:
            return not _certainly_apart(a, b)
    return True


def _certainly_apart(a: Step, b: Step) -> bool:
    match a, b:
        case Attribute(), Attribute():
            return True
        case Item(), Item():
            return _names_one_item(a.key) and _names_one_item(b.key) and a.key != b.key
        case _:
            return False


def check_fields(cls: Any, paths: list[Path]) -> None:
    """Raise where a path begins with a field that the dataclass ``cls`` does not have."""
    cls = typing.get_origin(cls) or cls
    if not dataclasses.is_dataclass(cls):
        return
    known = [field.name for field in dataclasses.fields(cls)]
    for step in (path[0] for path in paths if path):
        if isinstance(step, Attribute) and step.name not in known and not hasattr(cls, step.name):
            raise LensError(
                f"{getattr(cls, '__name__', cls)} has no field {step.name!r}.\n"
                f"Its fields are: {', '.join(sorted(known))}."
            )


def names_rows(indices: Any) -> bool:
    """Whether these can name rows: an index, or integers."""
    if isinstance(indices, SupportsRowIndex):
        return True
    try:
        array = indices if hasattr(indices, "dtype") else np.asarray(indices)
    except ValueError:
        return False
    return array.size == 0 or jnp.issubdtype(array.dtype, jnp.integer)


def _names_one_item(key: Any) -> bool:
    return isinstance(key, str) or (isinstance(key, int) and key >= 0)


def record(fn: Callable[[Any], Any]) -> tuple[Any, list[Path]]:
    """The tree structure of what ``fn`` returns, and the path that stands at each leaf."""
    try:
        result = fn(_Recorder(()))
    except LensError:
        raise
    except Exception as error:
        what = str(error).rstrip(".")
        raise LensError(_NOT_A_PATH.format(f"it raised {type(error).__name__}: {what}")) from error
    leaves, structure = jax.tree.flatten(result)
    for leaf in leaves:
        if not isinstance(leaf, _Recorder):
            raise LensError(
                _NOT_A_PATH.format(f"it returned {leaf!r}, which is not a part of the state")
            )
    if not leaves:
        raise LensError(
            _NOT_A_PATH.format(f"it returned {result!r}, which holds no part of the state")
        )
    paths = [_path_of(leaf) for leaf in leaves]
    check_disjoint(paths)
    return structure, paths


_NOT_A_PATH = (
    "The function of a lens must describe a path, like lambda s: s.particles.data.\n"
    "Here {}. Attributes, items and trees of them are paths; for a computed value use view()."
)


class _Recorder:
    """Stands for the state while a path is recorded: remembers steps, refuses the rest."""

    __slots__ = ("__path",)

    def __init__(self, path: Path) -> None:
        self.__path = path

    def __repr__(self) -> str:
        return describe(self.__path)

    def __getattr__(self, name: str) -> _Recorder:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Recorder((*self.__path, Attribute(name)))

    def __getitem__(self, key: Any) -> _Recorder:
        parts = (key.start, key.stop, key.step) if isinstance(key, slice) else (key,)
        for part in parts if not isinstance(key, tuple) else key:
            if isinstance(part, _Recorder):
                raise LensError(_NOT_A_PATH.format(f"it uses {part!r} of the state as an item"))
        return _Recorder((*self.__path, Item(key)))


def _path_of(recorder: _Recorder) -> Path:
    return object.__getattribute__(recorder, "_Recorder__path")


def _refuse(operation: str) -> Callable[..., Any]:
    def method(self: _Recorder, *args: Any) -> Any:
        raise LensError(
            _NOT_A_PATH.format(f"it computes with {describe(_path_of(self))} ({operation})")
        )

    return method


_COMPUTING = (
    "add sub mul truediv floordiv mod divmod pow matmul lshift rshift and or xor "
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rmatmul rlshift rrshift rand ror rxor "
    "neg pos abs invert int float complex index bool len iter contains call eq ne lt le gt ge "
    "array round trunc floor ceil str format hash"
)
for _name in _COMPUTING.split():
    setattr(_Recorder, f"__{_name}__", _refuse(_name))
