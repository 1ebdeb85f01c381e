"""`Watch`: observers in a state, each with its schedule, and `Observing`: a step that they look at.

What a run records and what it measures are the same thing: an observer that looks at the state
after some of the steps, inside of the compiled program. Trajectories do not change by it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.lens import Lens, lens
from instar.core.utils.jax import dataclass, field
from instar.dynamics.part import Part, Unless
from instar.dynamics.state import DynamicState
from instar.observables.observer import Observer

__all__ = ["Observing", "Schedule", "Watch", "observing", "place_of"]


@dataclass
class Schedule:
    """When an observer looks: every few steps, counted from the first of a stage.

    Stage s begins when ``first[s]`` steps are made, and lasts until the next one does. Its start is
    a time to look as well, unless ``after`` leaves that out. It follows the step number alone, so
    that a run that is cut in pieces is the same run. Make one with `Schedule.of`.
    """

    every: Any  # (stages,) uint32; 0 is never
    first: Any  # (stages,) uint32, ascending
    after: bool = field(static=True, default=False)

    @staticmethod
    def of(
        every: int | Sequence[int], first: int | Sequence[int] = 0, *, after: bool = False
    ) -> Schedule:
        """One spacing (steps) from a step on, or one per stage, where 0 is never."""
        spacings, begins = np.atleast_1d(np.asarray(every)), np.atleast_1d(np.asarray(first))
        least = 1 if np.ndim(every) == 0 else 0
        if np.any(spacings < least) or np.any(spacings >= 2**32):
            raise ValueError(f"Observers look every so many steps, 1 or more, not every {every}.")
        if spacings.shape != begins.shape or np.any(np.diff(begins) < 0):
            raise ValueError(f"Stages begin one after the other, each with a spacing; not {first}.")
        return Schedule(spacings.astype(np.uint32), begins.astype(np.uint32), after)

    def is_due(self, step: Array) -> Array:
        """Whether to look when so many steps are made."""
        every, first = jnp.asarray(self.every), jnp.asarray(self.first)
        is_over = jnp.append(step > first[1:], False)
        goes_on = (step > first if self.after else step >= first) & ~is_over & (every > 0)
        return jnp.any(goes_on & ((step - first) % jnp.maximum(every, np.uint32(1)) == 0))


@dataclass
class Watch:
    """Observers by name, and when each of them looks."""

    observers: dict[str, Observer]
    schedules: dict[str, Schedule]

    def __getitem__(self, name: str) -> Any:
        return self.observers[name]

    def updated(self, state: DynamicState) -> Watch:
        """After a step: every observer has had a look, if it is time."""
        looked = {
            name: _looked(observer, self.schedules[name].is_due(state.step), state)
            for name, observer in self.observers.items()
        }
        return dataclasses.replace(self, observers=looked)

    def next_due(self, step: Array, most: Any) -> Array:
        """In how many steps there is something to see, when so many are made; at most ``most``."""

        def none_is_due(ahead: Array) -> Array:
            due = [schedule.is_due(step + ahead) for schedule in self.schedules.values()]
            return (ahead < most) & ~functools.reduce(jnp.logical_or, due, jnp.zeros((), bool))

        return lax.while_loop(none_is_due, lambda ahead: ahead + 1, jnp.ones_like(step))

    @property
    def sizes(self) -> dict[str, int]:
        """Room of observers that may grow, by name."""
        return {
            f"{name}: {key}": size
            for name, observer in self._growing.items()
            for key, size in observer.sizes.items()
        }

    def resized(self, sizes: Mapping[str, int]) -> Watch:
        """With the room that the observers had elsewhere (`sizes`)."""
        grown = {
            name: observer.resized({key: sizes[f"{name}: {key}"] for key in observer.sizes})
            for name, observer in self._growing.items()
        }
        return dataclasses.replace(self, observers={**self.observers, **grown})

    @property
    def _growing(self) -> dict[str, Any]:
        return {name: one for name, one in self.observers.items() if hasattr(one, "resized")}


def _looked(observer: Any, due: Array, state: DynamicState) -> Any:
    return lax.cond(due, lambda one: one.update(state), lambda one: one, observer)


@dataclass
class Observing(Part):
    """A step, and after it a look at the state.

    Where ``waits`` is true, there is no step, but what the next one begins with is made. It is a
    number among others to the program, or None in programs that never wait.
    """

    step: Part
    waits: Any = None

    @property
    def preparing(self) -> Observing:
        """The same program, which makes what a step begins with."""
        return dataclasses.replace(self, waits=np.ones((), bool))

    def __call__(self, key: Array, state: Any, /) -> Any:
        step, state = self._waiting(state)
        state = step(key, state)
        return dataclasses.replace(state, observed=state.observed.updated(state))

    def stride(self, key: Array, state: Any, first: Any, last: Any) -> tuple[Any, Any]:
        """Steps up to the next one after which there is something to see, and a look."""
        step, state = self._waiting(state)
        if state.makes_strides:
            last = first + state.observed.next_due(state.step, last - first)
        state, number = state.stride(step, key, first, last)
        return dataclasses.replace(state, observed=state.observed.updated(state)), number

    def _waiting(self, state: Any) -> tuple[Part, Any]:
        """What to do with which state; where it waits, with the end of the step before."""
        if self.waits is None:
            return self.step, state
        before = state.step - jnp.asarray(self.waits).astype(state.step.dtype)
        return Unless(self.step, self.waits), dataclasses.replace(state, step=before)

    def begin(self, state: Any) -> Any:
        """With what the step needs."""
        return self.step.begin(state)

    def laid_out(self, state: Any) -> Any:
        """As `begin`, but what the step prepares is not computed yet."""
        return self.step.laid_out(state)

    def stored(self, state: Any) -> Array:
        """What the step stores."""
        return self.step.stored(state)


def observing[S: DynamicState](state: S, observers: Mapping[str, Observer], every: int) -> S:
    """The state with observers that look every few steps."""
    schedules = dict.fromkeys(observers, Schedule.of(every))
    watch = Watch(dict(observers), schedules)
    return dataclasses.replace(state, observed=watch)


def place_of(name: str) -> Lens[Any, Any]:
    """Where an observer with this name is in a state: what one with buffers that grow asks for."""
    return lens(lambda state: state.observed.observers[name])
