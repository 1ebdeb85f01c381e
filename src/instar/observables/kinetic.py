"""Kinetic energy and temperature, of atoms and of molecules as wholes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId
from instar.geometry import System, per_system
from instar.geometry.constants import BOLTZMANN
from instar.observables.molecules import centres

__all__ = ["kinetic_energy", "kinetic_tensor", "molecular_kinetic_tensor", "squared", "temperature"]


def kinetic_energy(particles: Table[ParticleId, Any], system: System) -> Array:
    """K = ½ Σ m v² of each system (systems,), eV."""
    data = particles.data
    return per_system(data.masses * squared(data.velocities), system) / 2


def squared(vectors: Array) -> Array:
    """x² + y² + z² of each row, term by term: a sum over an axis of three is slow."""
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    return x * x + y * y + z * z


def kinetic_tensor(particles: Table[ParticleId, Any], system: System) -> Array:
    """Σ m v ⊗ v of each system (systems, 3, 3), eV: its trace is 2K."""
    return _outer(particles.data.masses, particles.data.velocities, system)


def molecular_kinetic_tensor(particles: Table[ParticleId, Any], system: System) -> Array:
    """Σ M V ⊗ V over the centres of mass of molecules (systems, 3, 3), eV."""
    whole = centres(particles.data.velocities, particles, system)
    return _outer(particles.data.masses, whole, system)


def temperature(kinetic: Array, degrees: Array) -> Array:
    """T = 2K/(k_B·degrees of freedom) in K; zero where nothing can move."""
    free = degrees > 0
    return jnp.where(free, 2 * kinetic / (BOLTZMANN * jnp.where(free, degrees, 1)), 0)


def _outer(masses: Array, velocities: Array, system: System) -> Array:
    momenta = masses[:, None] * velocities
    return per_system(momenta[:, :, None] * velocities[:, None, :], system)
