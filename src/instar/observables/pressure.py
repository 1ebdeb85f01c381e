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
    """The pressure tensor of each system, from all atoms.

        P = (Σ m v ⊗ v + W)/V

    Parameters
    ----------
    particles
        A table with the columns ``masses``, ``velocities`` and ``system``.
    systems
        A table with the column ``cell``.
    virial
        W = Σ r ⊗ f (systems, 3, 3) in eV, of all forces, those of constraints as well.

    Returns
    -------
    array
        (systems, 3, 3) in eV/Å³; zero for a system whose volume is infinite. Stress is −P.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax.numpy as jnp
    >>> import instar
    >>> from instar.observables import pressure, pressure_tensor
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
    >>> print(pressure(pressure_tensor(state.particles, state.systems, jnp.zeros((1, 3, 3)))))
    [0.]
    """
    return _over_volume(kinetic_tensor(particles) + virial, systems)


def molecular_pressure_tensor(
    particles: Table[ParticleId, Any], systems: Table[SystemId, Any], virial: Array
) -> Array:
    """The pressure tensor of each system, from the centres of mass of molecules.

        P = (Σ M V ⊗ V + W − Σ (r − R) ⊗ f)/V

    where forces inside of molecules, such as those of constraints, drop out. In equilibrium its
    mean is that of `pressure_tensor`.

    Parameters
    ----------
    particles
        A table with the columns ``positions``, ``velocities``, ``forces``, ``masses``, ``system``
        and ``molecule``.
    systems
        A table with the column ``cell``.
    virial
        W (systems, 3, 3) in eV, that of the potential without constraints.

    Returns
    -------
    array
        (systems, 3, 3) in eV/Å³; zero for a system whose volume is infinite.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax.numpy as jnp
    >>> import instar
    >>> from instar.observables import molecular_pressure_tensor
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
    >>> zero = jnp.zeros((1, 3, 3))
    >>> molecular_pressure_tensor(state.particles, state.systems, zero).shape
    (1, 3, 3)
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
    """The pressure from a pressure tensor: a third of its trace.

        p = tr P/3

    Parameters
    ----------
    tensor
        (systems, 3, 3) in eV/Å³.

    Returns
    -------
    array
        (systems,) in eV/Å³; divided by ``instar.units.bar`` it is in bar.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.observables import pressure
    >>> print(pressure(jnp.diag(jnp.array([1.0, 2.0, 6.0]))[None]))
    [3.]
    """
    return jnp.trace(tensor, axis1=-2, axis2=-1) / 3


def _over_volume(tensor: Array, systems: Table[SystemId, Any]) -> Array:
    return tensor / systems.data.cell.volume[:, None, None]
