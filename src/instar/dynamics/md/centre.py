"""The centre of mass of each system, which may be held at rest."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.dynamics.md.state import State
from instar.geometry import per_system

__all__ = ["total_mass", "without_net_force", "without_net_velocity"]


def total_mass(state: State) -> Array:
    """The mass of each system (systems,) in amu; one where there are no particles."""
    total = per_system(state.particles.data.masses, state.system)
    return jnp.where(total > 0, total, 1)


def without_net_velocity(velocities: Array, state: State) -> Array:
    """v − Σ m v/Σ m in systems whose centre of mass is held."""
    masses = state.particles.data.masses
    momentum = per_system(masses[:, None] * velocities, state.system)
    drift = jnp.where(state.systems.data.held[:, None], momentum / total_mass(state)[:, None], 0)
    return velocities - state.of_particles(drift)


def without_net_force(forces: Array, state: State) -> Array:
    """f − m Σ f/Σ m in systems whose centre of mass is held."""
    net = per_system(forces, state.system)
    pull = jnp.where(state.systems.data.held[:, None], net / total_mass(state)[:, None], 0)
    return forces - state.particles.data.masses[:, None] * state.of_particles(pull)
