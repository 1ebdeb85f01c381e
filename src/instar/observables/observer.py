"""What an observer is, and how one is folded over the frames of a trajectory.

An observer is a pytree that has seen some states. It reads one more with `update` and tells what
it has found with `result`:

    oₜ₊₁ = update(oₜ, stateₜ)

On the fly an observer is a part of the state of a run and is updated by its steps; afterwards
`observe` folds it over the frames. Both are the same updates, and give the same result.

A state is anything with ``particles``, a table with the columns

    positions   (particles, 3)  Å, not wrapped into the cell
    velocities  (particles, 3)  Å / (Å √(amu/eV))
    masses      (particles,)    amu
    system      Index[SystemId]; a row out of bounds is absent, and may hold NaN
    labels      Index[Label]

and ``systems``, a table with the column ``cell`` and, where systems may fail, ``frozen``
(systems,): those that have exploded. Observers leave them out: their counts stop growing. An
observer needs only the columns that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
from jax import lax

from instar.core.lens import Lens, identity_lens
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.utils.jax import is_traced
from instar.core.utils.precision import precision_of

__all__ = ["Observer", "observe"]


@runtime_checkable
class Observer(Protocol):
    """Something that reads states, one after the other, and tells what it found."""

    def update(self, state: Any) -> Any:
        """The observer after one more state: of the same structure and shapes; pure."""
        ...

    def result(self) -> Any:
        """What was found in the states seen so far."""
        ...


@runtime_checkable
class _Grows(Protocol):
    """An observer with buffers that grow, once it knows its place in a state."""

    @property
    def where(self) -> Lens[Any, Any] | None: ...

    def at(self, where: Lens[Any, Any] | None) -> Any: ...


def observe[O: Observer](observer: O, frames: Any) -> O:
    """The observer after all frames of a trajectory.

        oₜ₊₁ = update(oₜ, frameₜ)

    On the host, checks are raised, and buffers that turn out too small grow. Inside compiled code
    this is part of the program; wrap the caller (`as_result_function`) to see checks.

    Parameters
    ----------
    observer
        Such as `RadialDistribution.of` makes.
    frames
        A state whose arrays have a leading axis of frames.

    Returns
    -------
    observer
        Of the kind that was given; ``result()`` returns what it found.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax
    >>> import instar
    >>> from instar.observables import Series, kinetic_energy, observe
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap)
    >>> def kinetic(state):
    ...     return kinetic_energy(state.particles)
    >>> frames = jax.tree.map(lambda leaf: leaf[None].repeat(3, axis=0), state)
    >>> observe(Series.of(kinetic, state, room=10), frames).result().shape
    (3, 1)
    """
    if is_traced((observer, frames)):
        return _fold(observer, frames)
    where = observer.where if isinstance(observer, _Grows) else None
    placed = observer.at(identity_lens()) if isinstance(observer, _Grows) else observer
    with precision_of(observer):
        done, _ = propagate_and_fix(lambda observer: _compiled(observer, frames), placed)
    return done.at(where) if isinstance(done, _Grows) else done


def _fold[O: Observer](observer: O, frames: Any) -> O:
    def one(observer: O, frame: Any) -> tuple[O, None]:
        return observer.update(frame), None

    return lax.scan(one, observer, frames)[0]


_compiled: Callable[..., Any] = jax.jit(as_result_function(_fold))
