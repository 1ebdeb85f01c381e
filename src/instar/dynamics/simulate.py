"""`simulate`: many steps from the host, with a word about systems that explode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from instar.core.propagator import Repair, advance
from instar.core.utils.precision import precision_of
from instar.core.utils.random import key_of
from instar.dynamics.containment import explosions
from instar.dynamics.observing import Observing, observing
from instar.dynamics.part import Part
from instar.dynamics.state import DynamicState, check_state
from instar.observables.observer import Observer

__all__ = ["ExplosionWarning", "advanced", "simulate", "warn_of"]


class ExplosionWarning(UserWarning):
    """A system has exploded; it is frozen as it was before, and the others go on."""


def simulate[S: DynamicState](
    method: Part,
    state: S,
    steps: int,
    *,
    seed: int = 0,
    observers: Mapping[str, Observer] | None = None,
    every: int = 1,
    on_repair: Callable[[Repair], None] | None = None,
) -> S:
    """The state after that many more steps of a method, as one compiled program.

    Steps go on counting from ``state.step``, so that two calls of 50 steps are one of 100. Systems
    that explode are frozen, with an `ExplosionWarning`; buffers that are too small grow, which
    does not change the result.

    Parameters
    ----------
    method
        A step such as `instar.md.nve` makes; one with variables of its own prepares the state
        first: ``state = method.begin(state)``.
    state
        Such as `instar.md_state` makes.
    steps
        How many more steps.
    seed
        Of random numbers; every system draws from a stream of its own.
    observers
        Observers by name, which look at the state inside the compiled program and are found in
        ``state.observed.observers``; left out, those that the state has go on.
    every
        Steps between two looks.
    on_repair
        Called with a `Repair` when something has grown.

    Returns
    -------
    State
        Of the kind that was given.

    Raises
    ------
    CapacityError
        If something is too small that can't grow.
    TypeError
        If it is given structures, not a state.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, temperature=40.0)
    >>> int(instar.md.simulate(instar.md.nve(2 * instar.units.fs), state, 10).step)
    10
    """
    check_state(state)
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
