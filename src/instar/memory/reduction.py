"""Running reductions: values of frames, folded in their order, one by one.

The order is that of the frames whatever the batches are, so the result is the same to the bit
for every plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

__all__ = ["Reduction", "folded", "reduction_of"]


@dataclasses.dataclass(frozen=True)
class Reduction:
    """Where a fold starts, for values like these; its step; what it returns after n frames."""

    start: Callable[[Any], Any]
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any, int], Any]


def reduction_of(reduce: str | Callable[[Any, Any], Any], initial: Any) -> Reduction:
    """A reduction by name, or ``reduce(carry, value) -> carry`` from ``initial`` on."""
    if callable(reduce):
        if initial is None:
            raise ValueError("A reduction of your own needs initial=, the carry to start from.")
        carry = jax.tree.map(_as_given, initial)
        return Reduction(lambda _: carry, reduce, lambda carry, _: carry)
    if reduce not in _NAMED:
        raise ValueError(
            f"There is no reduction {reduce!r}; there are {', '.join(_NAMED)}, "
            "or give a function (carry, value) -> carry."
        )
    if initial is not None:
        raise ValueError(f"The reduction {reduce!r} knows where to start; leave initial out.")
    return _NAMED[reduce]


def _as_given(value: Any) -> Array:
    """A part of the carry, on the device, in its own precision."""
    given = np.asarray(value)
    if isinstance(value, np.ndarray | np.generic) and given.dtype != jnp.asarray(given).dtype:
        raise ValueError(
            f"initial is in {given.dtype}, but double precision is switched off.\n"
            "Give it in single precision, or call under jax.enable_x64(True)."
        )
    return jnp.asarray(value)


def folded(reduction: Reduction, carry: Any, values: Any, count: Array) -> Any:
    """The carry after the first ``count`` of the values along the leading axis."""

    def step(carry: Any, one: tuple[Any, Array]) -> tuple[Any, None]:
        value, counts = one
        new = reduction.step(carry, value)
        return jax.tree.map(lambda a, b: jnp.where(counts, a, b), new, carry), None

    length = jax.tree.leaves(values)[0].shape[0]
    counts = jnp.arange(length, dtype=jnp.int32) < count
    return lax.scan(step, carry, (values, counts))[0]


def _no_sum(values: Any) -> Any:
    def zeros(value: Any) -> tuple[Array, Array]:
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            raise TypeError(
                f"Values of {value.dtype} may overflow when they are added up.\n"
                "Let the function give floating-point numbers."
            )
        # Half precision can't even count: it is added up in single precision.
        wide = value.dtype if value.dtype.itemsize > 2 else jnp.float32
        return jnp.zeros(value.shape, wide), jnp.zeros(value.shape, wide)

    return jax.tree.map(zeros, values)


def _add(carry: Any, values: Any) -> Any:
    """Kahan's sum: what rounding took from the sum is kept and given back with the next value."""

    def add(value: Any, both: tuple[Array, Array]) -> tuple[Array, Array]:
        total, lost = both
        given = value.astype(total.dtype) - lost
        new = total + given
        return new, jnp.where(jnp.isfinite(new), (new - total) - given, 0)

    return jax.tree.map(add, values, carry)


def _totals(carry: Any, _: int) -> Any:
    return jax.tree.map(lambda both: both[0], carry, is_leaf=_is_pair)


def _means(carry: Any, count: int) -> Any:
    if count == 0:
        raise ValueError("The mean of no frames is not defined.")
    return jax.tree.map(lambda both: both[0] / both[0].dtype.type(count), carry, is_leaf=_is_pair)


def _is_pair(node: Any) -> bool:
    """Whether a node of a carry is a sum with what it lost."""
    return isinstance(node, tuple) and len(node) == 2 and all(hasattr(n, "dtype") for n in node)


def _extreme(sign: int) -> Reduction:
    def start(values: Any) -> Any:
        def worst(value: Any) -> Array:
            if jnp.issubdtype(value.dtype, jnp.complexfloating):
                raise TypeError("Complex numbers have no order: there is no largest of them.")
            if jnp.issubdtype(value.dtype, jnp.floating):
                end: Any = -sign * np.inf
            elif value.dtype == bool:
                end = sign < 0
            else:
                ends = jnp.iinfo(value.dtype)
                end = ends.min if sign > 0 else ends.max
            return jnp.full(value.shape, end, value.dtype)

        return jax.tree.map(worst, values)

    choose = jnp.maximum if sign > 0 else jnp.minimum
    return Reduction(start, lambda c, v: jax.tree.map(choose, c, v), _some)


def _some(carry: Any, count: int) -> Any:
    if count == 0:
        raise ValueError("The largest and the smallest of no frames are not defined.")
    return carry


_NAMED = {
    "sum": Reduction(_no_sum, _add, _totals),
    "mean": Reduction(_no_sum, _add, _means),
    "min": _extreme(-1),
    "max": _extreme(+1),
}
