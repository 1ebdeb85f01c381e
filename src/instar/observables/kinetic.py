"""Kinetic energy and temperature, of atoms and of molecules as wholes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId
from instar.geometry.constants import BOLTZMANN
from instar.observables.molecules import centres

__all__ = ["kinetic_energy", "kinetic_tensor", "molecular_kinetic_tensor", "squared", "temperature"]


def kinetic_energy(particles: Table[ParticleId, Any]) -> Array:
    """K = ½ Σ m v² of each system (systems,), eV."""
    data = particles.data
    return data.system.sum_over(data.masses * squared(data.velocities)).data / 2


def squared(vectors: Array) -> Array:
    """x² + y² + z² of each row, term by term: a sum over an axis of three is slow."""
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    return x * x + y * y + z * z


def kinetic_tensor(particles: Table[ParticleId, Any]) -> Array:
    """Σ m v ⊗ v of each system (systems, 3, 3), eV: its trace is 2K."""
    return _outer(particles, particles.data.velocities)


def molecular_kinetic_tensor(particles: Table[ParticleId, Any]) -> Array:
    """Σ M V ⊗ V over the centres of mass of molecules (systems, 3, 3), eV."""
    return _outer(particles, centres(particles.data.velocities, particles))


def temperature(kinetic: Array, degrees: Array) -> Array:
    """T = 2K/(k_B·degrees of freedom) in K; zero where nothing can move."""
    free = degrees > 0
    return jnp.where(free, 2 * kinetic / (BOLTZMANN * jnp.where(free, degrees, 1)), 0)


def _outer(particles: Table[ParticleId, Any], velocities: Array) -> Array:
    momenta = particles.data.masses[:, None] * velocities
    return particles.data.system.sum_over(momenta[:, :, None] * velocities[:, None, :]).data
