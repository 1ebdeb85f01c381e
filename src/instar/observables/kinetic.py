"""Kinetic energy and temperature, of atoms and of molecules as wholes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId
from instar.geometry.constants import BOLTZMANN
from instar.geometry.triples import squared
from instar.observables.molecules import centres

__all__ = ["kinetic_energy", "kinetic_tensor", "molecular_kinetic_tensor", "temperature"]


def kinetic_energy(particles: Table[ParticleId, Any]) -> Array:
    """The kinetic energy of each system.

        K = ½ Σ m v²

    Parameters
    ----------
    particles
        A table with the columns ``masses`` in amu, ``velocities`` in Å per unit of time,
        Å·√(amu/eV), and ``system``.

    Returns
    -------
    array
        (systems,) in eV.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> from instar.observables import kinetic_energy
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
    >>> print(kinetic_energy(state.particles))
    [0.]
    """
    data = particles.data
    return data.system.sum_over(data.masses * squared(data.velocities)).data / 2


def kinetic_tensor(particles: Table[ParticleId, Any]) -> Array:
    """Σ m v ⊗ v of each system (systems, 3, 3), eV: its trace is 2K."""
    return _outer(particles, particles.data.velocities)


def molecular_kinetic_tensor(particles: Table[ParticleId, Any]) -> Array:
    """Σ M V ⊗ V over the centres of mass of molecules (systems, 3, 3), eV."""
    return _outer(particles, centres(particles.data.velocities, particles))


def temperature(kinetic: Array, degrees: Array) -> Array:
    """The kinetic temperature of each system.

        T = 2K/(N_f k_B)

    Parameters
    ----------
    kinetic
        (systems,) kinetic energies in eV.
    degrees
        (systems,) degrees of freedom N_f.

    Returns
    -------
    array
        (systems,) in K; zero where nothing can move.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.observables import temperature
    >>> from instar.units import BOLTZMANN
    >>> kinetic = jnp.array([1.5 * BOLTZMANN * 300, 0.0])
    >>> print(temperature(kinetic, jnp.array([3.0, 0.0])).round(2))
    [300.   0.]
    """
    free = degrees > 0
    return jnp.where(free, 2 * kinetic / (BOLTZMANN * jnp.where(free, degrees, 1)), 0)


def _outer(particles: Table[ParticleId, Any], velocities: Array) -> Array:
    momenta = particles.data.masses[:, None] * velocities
    return particles.data.system.sum_over(momenta[:, :, None] * velocities[:, None, :]).data
