"""Tangents: how the values of a function change when particles move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from instar.statefunc.state import State

if TYPE_CHECKING:
    from instar.statefunc.node import StateFunction

__all__ = ["along_axes", "values_at"]


def values_at(function: StateFunction, state: State, coordinates: tuple[Any, ...]) -> Any:
    """The values of a function with the particles at other coordinates."""
    return state.whole(function.values_at(state.moved(coordinates)), function.pdepth)


def along_axes(function: StateFunction, state: State, moves: Sequence[Any]) -> Any:
    """How values change when the particles for which ``moves`` is 1 move along each axis.

    ``moves`` has an entry for each array of coordinates; the new axis is the last of space.
    """
    xs = state.coordinates

    def along(axis: Any) -> Any:
        shaped = axis.reshape(-1, *(1,) * (xs[0].ndim - 1))
        tangents = tuple(
            jnp.broadcast_to(shaped * move, x.shape) for x, move in zip(xs, moves, strict=True)
        )
        return jax.jvp(lambda *new: values_at(function, state, new), xs, tangents)[1]

    axes = jnp.eye(len(xs[0]), dtype=state.dtype)
    return jax.vmap(along, out_axes=function.rank)(axes)
