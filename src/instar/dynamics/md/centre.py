"""The centre of mass of each system, which may be held at rest."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.dynamics.md.state import State

__all__ = ["total_mass", "without_net_force", "without_net_velocity"]


def total_mass(state: State) -> Array:
    """The mass of each system (systems,) in amu; one where there are no particles."""
    particles = state.particles.data
    total = particles.system.sum_over(particles.masses).data
    return jnp.where(total > 0, total, 1)


def without_net_velocity(velocities: Array, state: State) -> Array:
    """v − Σ m v/Σ m in systems whose centre of mass is held."""
    particles = state.particles.data
    momentum = particles.system.sum_over(particles.masses[:, None] * velocities).data
    drift = jnp.where(state.systems.data.held[:, None], momentum / total_mass(state)[:, None], 0)
    return velocities - state.systems.set_data(drift).beside(particles.system)


def without_net_force(forces: Array, state: State) -> Array:
    """f − m Σ f/Σ m in systems whose centre of mass is held."""
    particles = state.particles.data
    net = particles.system.sum_over(forces).data
    pull = jnp.where(state.systems.data.held[:, None], net / total_mass(state)[:, None], 0)
    pull = state.systems.set_data(pull).beside(particles.system)
    return forces - particles.masses[:, None] * pull
