"""Pressure and stress, of atoms and of molecules.

    P V = Σ m v ⊗ v + W,   W = Σ r ⊗ f

over atoms, with the virial W of all forces, those of constraints as well; or over the centres of
mass of molecules, where forces inside of molecules drop out:

    P V = Σ M V ⊗ V + W − Σ (r − R) ⊗ f

R being the centre of mass of the molecule of r. Both have the same mean in equilibrium, but for
the motion of molecules as wholes they differ at each instant (M. P. Allen and D. J. Tildesley,
Computer Simulation of Liquids, 2nd ed., 2017, section 2.4). Stress is −P, as in ASE.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.data import Table
from instar.core.typing import ParticleId, SystemId
from instar.observables.kinetic import kinetic_tensor, molecular_kinetic_tensor
from instar.observables.molecules import are_single, centres

__all__ = ["molecular_pressure_tensor", "molecular_virial", "pressure", "pressure_tensor"]


def pressure_tensor(
    particles: Table[ParticleId, Any], systems: Table[SystemId, Any], virial: Array
) -> Array:
    """P (systems, 3, 3) in eV/Å³ from all atoms; zero for a system without an end."""
    return _over_volume(kinetic_tensor(particles) + virial, systems)


def molecular_pressure_tensor(
    particles: Table[ParticleId, Any], systems: Table[SystemId, Any], virial: Array
) -> Array:
    """P (systems, 3, 3) in eV/Å³ from molecules as wholes.

    ``virial`` is that of the potential, without constraints; forces are read from the particles.
    """
    kinetic = molecular_kinetic_tensor(particles)
    return _over_volume(kinetic + molecular_virial(particles, virial), systems)


def molecular_virial(particles: Table[ParticleId, Any], virial: Array) -> Array:
    """W − Σ (r − R) ⊗ f (systems, 3, 3) in eV, its symmetric part."""
    if are_single(particles):
        return virial
    data = particles.data
    inside = data.positions - centres(data.positions, particles)
    inner = data.system.sum_over(inside[:, :, None] * data.forces[:, None, :]).data
    between = virial - inner
    return (between + jnp.swapaxes(between, 1, 2)) / 2


def pressure(tensor: Array) -> Array:
    """A third of the trace (systems,)."""
    return jnp.trace(tensor, axis1=-2, axis2=-1) / 3


def _over_volume(tensor: Array, systems: Table[SystemId, Any]) -> Array:
    return tensor / systems.data.cell.volume[:, None, None]
