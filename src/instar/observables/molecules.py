"""Molecules as wholes: where their centres of mass are, and how they move."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId

__all__ = ["are_single", "centres", "molecule_masses"]


def are_single(particles: Table[ParticleId, Any]) -> bool:
    """Whether there are as many molecules as particles, so that each is one on its own."""
    return len(particles.data.molecule.vocabulary) == len(particles)


def molecule_masses(particles: Table[ParticleId, Any]) -> Array:
    """The mass of each molecule (molecules,) in amu; zero where there is none."""
    data = particles.data
    return _sums(data.masses, particles)


def centres(values: Array, particles: Table[ParticleId, Any]) -> Array:
    """Σ m x / Σ m over the molecule of each particle, beside the particle: (particles, 3).

    Of positions, molecules must be whole: not cut in two by a periodic boundary.
    """
    if are_single(particles):
        return values
    data = particles.data
    total = molecule_masses(particles)
    moments = _sums(data.masses[:, None] * values, particles)
    mean = moments / jnp.where(total > 0, total, 1)[:, None]
    return Table(data.molecule.vocabulary, mean)[data.molecule]


def _sums(values: Array, particles: Table[ParticleId, Any]) -> Array:
    """Sums over each molecule (molecules, ...), one particle after the other.

    Not `Index.sum_over`, whose order follows the number of keys: every free row is a molecule.
    """
    molecule = particles.data.molecule.apply_mask(particles.data.system.valid_mask)
    sums = jnp.zeros((len(molecule.vocabulary), *values.shape[1:]), values.dtype)
    return sums.at[molecule.indices].add(values, mode="drop")
