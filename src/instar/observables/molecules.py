"""Molecules as wholes: where their centres of mass are, and how they move."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId
from instar.geometry import System

__all__ = ["are_single", "centres", "molecule_masses"]


def are_single(particles: Table[ParticleId, Any]) -> bool:
    """Whether there are as many molecules as particles, so that each is one on its own."""
    return len(particles.data.molecule.vocabulary) == len(particles)


def molecule_masses(particles: Table[ParticleId, Any], system: System) -> Array:
    """The mass of each molecule (molecules,) in amu; zero where there is none."""
    data = particles.data
    masses = jnp.where(system.there, data.masses, 0)
    total = jnp.zeros(len(data.molecule.vocabulary), masses.dtype)
    return total.at[data.molecule.indices].add(masses, mode="drop")


def centres(values: Array, particles: Table[ParticleId, Any], system: System) -> Array:
    """Σ m x / Σ m over the molecule of each particle, beside the particle: (particles, 3).

    Of positions, molecules must be whole: not cut in two by a periodic boundary.
    """
    if are_single(particles):
        return values
    data = particles.data
    total = molecule_masses(particles, system)
    weight = jnp.where(system.there, data.masses, 0)[:, None]
    moments = jnp.zeros((total.shape[0], 3), values.dtype)
    moments = moments.at[data.molecule.indices].add(
        jnp.where(system.there[:, None], weight * values, 0), mode="drop"
    )
    mean = moments / jnp.where(total > 0, total, 1)[:, None]
    return mean.at[data.molecule.indices].get(mode="fill", fill_value=0)
