"""`simulate`: many steps from the host, with a word about systems that explode."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
from jax import Array, lax

from instar.core.propagator import Repair, advance
from instar.core.utils.jax import dataclass, field
from instar.dynamics.md.containment import explosions
from instar.dynamics.md.part import Part
from instar.dynamics.md.state import State

__all__ = ["ExplosionWarning", "Observing", "advanced", "observing", "simulate", "warn_of"]


class ExplosionWarning(UserWarning):
    """A system has exploded; it is frozen as it was before, and the others go on."""


@dataclass
class Watch:
    """Observers by name, and how often they look."""

    observers: dict[str, Any]
    every: int = field(static=True)

    def __getitem__(self, name: str) -> Any:
        return self.observers[name]

    def updated(self, state: State) -> Watch:
        """After a step: every observer has had a look, if it is time."""

        def looked(observers: dict[str, Any]) -> dict[str, Any]:
            return {name: each.update(state) for name, each in observers.items()}

        due = state.step % self.every == 0
        return Watch(lax.cond(due, looked, lambda same: same, self.observers), self.every)


@dataclass
class Observing(Part):
    """A step, and after it a look at the state: trajectories do not change."""

    step: Part

    def __call__(self, key: Array, state: State, /) -> State:
        state = self.step(key, state)
        return dataclasses.replace(state, observed=state.observed.updated(state))

    def begin(self, state: State) -> State:
        """With what the step needs."""
        return self.step.begin(state)

    def stored(self, state: State) -> Array:
        """What the step stores."""
        return self.step.stored(state)


def simulate(
    method: Part,
    state: State,
    steps: int,
    *,
    seed: int = 0,
    observers: Mapping[str, Any] | None = None,
    every: int = 1,
    on_repair: Callable[[Repair], None] | None = None,
) -> State:
    """The state after that many more steps; steps go on counting from ``state.step``.

    ``method`` is a step such as `nve`, whose `begin` has prepared the state. ``observers`` look at
    the state after every ``every`` steps, inside the compiled program, and are found in
    ``state.observed``; left out, those that the state has go on. Systems that explode are frozen,
    with an `ExplosionWarning`.
    """
    if observers is not None:
        state = observing(state, observers, every)
    before = frozenset(explosion.system for explosion in explosions(state))
    state = advanced(method, state, steps, seed, on_repair)
    warn_of(state, before)
    return state


def observing(state: State, observers: Mapping[str, Any], every: int) -> State:
    """The state with observers that look every few steps."""
    if every < 1:
        raise ValueError(f"Observers look every 1 steps or more, not every {every}.")
    return dataclasses.replace(state, observed=Watch(dict(observers), every))


def advanced(
    method: Part,
    state: State,
    steps: int,
    seed: int,
    on_repair: Callable[[Repair], None] | None = None,
) -> State:
    """The state after that many more steps; nothing is said about explosions."""
    step = method if state.observed is None else Observing(method)
    key = jax.random.key(seed)
    return advance(step, key, state, steps, start=int(state.step), on_repair=on_repair)


def warn_of(state: State, known: frozenset[int], first: int = 0) -> None:
    """Warn of systems that have exploded and are not known to; the first has that number."""
    for explosion in explosions(state):
        if explosion.system not in known:
            numbered = explosion._replace(system=first + explosion.system)
            warnings.warn(str(numbered), ExplosionWarning, stacklevel=3)
