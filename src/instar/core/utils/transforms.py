"""JAX transforms, typed so that a checker keeps the signature of what is wrapped."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, cast, overload, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.custom_batching import sequential_vmap

from instar.core.utils.jax_compat import jit_options
from instar.core.utils.shapes import Bool, Int

__all__ = [
    "Jitted",
    "NotJaxCompatibleError",
    "is_traced",
    "isin",
    "jit",
    "key_chain",
    "linearize",
    "no_jax_tracing",
    "non_differentiable",
    "sequential_vmap_with_vjp",
    "shard_map",
    "vectorize",
    "within_32_bits",
]


class NotJaxCompatibleError(TypeError):
    """A host-only function was called with a value that is being traced."""


@runtime_checkable
class Jitted[**P, R](Protocol):
    """A compiled function: call it, or look at how it is traced and lowered."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Lower for these arguments without running; ``.compile()`` on the result compiles."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Trace for these arguments; ``.jaxpr`` of the result is the program."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Shapes and dtypes of the result, without computing it."""
        ...

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        ...


@runtime_checkable
class _Decorator(Protocol):
    """A decorator that keeps the signature."""

    def __call__[**P, R](self, fn: Callable[P, R], /) -> Callable[P, R]: ...


@runtime_checkable
class _JitDecorator(Protocol):
    def __call__[**P, R](self, fn: Callable[P, R], /) -> Jitted[P, R]: ...


# Named apart from JAX's own defaults: sharding's "unspecified" has no public name.
_UNSPECIFIED: Any = type("Unspecified", (), {"__repr__": lambda self: "<unspecified>"})()

_JIT_DEFAULTS: dict[str, Any] = {
    "in_shardings": _UNSPECIFIED,
    "out_shardings": _UNSPECIFIED,
    "static_argnums": None,
    "static_argnames": None,
    "donate_argnums": None,
    "donate_argnames": None,
    "keep_unused": False,
    "device": None,
    "backend": None,
    "inline": False,
    "abstracted_axes": None,
    "compiler_options": None,
}


@overload
def jit[**P, R](fn: Callable[P, R], /, **options: Any) -> Jitted[P, R]: ...


@overload
def jit(
    fn: None = None,
    /,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: Any = False,
    abstracted_axes: Any = None,
    compiler_options: dict[str, Any] | None = None,
) -> _JitDecorator: ...


def jit(fn: Any = None, **options: Any) -> Any:
    """Compile a function: ``@jit`` or ``@jit(static_argnames="n")``; options as :func:`jax.jit`.

    An option that the installed JAX no longer has is accepted at its default.
    """
    unknown = sorted(set(options) - set(_JIT_DEFAULTS))
    if unknown:
        known = ", ".join(_JIT_DEFAULTS)
        raise TypeError(f"jit has no option {unknown[0]!r}.\nIt takes: {known}.")
    given = {k: v for k, v in options.items() if v is not _JIT_DEFAULTS[k]}
    kept = jit_options(given, _JIT_DEFAULTS)
    return (lambda fn: jax.jit(fn, **kept)) if fn is None else jax.jit(fn, **kept)


@overload
def vectorize[**P, R](
    fn: Callable[P, R], /, *, excluded: Iterable[int | str] = ..., signature: str | None = None
) -> Callable[P, R]: ...


@overload
def vectorize(
    fn: None = None, /, *, excluded: Iterable[int | str] = ..., signature: str | None = None
) -> _Decorator: ...


def vectorize(
    fn: Any = None, /, *, excluded: Iterable[int | str] = (), signature: str | None = None
) -> Any:
    """:func:`jax.numpy.vectorize`, bare or with arguments."""

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        return jnp.vectorize(fn, excluded=frozenset(excluded), signature=signature)

    return decorate if fn is None else decorate(fn)


@overload
def shard_map[**P, R](
    fn: Callable[P, R],
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Any = None,
    axis_names: Iterable[str] = ...,
    check_vma: bool = True,
) -> Callable[P, R]: ...


@overload
def shard_map(
    fn: None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Any = None,
    axis_names: Iterable[str] = ...,
    check_vma: bool = True,
) -> _Decorator: ...


def shard_map(
    fn: Any = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = _UNSPECIFIED,
    mesh: Any = None,
    axis_names: Iterable[str] = (),
    check_vma: bool = True,
) -> Any:
    """:func:`jax.shard_map`, bare or with arguments."""
    options: dict[str, Any] = {} if in_specs is _UNSPECIFIED else {"in_specs": in_specs}

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        return jax.shard_map(
            fn,
            out_specs=out_specs,
            mesh=mesh,
            axis_names=frozenset(axis_names),
            check_vma=check_vma,
            **options,
        )

    return decorate if fn is None else decorate(fn)


@overload
def linearize[R](
    fn: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...


@overload
def linearize[R, A](
    fn: Callable[..., tuple[R, A]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], A]: ...


def linearize(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """``(output, jvp)`` at ``primals``; with ``has_aux`` ``(output, jvp, aux)``."""
    return jax.linearize(fn, *primals, has_aux=has_aux)


def is_traced(x: object) -> bool:
    """Whether any leaf of ``x`` is being traced, and so has no value yet."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


def no_jax_tracing[**P, R](fn: Callable[P, R]) -> Callable[P, R]:
    """Decorator for host-only functions: a traced argument raises `NotJaxCompatibleError`."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_traced((args, kwargs)):
            raise NotJaxCompatibleError(
                f"{fn.__qualname__} works on the host and can't be traced.\n"
                "Call it outside of jit, vmap, grad and scan, or pass it concrete values."
            )
        return fn(*args, **kwargs)

    return wrapper


@jax.custom_jvp
def _refuse_derivative(x: Any) -> Any:
    return x


@_refuse_derivative.defjvp
def _refuse_derivative_jvp(primals: Any, tangents: Any) -> Any:
    raise NotImplementedError("This value is declared non-differentiable (non_differentiable).")


def non_differentiable[T](x: T) -> T:
    """Identity; any differentiation through it raises `NotImplementedError`."""
    return cast(T, _refuse_derivative(x))


def sequential_vmap_with_vjp[**P, R](func: Callable[P, R]) -> Callable[P, R]:
    """Under ``vmap`` the batch runs one entry at a time, in the backward pass too.

    The backward pass evaluates ``func`` again rather than keeping its intermediates. Integer
    arguments get no derivative; keyword arguments are taken by their place in the signature.
    """
    one_at_a_time = sequential_vmap(cast(Any, func))

    def pull_back(args: tuple[Any, ...], cotangent: Any) -> list[Any]:
        leaves, structure = jax.tree.flatten(args)
        smooth = [i for i, leaf in enumerate(leaves) if _is_inexact(leaf)]

        def of_smooth(*values: Any) -> Any:
            replaced = dict(zip(smooth, values, strict=True))
            filled = [replaced.get(i, leaf) for i, leaf in enumerate(leaves)]
            return cast(Any, func)(*jax.tree.unflatten(structure, filled))

        return list(jax.vjp(of_smooth, *(leaves[i] for i in smooth))[1](cotangent))

    @jax.custom_vjp
    def call(*args: Any) -> Any:
        return one_at_a_time(*args)

    def forward(*args: Any) -> tuple[Any, tuple[Any, ...]]:
        return call(*args), args  # itself, so that a second derivative finds the rule again

    def backward(args: tuple[Any, ...], cotangent: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        smooth = iter(sequential_vmap_with_vjp(pull_back)(args, cotangent))
        cotangents = [
            next(smooth) if _is_inexact(leaf) else np.zeros(jnp.shape(leaf), jax.dtypes.float0)
            for leaf in leaves
        ]
        return jax.tree.unflatten(structure, cotangents)

    call.defvjp(forward, backward)

    @functools.wraps(func)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs:
            return call(*args)
        bound = inspect.signature(func).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{func.__qualname__} has keyword-only arguments, which can't be batched.\n"
                f"Bind them first, with functools.partial: {', '.join(bound.kwargs)}."
            )
        return call(*bound.args)

    return wrapper


def _is_inexact(leaf: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


def isin(a: Any, b: Any, max_item: int) -> Bool[Array, "..."]:
    """Which entries of ``a`` occur in ``b``, by one table of ``max_item`` flags.

    Entries of either that are negative or not below ``max_item`` match nothing.
    """
    present = jnp.zeros(max_item + 1, bool).at[_bounded(b, max_item)].set(True)
    return present.at[max_item].set(False)[_bounded(a, max_item)]


def within_32_bits(items: Any) -> Any:
    """Integers in 32 bits; those beyond are brought to the ends of the range, not wrapped around.

    Works with NumPy on what is on the host, with JAX on arrays.
    """
    module: Any = jnp if isinstance(items, jax.Array) else np
    items = module.asarray(items)
    if items.size and items.dtype.kind in "iu" and items.dtype.itemsize >= 4:
        own, ends = np.iinfo(items.dtype), np.iinfo(np.int32)
        lowest, highest = max(own.min, ends.min), min(own.max, ends.max)
        items = module.clip(items, *np.array([lowest, highest], items.dtype))
    return items.astype(np.int32)


def _bounded(items: Any, max_item: int) -> Int[Array, "..."]:
    """The items in 32 bits, ``max_item`` for those that are out of range."""
    items = jnp.asarray(within_32_bits(items))
    return jnp.where((items >= 0) & (items < max_item), items, max_item)


def key_chain(rng: Array, shape: SupportsIndex | Sequence[int] = ()) -> Iterator[Array]:
    """Endless stream of PRNG keys: the i-th is ``fold_in(rng, i)``, split to ``shape`` if given."""
    size = tuple(shape) if isinstance(shape, Sequence) else (operator.index(shape),)
    for i in itertools.count():
        key = jax.random.fold_in(rng, i)
        yield jax.random.split(key, size) if size else key
