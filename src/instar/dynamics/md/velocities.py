"""Velocities drawn at a temperature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.precision import in_precision
from instar.dynamics.knobs import Knob, knob
from instar.dynamics.md.centre import without_net_velocity
from instar.dynamics.md.langevin import thermal_velocities
from instar.dynamics.md.motion import on_constraints
from instar.dynamics.md.state import State
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import kinetic_energy

__all__ = ["draw_velocities"]


@jax.jit
def _drawn(key: Array, state: State, temperature: Array) -> State:
    drawn = thermal_velocities(key, state, jnp.ones_like(temperature))
    new = state.with_particles(velocities=without_net_velocity(drawn, state))
    new = on_constraints(new)
    kinetic = kinetic_energy(new.particles)
    wanted = state.systems.data.degrees * BOLTZMANN * temperature / 2
    moving = kinetic > 0
    factor = jnp.where(moving, jnp.sqrt(wanted / jnp.where(moving, kinetic, 1)), 0)
    own = state.systems.set_data(factor)[state.particles.data.system]
    return state.with_particles(velocities=own[:, None] * new.particles.data.velocities)


@in_precision
def draw_velocities(key: Array, state: State, temperature: Knob) -> State:
    """The state with velocities from the Maxwell–Boltzmann distribution, at that temperature.

        v = √(k_B T/m) ξ, then scaled so that 2K = N_f k_B T exactly

    They meet the constraints, and the centre of mass does not move where it is held.

    Parameters
    ----------
    key
        A key of JAX: ``jax.random.key(0)``.
    state
        Such as `instar.md_state` makes.
    temperature
        In K, one for all systems or one per system.

    Returns
    -------
    State
        With other velocities.

    Raises
    ------
    ValueError
        If a temperature is below zero, or there are not as many as systems.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap)
    >>> state = instar.md.draw_velocities(jax.random.key(0), state, 40.0)
    >>> print(instar.md.thermo(state).temperature)
    [40.]
    """
    wanted = knob(temperature, state)
    if not bool(jnp.all(jnp.isfinite(wanted) & (wanted >= 0))):
        raise ValueError(
            f"A temperature must be a number of at least zero (K), not {temperature!r}."
        )
    return _drawn(key, state, wanted)
