"""`Forces`: neighbors and forces for particles where they are now."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax
from jax import Array, lax

from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.utils.jax import dataclass, field
from instar.dynamics.forces import forces_on_free, located
from instar.dynamics.md.centre import without_net_force
from instar.dynamics.md.divided import over_division
from instar.dynamics.md.state import NEIGHBORS, State
from instar.dynamics.part import Part
from instar.potentials import evaluate

__all__ = ["Forces", "computed", "is_due", "with_forces"]


@dataclass
class Forces(Part):
    """F(r); every ``virial_every`` steps with the virial (0: never), or its trace alone.

    With the virial comes the energy, unless it is not asked for.
    """

    virial_every: int = field(static=True, default=0)
    trace: bool = field(static=True, default=False)
    energy: bool = field(static=True, default=True)

    @property
    def prepares(self) -> bool:
        """Forces are what a step begins with."""
        return True

    def unless(self, waits: Array, key: Array, state: State) -> State:
        """Forces in any case."""
        return self(key, state)

    def __call__(self, key: Array, state: State, /) -> State:
        wanted = "trace" if self.trace else True
        state, there = _located(state)
        if self.virial_every <= 1:
            return _evaluated(state, there, wanted if self.virial_every else False, self.energy)

        def tables(due: bool) -> Any:
            new = _evaluated(state, there, wanted if due else False, self.energy)
            return new.particles, new.systems

        particles, systems = lax.cond(
            is_due(state, self.virial_every), lambda: tables(True), lambda: tables(False)
        )
        return dataclasses.replace(state, particles=particles, systems=systems)


def is_due(state: State, every: int) -> Array:
    """Whether the step that is being made is the last of ``every`` steps."""
    return (state.step + 1) % every == 0


def with_forces(state: State, virial: bool = False) -> State:
    """The state with an up-to-date list and forces; energy and virial on request.

    Checks are runtime checks: wrap the caller.
    """
    if state.division is not None:
        return over_division(lambda block, *_: with_forces(block, virial), state)
    return _evaluated(*_located(state), virial, energy=True)


_COMPUTED = jax.jit(as_result_function(lambda state: with_forces(state, virial=True)))


def computed(state: State) -> State:
    """The state with forces, energy and virial as they are now; on the host.

        F = −∂U/∂r

    Buffers that are too small grow. Call it after changing positions or cells by hand.

    Parameters
    ----------
    state
        Such as `instar.md_state` makes.

    Returns
    -------
    State
        With forces in eV/Å, energy and virial in eV, and an up-to-date neighbor list.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap)
    >>> with jax.enable_x64(True):
    ...     moved = state.with_particles(positions=state.particles.data.positions + 1)
    ...     print(instar.md.computed(moved).particles.data.forces)
    [[-0.1 -0.1 -0.1]]
    """
    return propagate_and_fix(_COMPUTED, state)[0]


def _located(state: State) -> tuple[State, State]:
    """The state with an up-to-date list, and the same with all systems where the list can be."""
    return located(state, NEIGHBORS)


def _evaluated(state: State, there: State, virial: bool | Literal["trace"], energy: bool) -> State:
    """The state with forces; virial on request, energy with it. Lost atoms: forces of NaN."""
    found = evaluate(
        there.potential,
        there.particles,
        there.systems,
        there.neighbors,
        energy=bool(virial) and energy,
        virial=virial,
        finite=False,
    )
    assert found.forces is not None
    forces = forces_on_free(found.forces, state)
    state = state.with_particles(forces=without_net_force(forces, state))
    if virial:
        state = state.with_systems(virial=found.virial)
    return state.with_systems(energy=found.energy) if virial and energy else state
