"""Sizes of buffers inside compiled code: what happens when one is too small.

A capacity states that its size suffices for a need. A `FixedCapacity` only checks; a
`LensCapacity` carries the repair, which writes a larger size into the state; a
`MultipliedCapacity` lets several buffers share one number.

All of them are generic in the type of their size, most often ``int``, so that a type checker knows
what ``size`` is: a ``LensCapacity[State, int]`` has an ``int``, and so has its ``multiply(3)``.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.assertion import is_collecting, runtime_assert
from instar.core.lens import Lens
from instar.core.utils.jax_compat import current_trace, is_evaluating
from instar.core.utils.pytree_dataclass import dataclass, field
from instar.core.utils.transforms import is_traced, within_32_bits

__all__ = [
    "Capacity",
    "CapacityError",
    "FixedCapacity",
    "LensCapacity",
    "LensCapacityFix",
    "MultipliedCapacity",
    "sum_over_capacity",
]

_MESSAGE = "Insufficient capacity: {needed} > {size}."


class CapacityError(ValueError):
    """A capacity was exceeded, and nobody repaired it."""


@runtime_checkable
class Capacity[Value](Protocol):
    """How much room a buffer has, and what to do when it needs more."""

    @property
    def size(self) -> Value:
        """The room: an int, or a tree of ints for several buffers that resize on their own."""
        ...

    def generate_assertion(self, required_capacity: Any) -> Capacity[Value]:
        """State that the room suffices for this need; returns the capacity to go on with."""
        ...

    def multiply(self, factor: int) -> Capacity[Value]:
        """A capacity for ``factor`` times as much."""
        ...


@dataclass
class FixedCapacity[Value]:
    """A size that never changes: too large a need is an error.

    Outside of compiled code, while nothing collects checks, the error is raised at once.

    Parameters
    ----------
    size
        The room: an int, or a tree of ints.
    error_msg
        What the user can do about it, as a second line of the error.

    Examples
    --------
    >>> FixedCapacity(3).generate_assertion(5)
    Traceback (most recent call last):
    instar.core.capacity.CapacityError: Insufficient capacity: 5 > 3.
    """

    size: Value = field(static=True)
    error_msg: str = field(static=True, default="")

    def generate_assertion(self, required_capacity: Any) -> FixedCapacity[Value]:
        """State that ``size`` suffices for the largest of ``required_capacity``."""
        message = _MESSAGE
        if self.error_msg:
            message += "\n" + self.error_msg.replace("{", "{{").replace("}", "}}")
        needs = _needs(required_capacity, self.size)
        if not _is_tracing(required_capacity) and not is_collecting():
            for needed, size in zip(_integers(needs), jax.tree.leaves(self.size), strict=True):
                if needed > size:
                    raise CapacityError(message.format(needed=needed, size=size))
            return self
        _assert_room(needs, self.size, message)
        return self

    def multiply(self, factor: int) -> FixedCapacity[Value]:
        """A fixed capacity of ``factor`` times the size, with the same message."""
        return FixedCapacity(_scaled(self.size, factor), self.error_msg)


@dataclass
class LensCapacityFix[State, Value]:
    """The repair of a capacity: the size, wherever the lens finds it, grows to the target.

    Parameters
    ----------
    lens
        Where in the state the size is.

    Examples
    --------
    >>> from instar.core.lens import lens
    >>> LensCapacityFix(lens(lambda s: s["room"])).fix({"room": 100}, 256)
    {'room': 256}
    """

    lens: Lens[State, Value] = field(static=True)

    def fix(self, state: State, target_capacity: Any) -> State:
        """The state with each size at least at its target; a size never shrinks."""
        present = self.lens.get(state)
        leaves, structure = jax.tree.flatten(present)
        target = np.asarray(target_capacity)
        each = target if target.ndim else np.full(len(leaves), target)
        targets = _within_limits(_needs(each, present))
        grown = [max(int(size), target) for size, target in zip(leaves, targets, strict=True)]
        return self.lens.set(state, jax.tree.unflatten(structure, grown))

    def __call__(self, state: State, target_capacity: Any) -> State:
        return self.fix(state, target_capacity)


@dataclass
class LensCapacity[State, Value]:
    """A size that grows: the repair writes the new one through ``size_lens`` into the state.

    Parameters
    ----------
    size
        The room now: an int, or a tree of ints.
    size_lens
        Where in the state the size is.
    base
        With ``base`` > 1 sizes are powers of it, so that few different ones are ever compiled;
        with ``base`` <= 1 a size becomes exactly what is needed.

    Examples
    --------
    >>> from instar.core.lens import lens
    >>> LensCapacity(100, lens(lambda s: s["room"])).generate_assertion(150).size
    256
    """

    size: Value = field(static=True)
    size_lens: Lens[State, Value] = field(static=True)
    base: float = field(static=True, default=2.0)

    def generate_assertion(self, required_capacity: Any) -> LensCapacity[State, Value]:
        """State that the size suffices; grown at once outside of tracing, by the repair in it."""
        needs = _needs(required_capacity, self.size)
        targets = _targets(needs, self.size, self.base)
        _assert_room(needs, self.size, _MESSAGE, LensCapacityFix(self.size_lens), targets)
        if _is_tracing(required_capacity):
            return self
        leaves, structure = jax.tree.flatten(self.size)
        grown = [max(pair) for pair in zip(leaves, _within_limits(targets), strict=True)]
        return LensCapacity(jax.tree.unflatten(structure, grown), self.size_lens, self.base)

    def multiply(self, factor: int) -> MultipliedCapacity[Value]:
        """A view of ``factor`` times the size, that grows this one."""
        return MultipliedCapacity(self, factor)


@dataclass
class MultipliedCapacity[Value]:
    """A scaled view of another capacity, so that buffers in a fixed ratio share one number.

    Parameters
    ----------
    base_capacity
        The capacity that is checked and grows.
    factor
        How many times its size this has.

    Examples
    --------
    >>> MultipliedCapacity(FixedCapacity(100), 3).size
    300
    """

    base_capacity: Capacity[Value]
    factor: int = field(static=True)

    def __post_init__(self) -> None:
        if int(self.factor) != self.factor or self.factor < 1:
            raise ValueError(f"A capacity is multiplied by a whole number, not by {self.factor}.")

    @property
    def size(self) -> Value:
        """The base's size times the factor, each of them."""
        return _scaled(self.base_capacity.size, self.factor)

    def generate_assertion(self, required_capacity: Any) -> MultipliedCapacity[Value]:
        """State that the base suffices for the need divided by the factor."""
        shared = -(-_needs(required_capacity, self.size) // np.int32(self.factor))
        if _is_single(self.size):
            shared = shared[0]
        return MultipliedCapacity(self.base_capacity.generate_assertion(shared), self.factor)

    def multiply(self, factor: int) -> MultipliedCapacity[Value]:
        """A view of this view."""
        return MultipliedCapacity(self, factor)


def sum_over_capacity(values: Any, axis: int = 0, where: Any = None) -> Any:
    """The sum along an axis whose length is a capacity, in an order that room does not change.

    The upper half is added onto the lower half until one entry is left. Room at the end is zero
    and so changes nothing: the result is the same to the bit for every length that suffices.
    ``where`` says which entries count; the others are taken as zero.
    """
    values = jnp.asarray(values)
    if where is not None:
        values = jnp.where(where, values, jnp.zeros_like(values))
    if not jnp.issubdtype(values.dtype, jnp.inexact):
        return jnp.sum(values, axis)  # exact in any order
    length = 1 << max(0, values.shape[axis] - 1).bit_length()
    room = [(0, 0)] * values.ndim
    room[axis] = (0, length - values.shape[axis])
    values = jnp.pad(values, room)
    while length > 1:
        length //= 2
        lower = jax.lax.slice_in_dim(values, 0, length, axis=axis)
        values = lower + jax.lax.slice_in_dim(values, length, 2 * length, axis=axis)
    return _without_sign_of_zero(jax.lax.squeeze(values, (axis % values.ndim,)))


@jax.custom_jvp
def _without_sign_of_zero(x: Any) -> Any:
    """Without room a sum of -0 is -0, with room it is 0."""
    return jnp.where(x == 0, jnp.zeros_like(x), x)


@_without_sign_of_zero.defjvp
def _identity_derivative(primals: Any, tangents: Any) -> Any:
    return _without_sign_of_zero(*primals), *tangents


def _is_tracing(required: Any) -> bool:
    return is_traced(required) or not is_evaluating(current_trace())


def _is_single(size: Any) -> bool:
    return jax.tree_util.treedef_is_leaf(jax.tree.structure(size))


def _needs(required: Any, size: Any) -> Any:
    """The largest need of each size in 32 bits, as one flat array; NumPy's on the host.

    Fractions are rounded up; what is not a number exceeds any size.
    """
    module: Any = jnp if is_traced(required) else np
    needs = module.asarray(required)
    count = jax.tree.structure(size).num_leaves
    if _is_single(size):
        needs = needs.reshape(-1, 1)
    elif needs.ndim and needs.shape[-1] == count:
        needs = needs.reshape(-1, count)
    else:
        raise ValueError(
            f"A need of shape {needs.shape} fits no capacity of {count} sizes.\n"
            f"Its last dimension must be {count}, in the order of {size}."
        )
    if module.issubdtype(needs.dtype, np.inexact):
        needs = module.ceil(module.where(module.isnan(needs), np.inf, needs))
        ends = np.iinfo(np.int32)
        beyond = needs >= np.float32(2**31)
        needs = module.clip(needs, ends.min, np.float32(2**31 - 128))
        needs = module.where(beyond, ends.max, needs.astype(np.int32))
    return within_32_bits(needs).max(axis=0, initial=np.int32(0))


def _assert_room(needs: Any, size: Any, message: str, fix: Any = None, targets: Any = None) -> None:
    """One check for all sizes; it speaks of the first that is too small."""
    sizes = np.array(jax.tree.leaves(size), np.int32)
    fits = jnp.asarray(needs) <= sizes
    worst = jnp.argmin(fits)
    runtime_assert(
        fits.all(),
        message,
        fmt_args={
            "needed": jnp.asarray(needs)[worst],
            "size": size if _is_single(size) else jnp.asarray(sizes)[worst],
        },
        exception_type=CapacityError,
        fix_fn=fix,
        fix_args=targets if targets is None or not _is_single(size) else targets[0],
    )


def _targets(needs: Any, size: Any, base: float) -> Any:
    """The size to grow to, for each that is too small; 0 for the others."""
    module: Any = jnp if is_traced(needs) else np
    sizes = np.array(jax.tree.leaves(size), np.int32)
    grid = _grid(base)
    grown = needs if base <= 1 else module.asarray(grid)[module.searchsorted(grid, needs)]
    return module.where(needs <= sizes, np.int32(0), grown)


@functools.cache
def _grid(base: float) -> np.ndarray:
    """The powers of ``base``, rounded up, within 32 bits."""
    if base <= 1:
        return np.zeros(0, np.int32)
    largest = int(np.iinfo(np.int32).max)
    count = math.ceil(math.log(largest) / math.log(base)) + 1
    powers = np.ceil(np.minimum(np.float64(base) ** np.arange(count), largest))
    return np.unique(np.append(powers, largest)).astype(np.int32)


def _integers(array: Any) -> list[int]:
    return [int(x) for x in np.asarray(array)]


def _within_limits(targets: Any) -> list[int]:
    sizes = _integers(targets)
    if max(sizes, default=0) == np.iinfo(np.int32).max:
        raise CapacityError(
            "A capacity can't grow beyond 2³¹ - 1.\n"
            "The need was larger, infinite, or not a number; look at what it is computed from."
        )
    return sizes


def _scaled[V](size: V, factor: int) -> V:
    return jax.tree.map(lambda leaf: math.ceil(leaf * factor), size)
