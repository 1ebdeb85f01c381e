"""Velocities drawn at a temperature."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.precision import in_precision
from instar.dynamics.knobs import Knob, known_knob
from instar.dynamics.md.motion import on_constraints
from instar.dynamics.md.state import State
from instar.dynamics.streams import known_normals
from instar.geometry.constants import BOLTZMANN

__all__ = ["draw_velocities"]


def _drawn(key: Array, state: State, temperature: np.ndarray) -> np.ndarray:
    """Velocities, by NumPy: a program for them would be compiled to be called once."""
    data, systems = jax.device_get((state.particles.data, state.systems.data))
    own = np.asarray(data.system.indices)
    there = (own >= 0) & (own < len(temperature))
    own, mass = np.where(there, own, 0), np.where(there, data.masses, 0)
    noise = known_normals(key, systems.stream, data.system.indices, data.number, state.dtype)
    spread = np.sqrt(BOLTZMANN / data.masses) * (there & ~data.fixed)
    velocities = spread[:, None] * noise

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(own, values, len(temperature))

    total_mass = np.where(total(mass) > 0, total(mass), 1)
    drift = np.stack([total(mass * v) for v in velocities.T], axis=1) / total_mass[:, None]
    velocities -= np.where(systems.held[:, None], drift, 0)[own]
    velocities = _constrained(velocities, state)
    kinetic = total(mass * (velocities**2).sum(axis=1)) / 2
    wanted = systems.degrees * BOLTZMANN * temperature / 2
    factor = np.sqrt(np.divide(wanted, kinetic, where=kinetic > 0, out=np.zeros_like(kinetic)))
    return np.where(there[:, None], factor[own][:, None] * velocities, 0)


def _constrained(velocities: np.ndarray, state: State) -> np.ndarray:
    if not state.constraints.all_groups:
        return velocities
    moving = state.with_particles(velocities=jnp.asarray(velocities, state.dtype))
    return np.asarray(_ON_CONSTRAINTS(moving).particles.data.velocities)


_ON_CONSTRAINTS = jax.jit(on_constraints)


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
    wanted = known_knob(temperature, state)
    if not (np.isfinite(wanted) & (wanted >= 0)).all():
        raise ValueError(
            f"A temperature must be a number of at least zero (K), not {temperature!r}."
        )
    velocities = _drawn(key, state, wanted).astype(state.dtype)
    return state.with_particles(velocities=jax.device_put(velocities))
