"""Transforms of our own, typed so that a checker keeps the signature of what is wrapped."""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex, cast, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer
from jax.custom_batching import sequential_vmap

from instar.core.utils.shapes import Bool, Int

__all__ = [
    "NotJaxCompatibleError",
    "is_traced",
    "isin",
    "key_chain",
    "linearize",
    "no_jax_tracing",
    "non_differentiable",
    "sequential_vmap_with_vjp",
    "within_32_bits",
]


class NotJaxCompatibleError(TypeError):
    """A host-only function was called with a value that is being traced."""


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
