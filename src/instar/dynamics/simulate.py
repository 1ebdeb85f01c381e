"""`simulate`: many steps from the host, with a word about systems that explode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from instar.core.propagator import Repair, advance
from instar.core.utils.precision import precision_of
from instar.dynamics.containment import explosions
from instar.dynamics.observing import Observing, observing
from instar.dynamics.part import Part
from instar.dynamics.state import DynamicState
from instar.dynamics.streams import key_of

__all__ = ["ExplosionWarning", "advanced", "simulate", "warn_of"]


class ExplosionWarning(UserWarning):
    """A system has exploded; it is frozen as it was before, and the others go on."""


def simulate[S: DynamicState](
    method: Part,
    state: S,
    steps: int,
    *,
    seed: int = 0,
    observers: Mapping[str, Any] | None = None,
    every: int = 1,
    on_repair: Callable[[Repair], None] | None = None,
) -> S:
    """The state after that many more steps; steps go on counting from ``state.step``.

    ``method`` is a step such as `nve`, whose `begin` has prepared the state. ``observers`` look at
    the state after every ``every`` steps, inside the compiled program, and are found in
    ``state.observed``; left out, those that the state has go on. Systems that explode are frozen,
    with an `ExplosionWarning`.
    """
    with precision_of(state):
        if observers is not None:
            state = observing(state, observers, every)
        before = frozenset(explosion.system for explosion in explosions(state))
        state = advanced(method, state, steps, seed, on_repair)
        warn_of(state, before)
    return state


def advanced[S: DynamicState](
    method: Part,
    state: S,
    steps: int,
    seed: int,
    on_repair: Callable[[Repair], None] | None = None,
) -> S:
    """The state after that many more steps; nothing is said about explosions."""
    step = method if state.observed is None else Observing(method)
    key = key_of(seed)
    return advance(step, key, state, steps, start=int(state.step), on_repair=on_repair)


def warn_of(state: DynamicState, known: frozenset[int], first: int = 0) -> None:
    """Warn of systems that have exploded and are not known to; the first has that number."""
    for explosion in explosions(state):
        if explosion.system not in known:
            numbered = explosion._replace(system=first + explosion.system)
            warnings.warn(str(numbered), ExplosionWarning, stacklevel=3)
