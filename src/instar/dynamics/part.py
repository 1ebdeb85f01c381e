"""`Part`: what a step is made of, and `Step`: parts one after the other.

A step is a propagator of a state made of tables, whatever its kind. Parts are propagators as well;
besides, a part may add columns of its own to a state before a run, and say which energy it stores.

The program of a step also makes what the first step begins with (`unless`): where it waits, only
the parts that prepare do something. So a run needs no other program for its first forces.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import precision_of
from instar.dynamics.containment import contained
from instar.dynamics.state import DynamicState

__all__ = ["Part", "Step", "Unless", "begun", "step_of"]


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

    @property
    def prepares(self) -> bool:
        """Whether it makes what the next step begins with, such as forces, and moves nothing."""
        return False

    def unless(self, waits: Array, key: Array, state: Any) -> Any:
        """The state after this part; where it ``waits``, only what it prepares is made."""
        return lax.cond(waits, lambda state: state, lambda state: self(key, state), state)

    def begin(self, state: Any) -> Any:
        """The state with what this part needs, checked; on the host, before a run."""
        return state

    def laid_out(self, state: Any) -> Any:
        """As `begin`, but what a step prepares is not computed yet."""
        return self.begin(state)

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
        moved = self._after(range(len(self.order)), key, state)
        return self._made(state, contained(state, moved))

    @property
    def prepares(self) -> bool:
        """If one of its parts does."""
        return any(part.prepares for part in self.parts)

    def unless(self, waits: Array, key: Array, state: Any) -> Any:
        """The state after all parts; where they wait, with what they prepare."""
        moved = state
        places = range(len(self.order))
        for prepares, some in itertools.groupby(places, lambda n: self._part(n).prepares):
            if prepares:
                for place in some:
                    own = jax.random.fold_in(key, place)
                    moved = self._part(place).unless(waits, own, moved)
            else:
                moved = self._after_unless(waits, list(some), key, moved)
        return self._made(state, contained(state, moved, unless=waits))

    def _after(self, places: Iterable[int], key: Array, state: Any) -> Any:
        for place in places:
            state = self._part(place)(jax.random.fold_in(key, place), state)
        return state

    def _after_unless(self, waits: Array, places: list[int], key: Array, state: Any) -> Any:
        return lax.cond(waits, lambda state: state, lambda s: self._after(places, key, s), state)

    def _part(self, place: int) -> Part:
        return self.parts[self.order[place]]

    def begin[S: DynamicState](self, state: S) -> S:
        """The state with what all parts need."""
        with precision_of(state):
            for part in self.parts:
                state = part.begin(state)
            return self._accounted(state)

    def laid_out[S: DynamicState](self, state: S) -> S:
        """As `begin`, but what it prepares is not computed yet."""
        with precision_of(state):
            for part in self.parts:
                state = part.laid_out(state)
            return state

    def _made(self, before: Any, after: Any) -> Any:
        return self._accounted(dataclasses.replace(after, step=before.step + 1))

    def _accounted(self, state: Any) -> Any:
        return state.accounted(self.stored(state))

    def stored(self, state: Any) -> Array:
        """What all parts store."""
        total = jnp.zeros(len(state.systems), state.dtype)
        for part in self.parts:
            total += part.stored(state)
        return total


@dataclass
class Unless(Part):
    """A step, or where it ``waits`` (an array of data) only what it prepares."""

    step: Part
    waits: Any

    def __call__(self, key: Array, state: Any, /) -> Any:
        after = self.step.unless(self.waits, key, state)
        # A step that knows of no waiting does nothing then, and does not count itself either.
        number = jnp.where(self.waits, state.step + 1, after.step)
        return dataclasses.replace(after, step=number)


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
