"""`Part`: what a step is made of, and `Step`: parts one after the other.

A step is a propagator of a state made of tables, whatever its kind. Parts are propagators as well;
besides, a part may add columns of its own to a state before a run, and say which energy it stores.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import precision_of
from instar.dynamics.containment import contained
from instar.dynamics.state import DynamicState

__all__ = ["Part", "Step", "begun", "step_of"]


@dataclass
class Part:
    """One part of a step: ``(key, state) -> state``; abstract."""

    def __call__(self, key: Array, state: Any, /) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does nothing.")

    def stride(self, key: Array, state: Any, first: Any, last: Any) -> tuple[Any, Any]:
        """One step, or several before ``last`` where that is faster; and the next number.

        Step n has the key ``fold_in(key, n)``.
        """
        return state.stride(self, key, first, last)

    def begin(self, state: Any) -> Any:
        """The state with what this part needs, checked; on the host, before a run."""
        return state

    def stored(self, state: Any) -> Array:
        """Energy (systems,) in eV that belongs to the conserved quantity."""
        return jnp.zeros(len(state.systems), state.dtype)


@dataclass
class Step(Part):
    """Parts in their order, each with a key of its own; then the step counts as made.

    A system that is no longer finite afterwards stays as it was before (`contained`).
    """

    parts: tuple[Part, ...]
    order: tuple[int, ...] = field(static=True)

    def __call__[S: DynamicState](self, key: Array, state: S, /) -> S:
        moved = state
        for place, number in enumerate(self.order):
            moved = self.parts[number](jax.random.fold_in(key, place), moved)
        moved = contained(state, moved)
        return self._accounted(dataclasses.replace(moved, step=state.step + 1))

    def begin[S: DynamicState](self, state: S) -> S:
        """The state with what all parts need."""
        with precision_of(state):
            for part in self.parts:
                state = part.begin(state)
            return self._accounted(state)

    def _accounted(self, state: Any) -> Any:
        return state.accounted(self.stored(state))

    def stored(self, state: Any) -> Array:
        """What all parts store."""
        total = jnp.zeros(len(state.systems), state.dtype)
        for part in self.parts:
            total += part.stored(state)
        return total


def begun[T](column: T | None) -> T:
    """A method's own column of a state; an error if `begin` has not put it there."""
    if column is None:
        raise ValueError(
            "The state lacks what this method needs.\n"
            "Prepare it first: state = method.begin(state)."
        )
    return column


def step_of(*parts: Part) -> Step:
    """A step that does these parts in this order.

    Numbers of the parts become arrays, so that a program need not be compiled again for other ones.

    Parameters
    ----------
    *parts
        Such as `Kick`, `Drift` and `Forces`; one and the same part may come twice.

    Returns
    -------
    Step
        What `simulate` takes.

    Examples
    --------
    Velocity Verlet:

    >>> from instar import md
    >>> from instar.units import fs
    >>> kick = md.Kick(1 * fs)
    >>> verlet = md.step_of(kick, md.Drift(2 * fs), md.Forces(), kick)
    >>> verlet.order
    (0, 1, 2, 0)
    """
    different = {id(part): part for part in parts}
    places = {name: place for place, name in enumerate(different)}
    order = tuple(places[id(part)] for part in parts)
    return Step(jax.tree.map(_as_array, tuple(different.values())), order)


def _as_array(knob: Any) -> Any:
    return knob if isinstance(knob, jax.Array) else np.asarray(knob, float)
