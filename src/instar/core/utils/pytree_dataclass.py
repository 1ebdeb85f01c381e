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


def field(  # noqa: PLR0913 (the options of dataclasses.field)
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    init: bool = True,
    repr: bool = True,  # noqa: A002 (the names of dataclasses.field)
    hash: bool | None = None,  # noqa: A002
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: Any = dataclasses.MISSING,
    static: bool = False,
) -> Any:
    """Declare a field of a dataclass, as :func:`dataclasses.field`; it may be static.

    Parameters
    ----------
    default, default_factory
        The value where none is passed, or a function that makes it; at most one of the two.
    init
        Whether the field is an argument of ``__init__``.
    repr
        Whether it is shown.
    hash
        Whether it counts for the hash; by default as ``compare`` says.
    compare
        Whether it counts for equality and order.
    metadata
        What else to keep with the field.
    kw_only
        Whether it is passed by name alone; by default as the class says.
    static
        Whether it belongs to the tree structure rather than to the leaves: it is not traced, and
        another value compiles again. It must be hashable.

    Returns
    -------
    dataclasses.Field
        What to assign to the name of the field.

    Examples
    --------
    >>> @dataclass
    ... class Grid:
    ...     values: Any
    ...     order: int = field(static=True, default=4)
    >>> jax.tree.leaves(Grid(1.0))
    [1.0]
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


def lens_field(  # noqa: PLR0913 (those of field)
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    init: bool = True,
    repr: bool = True,  # noqa: A002 (the names of dataclasses.field)
    hash: bool | None = None,  # noqa: A002
    compare: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    kw_only: Any = dataclasses.MISSING,
    static: bool = False,
) -> Any:
    """Declare a :func:`field` that is a lens where it is read on the class.

    It is for ``LensField[T]`` annotations on classes with ``HasLensFields``. This only marks the
    field; ``instar.core.lens`` makes the lens.

    Parameters
    ----------
    default, default_factory, init, repr, hash, compare, metadata, kw_only, static
        As those of :func:`field`.

    Returns
    -------
    dataclasses.Field
        What to assign to the name of the field.

    Examples
    --------
    >>> from instar.core.lens import HasLensFields, LensField
    >>> @dataclass
    ... class Point(HasLensFields):
    ...     x: LensField[float] = lens_field(default=1.0)
    >>> Point.x.set(Point(), 2.0)
    Point(x=2.0)
    """
    return field(
        default=default,
        default_factory=default_factory,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        metadata={**(metadata or {}), _LENS: True},
        kw_only=kw_only,
        static=static,
    )


def is_lens_field(field: dataclasses.Field[Any]) -> bool:
    """Whether a field was declared with :func:`lens_field`."""
    return bool(field.metadata.get(_LENS, False))


@runtime_checkable
class _DataclassDecorator(Protocol):
    """What ``dataclass(...)`` with arguments returns."""

    def __call__[C](self, cls: type[C], /) -> type[C]: ...


@overload
def dataclass[C](
    cls: type[C],
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> type[C]: ...


@overload
def dataclass(
    cls: None = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> _DataclassDecorator: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field, lens_field, dataclasses.field))
def dataclass(  # noqa: PLR0913 (the options of dataclasses.dataclass)
    cls: Any = None,
    /,
    *,
    init: bool = True,
    repr: bool = True,  # noqa: A002 (the names of dataclasses.dataclass)
    eq: bool = True,
    order: bool = False,
    unsafe_hash: bool = False,
    frozen: bool = True,
    match_args: bool = True,
    kw_only: bool = False,
    slots: bool = False,
    weakref_slot: bool = False,
) -> Any:
    """Make a class a frozen dataclass and a pytree: ``@dataclass`` or ``@dataclass(option=...)``.

    A base class may define the class method ``__after_dataclass__`` to finish the new class.

    Parameters
    ----------
    cls
        The class; without it a decorator is returned.
    init, repr, eq, order
        Whether ``__init__``, ``__repr__``, ``__eq__`` and the comparisons by order are made.
    unsafe_hash
        Whether ``__hash__`` is made also where the class is not frozen.
    frozen
        Whether fields can't be assigned; other than in the standard library this is the default.
    match_args
        Whether ``__match_args__`` is made, for ``match`` statements.
    kw_only
        Whether all fields are passed by name alone.
    slots, weakref_slot
        Whether ``__slots__`` is made, and with it a slot for weak references.

    Returns
    -------
    type
        The class as a dataclass, registered with JAX: its fields are the children of a pytree,
        those with ``field(static=True)`` part of its structure.

    Examples
    --------
    >>> @dataclass
    ... class Point:
    ...     x: float
    ...     name: str = field(static=True, default="p")
    >>> jax.tree.map(lambda leaf: leaf + 1, Point(2.0))
    Point(x=3.0, name='p')
    """
    standard = dataclasses.dataclass(
        init=init,
        repr=repr,
        eq=eq,
        order=order,
        unsafe_hash=unsafe_hash,
        frozen=frozen,
        match_args=match_args,
        kw_only=kw_only,
        slots=slots,
        weakref_slot=weakref_slot,
    )

    def decorate(cls: type[Any]) -> type[Any]:
        return _registered(standard(cls))

    return decorate if cls is None else decorate(cls)


def _registered(cls: type[Any]) -> type[Any]:
    """A dataclass as a pytree, finished by what its base class defines."""
    _register(cls)
    finish = getattr(cls, "__after_dataclass__", None)
    if finish is not None:
        finish()
    return cls


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
