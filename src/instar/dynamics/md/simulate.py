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

__all__ = ["ExplosionWarning", "Observing", "simulate"]


class ExplosionWarning(UserWarning):
    """A system has exploded; it is frozen as it was before, and the others go on."""


@dataclass
class Observing(Part):
    """A step, and after every few of them a look at the state: trajectories do not change.

    ``state.observed`` is a mapping of observers; each is brought up to date.
    """

    step: Part
    every: int = field(static=True)

    def __call__(self, key: Array, state: State, /) -> State:
        state = self.step(key, state)

        def looked(state: State) -> Any:
            return {name: each.update(state) for name, each in state.observed.items()}

        due = state.step % self.every == 0
        observed = lax.cond(due, looked, lambda state: state.observed, state)
        return dataclasses.replace(state, observed=observed)

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

    ``method`` is a step such as `nve`, whose `begin` has prepared the state. ``observers`` are
    updated after every ``every`` steps, inside the compiled program; with None those that the state
    has go on. Systems that explode are frozen, with an `ExplosionWarning`.
    """
    if observers is not None:
        state = dataclasses.replace(state, observed=dict(observers))
    before = {explosion.system for explosion in explosions(state)}
    step = Observing(method, every) if state.observed else method
    key = jax.random.key(seed)
    state = advance(step, key, state, steps, start=int(state.step), on_repair=on_repair)
    for explosion in explosions(state):
        if explosion.system not in before:
            warnings.warn(str(explosion), ExplosionWarning, stacklevel=2)
    return state
