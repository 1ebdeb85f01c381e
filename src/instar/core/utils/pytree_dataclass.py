"""Frozen dataclasses that are JAX pytrees.

A field is *dynamic* (a child of the pytree: traced, batched, differentiated) unless it is
declared ``field(static=True)``: then it is part of the tree structure, and so of the
compilation key, and must be hashable and comparable.

Unflattening never runs ``__init__`` or ``__post_init__``: JAX rebuilds trees with
placeholders for leaves, and those must not meet a validation written for real data.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Protocol, dataclass_transform, overload, runtime_checkable

import jax

__all__ = [
    "dataclass",
    "field",
    "is_lens_field",
    "lens_field",
    "no_post_init",
    "replace_fields",
    "skip_post_init_if_disabled",
]

_INIT_VAR: Any = dataclasses._FIELD_INITVAR  # pyright: ignore[reportAttributeAccessIssue]
_STATIC = "instar.static"
_LENS = "instar.lens"

_post_init_enabled = contextvars.ContextVar("instar_post_init_enabled", default=True)


def field(
    *,
    static: bool = False,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    init: bool = True,
    repr: bool = True,  # noqa: A002 (the names of dataclasses.field)
    hash: bool | None = None,  # noqa: A002
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: Any = dataclasses.MISSING,
) -> Any:
    """A dataclass field; ``static=True`` moves it into the tree structure.

    The other arguments are those of :func:`dataclasses.field`.
    """
    return dataclasses.field(
        default=default,
        default_factory=default_factory,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        metadata={**(metadata or {}), _STATIC: static},
        kw_only=kw_only,
    )


def lens_field(*, metadata: Mapping[Any, Any] | None = None, **options: Any) -> Any:
    """A :func:`field` for ``LensField[T]``: read on the class it is a lens.

    This only marks the field; ``instar.core.lens`` makes the lens.
    """
    return field(metadata={**(metadata or {}), _LENS: True}, **options)


def is_lens_field(field: dataclasses.Field[Any]) -> bool:
    """Whether a field was declared with :func:`lens_field`."""
    return bool(field.metadata.get(_LENS, False))


@runtime_checkable
class _DataclassDecorator(Protocol):
    """What ``dataclass(...)`` with arguments returns."""

    def __call__[C](self, cls: type[C], /) -> type[C]: ...


@overload
def dataclass[C](cls: type[C], /) -> type[C]: ...


@overload
def dataclass(*, frozen: bool = True, **options: Any) -> _DataclassDecorator: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field, lens_field, dataclasses.field))
def dataclass(cls: Any = None, /, *, frozen: bool = True, **options: Any) -> Any:
    """Make a class a dataclass and a pytree: ``@dataclass`` or ``@dataclass(option=...)``.

    Takes the options of :func:`dataclasses.dataclass`; ``frozen`` is on unless told otherwise.
    A base class may define the class method ``__after_dataclass__`` to finish the new class.
    """

    def decorate(cls: type[Any]) -> type[Any]:
        cls = dataclasses.dataclass(cls, frozen=frozen, **options)
        _register(cls)
        finish = getattr(cls, "__after_dataclass__", None)
        if finish is not None:
            finish()
        return cls

    return decorate if cls is None else decorate(cls)


def _register(cls: type[Any]) -> None:
    fields = dataclasses.fields(cls)
    static = tuple(f.name for f in fields if f.metadata.get(_STATIC, False))
    dynamic = tuple(f.name for f in fields if f.name not in static)
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in dynamic)
    children, structure = _tuple_getter(dynamic), _tuple_getter(static)

    def flatten(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return children(node), structure(node)

    def flatten_with_keys(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return tuple(zip(keys, children(node), strict=True)), structure(node)

    names, new = static + dynamic, object.__new__

    def unflatten(structure: tuple[Any, ...], children: Iterable[Any]) -> Any:
        node = new(cls)
        node.__dict__.update(zip(names, (*structure, *children), strict=True))
        return node

    def unflatten_slots(structure: tuple[Any, ...], children: Iterable[Any]) -> Any:
        node = new(cls)
        for name, value in zip(names, (*structure, *children), strict=True):
            object.__setattr__(node, name, value)
        return node

    has_slots = any("__slots__" in vars(base) for base in cls.__mro__)
    rebuild = unflatten_slots if has_slots else unflatten
    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, rebuild, flatten)


def _tuple_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """``node -> (node.a, node.b, ...)``, at C speed (flattening is part of every call)."""
    match names:
        case ():
            return lambda node: ()
        case (name,):
            get = attrgetter(name)
            return lambda node: (get(node),)
        case _:
            return attrgetter(*names)


def replace_fields[C](node: C, changes: Mapping[str, Any]) -> C:
    """A copy of a dataclass with some fields changed, validated once, as a whole.

    Unlike :func:`dataclasses.replace` it does not call ``__init__``: ``__post_init__`` runs
    on the finished copy, with the defaults of its ``InitVar`` arguments.
    """
    copy = object.__new__(type(node))
    for field in dataclasses.fields(node):  # pyright: ignore[reportArgumentType]
        if field.name in changes:
            object.__setattr__(copy, field.name, changes[field.name])
        elif hasattr(node, field.name):
            object.__setattr__(copy, field.name, getattr(node, field.name))
    if hasattr(copy, "__post_init__"):
        copy.__post_init__(*_init_var_defaults(type(node)))  # pyright: ignore[reportAttributeAccessIssue]
    return copy


@functools.cache
def _init_var_defaults(cls: type[Any]) -> tuple[Any, ...]:
    """What ``__post_init__`` gets for its ``InitVar`` arguments when it is run again.

    Their defaults, as in :func:`dataclasses.replace`; one without a default is an error.
    """
    fields: dict[str, Any] = cls.__dataclass_fields__
    init_vars = [f for f in fields.values() if f._field_type is _INIT_VAR]
    for var in init_vars:
        if var.default is dataclasses.MISSING:
            raise TypeError(
                f"{cls.__name__}.__post_init__ needs {var.name!r}, which a changed copy doesn't "
                "have.\nGive that InitVar a default, or make it a field."
            )
    return tuple(var.default for var in init_vars)


def skip_post_init_if_disabled[**P](method: Callable[P, None]) -> Callable[P, None]:
    """Decorator for ``__post_init__``: skipped inside ``with no_post_init():``.

    For user code that builds objects from placeholders; instar itself needs no such switch.
    """

    @functools.wraps(method)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        if _post_init_enabled.get():
            method(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def no_post_init() -> Iterator[None]:
    """Context in which methods under :func:`skip_post_init_if_disabled` do nothing."""
    token = _post_init_enabled.set(False)
    try:
        yield
    finally:
        _post_init_enabled.reset(token)
