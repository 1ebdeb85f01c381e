"""`Kick` and `Drift`: the two halves of Hamilton's equations.

    Kick   v += Δt·F/m
    Drift  r += Δt·v

Constraints are met after each: SHAKE and RATTLE (see `Constraints`). After a drift positions are
brought back along the bonds before it and velocities take up the shift, v += shift/Δt.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.dynamics.knobs import Knob, knob
from instar.dynamics.md.state import State
from instar.dynamics.part import Part
from instar.geometry.triples import squared

__all__ = ["Drift", "Kick", "on_constraints"]


@dataclass
class Kick(Part):
    """v += Δt·F/m, with a time in Å·√(amu/eV)."""

    time: Knob

    def __call__(self, key: Array, state: State, /) -> State:
        data = state.particles.data
        time = state.systems.set_data(knob(self.time, state)).beside(data.system)[:, None]
        velocities = data.velocities + time * data.forces / data.masses[:, None]
        return on_constraints(state.with_particles(velocities=velocities))


@dataclass
class Drift(Part):
    """r += Δt·v, with a time in Å·√(amu/eV).

    A particle that would move by more than half a cell at once, or can't be brought back to its
    constraints, has no place any more: NaN, which `contained` looks for.
    """

    time: Knob

    def __call__(self, key: Array, state: State, /) -> State:
        data = state.particles.data
        time = state.systems.set_data(knob(self.time, state)).beside(data.system)[:, None]
        moved = data.positions + _within_reason(time * data.velocities, state)
        if not state.constraints.all_groups:
            return state.with_particles(positions=moved)
        held = state.constraints.project_positions(
            moved, data.positions, data.masses, state.everyone, strict=False
        )
        time = jnp.where(data.system.valid_mask[:, None], time, 1)  # no 0/0 where one is absent
        velocities = data.velocities + held.shift / time
        state = state.with_particles(positions=held.positions, velocities=velocities)
        return on_constraints(state)


def on_constraints(state: State) -> State:
    """The state with velocities that leave all constrained distances as they are."""
    if not state.constraints.all_groups:
        return state
    data = state.particles.data
    found = state.constraints.project_velocities(
        data.velocities, data.positions, data.masses, state.everyone
    )
    return state.with_particles(velocities=found.velocities)


def _within_reason(displacement: Array, state: State) -> Array:
    """The displacement; NaN if it exceeds half a cell where particles have neighbors."""
    if state.neighbors is None:
        return displacement
    limit = state.systems.set_data(state.systems.data.cell.exact_within**2)
    limit = limit.beside(state.particles.data.system)
    return jnp.where((squared(displacement) <= limit)[:, None], displacement, jnp.nan)
