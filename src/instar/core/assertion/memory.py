"""What a loop carries along of the checks in its body.

A check in a loop fails if it fails in any step, and reports the values of the first step in
which it failed. The steps before that must cost next to nothing: all predicates are joined into
one, and only when that is false does a branch look closer. What is remembered is packed into
one array of steps and one of values for each dtype, since a compiled loop pays for each array
that it carries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from instar.core.assertion.description import NEVER, Check, Description
from instar.core.utils.jax_compat import varies_over, vary_over

__all__ = ["Memory"]


class Memory:
    """How the checks of one loop body are kept from step to step."""

    def __init__(self, loop: str, checks: Sequence[tuple[Description, Sequence[Any]]]) -> None:
        self._loop = loop
        self._infos = [info for info, _ in checks]
        self._avals = [list(avals) for _, avals in checks]
        self._axes = frozenset[str]().union(
            *(varies_over(a) for avals in self._avals for a in avals)
        )

    def empty(self) -> list[Array]:
        """Nothing has failed yet."""
        return self._pack(
            [
                [jnp.full(avals[0].shape, NEVER), *(jnp.zeros(a.shape, a.dtype) for a in avals[1:])]
                for avals in self._avals
            ]
        )

    def after(self, step: Array, memory: Sequence[Array], checks: Sequence[Check]) -> list[Array]:
        """The memory after a step in which these checks were met."""
        if not checks:
            return list(memory)

        def look_closer(memory: Sequence[Array]) -> list[Array]:
            return self._pack(
                [
                    _first_failure(check, kept, step)
                    for check, kept in zip(checks, self._unpack(memory), strict=True)
                ]
            )

        if jax.default_backend() != "cpu":  # a branch there waits for the device
            return look_closer(memory)
        fine = jnp.stack([jnp.all(check.predicate) for check in checks]).all()
        return lax.cond(fine, list, look_closer, list(memory))

    def checks(self, memory: Sequence[Array]) -> list[Check]:
        """The checks as they are seen from outside of the loop."""
        return [
            Check(
                info.inside(self._loop),
                [first == NEVER, *kept[: info.num_values], first, *kept[info.num_values :]],
            )
            for info, (first, *kept) in zip(self._infos, self._unpack(memory), strict=True)
        ]

    def _shapes(self) -> list[list[tuple[Any, tuple[int, ...]]]]:
        """For each check: dtype and shape of its first failing step and of its values."""
        return [
            [(NEVER.dtype, avals[0].shape), *((a.dtype, a.shape) for a in avals[1:])]
            for avals in self._avals
        ]

    def _dtypes(self) -> list[Any]:
        return sorted({dtype for check in self._shapes() for dtype, _ in check}, key=str)

    def _pack(self, kept: Sequence[Sequence[Array]]) -> list[Array]:
        """One flat array for each dtype, all varying over the same axes of a mesh."""
        arrays = [vary_over(self._axes, array) for check in kept for array in check]
        return [
            lax.concatenate([a.reshape(-1) for a in arrays if a.dtype == dtype], 0)
            for dtype in self._dtypes()
        ]

    def _unpack(self, memory: Sequence[Array]) -> list[list[Array]]:
        taken = dict.fromkeys(self._dtypes(), 0)
        packed = dict(zip(taken, memory, strict=True))

        def take(dtype: Any, shape: tuple[int, ...]) -> Array:
            start = taken[dtype]
            taken[dtype] = start + math.prod(shape)
            return lax.slice(packed[dtype], (start,), (taken[dtype],)).reshape(shape)

        return [[take(*entry) for entry in check] for check in self._shapes()]


def _first_failure(check: Check, kept: Sequence[Array], step: Array) -> list[Array]:
    """First failing step by entry; values by lane of a batch, as of its first failing step."""
    first, *values = kept
    failing = ~check.predicate
    own = tuple(range(first.ndim - check.info.rank, first.ndim))
    new = failing.any(own) & (first == NEVER).all(own)
    return [
        jnp.where(failing & (first == NEVER), step, first),
        *(
            jnp.where(_expand(new, old), fresh, old)
            for fresh, old in zip(check.operands[1:], values, strict=True)
        ),
    ]


def _expand(lanes: Array, like: Array) -> Array:
    shape = (*lanes.shape, *(1,) * (like.ndim - lanes.ndim))
    return jnp.broadcast_to(lanes.reshape(shape), like.shape)
