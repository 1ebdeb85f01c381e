"""`Forces`: neighbors and forces for particles where they are now."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array, lax

from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.utils.jax import dataclass, field
from instar.dynamics.md.centre import without_net_force
from instar.dynamics.md.divided import over_division
from instar.dynamics.md.state import NEIGHBORS, State
from instar.dynamics.part import Part
from instar.geometry.triples import largest
from instar.potentials import evaluate

__all__ = ["Forces", "compile_forces", "computed", "is_due", "with_forces"]

_FARTHEST = 2.0**27
"""Cells away, beyond which a particle is lost: they are counted in 32 bits."""


@dataclass
class Forces(Part):
    """F(r); every ``virial_every`` steps with the virial (0: never), or its trace alone.

    With the virial comes the energy, unless it is not asked for.
    """

    virial_every: int = field(static=True, default=0)
    trace: bool = field(static=True, default=False)
    energy: bool = field(static=True, default=True)

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


def compile_forces(state: State) -> None:
    """Compile what `computed` runs for a state like this; nothing is computed."""
    _COMPUTED.lower(state).compile()


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
    if state.neighbors is None:
        return state, state
    there = _searchable(state)
    neighbors = state.neighbors.updated(there.particles, there.systems, where=NEIGHBORS)
    return NEIGHBORS.set(state, neighbors), NEIGHBORS.set(there, neighbors)


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
    data = state.particles.data
    lost = data.system.valid_mask[:, None] & ~jnp.isfinite(data.positions)
    forces = jnp.where(lost, jnp.nan, jnp.where(data.fixed[:, None], 0, found.forces))
    state = state.with_particles(forces=without_net_force(forces, state))
    if virial:
        state = state.with_systems(virial=found.virial)
    return state.with_systems(energy=found.energy) if virial and energy else state


def _searchable(state: State) -> State:
    """With every lost system put back to where it was when the list was made."""
    listed = state.neighbors
    if listed is None:
        return state
    data, cell = state.particles.data, state.systems.data.cell
    shortest = jnp.min(jnp.where(cell.periodic, cell.heights, jnp.inf), axis=1)
    farthest = state.systems.set_data(_FARTHEST * shortest).beside(data.system)
    far = largest(data.positions) > farthest
    lost = data.system.valid_mask & (far | ~jnp.isfinite(data.positions).all(axis=1))
    flat = ~(jnp.isfinite(cell.vectors).all(axis=(1, 2)) & (shortest > 0))

    def put_back(positions: Array, vectors: Array) -> tuple[Array, Array]:
        gone = flat | (data.system.sum_over(lost).data > 0)
        own = state.systems.set_data(gone)[data.system]
        return (
            jnp.where(own[:, None], listed.positions, positions),
            jnp.where(gone[:, None, None], listed.vectors, vectors),
        )

    positions, vectors = lax.cond(
        jnp.any(lost) | jnp.any(flat),
        put_back,
        lambda positions, vectors: (positions, vectors),
        data.positions,
        cell.vectors,
    )
    cell = dataclasses.replace(cell, vectors=vectors)
    return state.with_particles(positions=positions).with_systems(cell=cell)
