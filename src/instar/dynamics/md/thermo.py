"""`Thermo`: energies, temperature and pressure of all systems at one instant."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.dynamics.md.state import State
from instar.observables.kinetic import kinetic_energy, temperature
from instar.observables.pressure import molecular_pressure_tensor, pressure_tensor
from instar.potentials import evaluate

__all__ = ["Thermo", "thermo"]


@dataclass
class Thermo:
    """What is measured of each system; NaN where it has been frozen.

    potential, kinetic  (systems,) eV
    conserved           (systems,) eV: what the method keeps constant, but for errors of the step
    temperature         (systems,) K, from the degrees of freedom that there are
    stress              (systems, 3, 3) eV/Å³ of atoms, constraints included; the sign of ASE
    molecular_stress    (systems, 3, 3) eV/Å³ of molecules as wholes
    volume              (systems,) Å³
    """

    potential: Array
    kinetic: Array
    conserved: Array
    temperature: Array
    stress: Array
    molecular_stress: Array
    volume: Array

    @property
    def total(self) -> Array:
        """K + U (systems,), eV."""
        return self.kinetic + self.potential

    @property
    def pressure(self) -> Array:
        """−tr σ/3 of atoms (systems,), eV/Å³."""
        return -jnp.trace(self.stress, axis1=-2, axis2=-1) / 3

    @property
    def molecular_pressure(self) -> Array:
        """−tr σ/3 of molecules as wholes (systems,), eV/Å³."""
        return -jnp.trace(self.molecular_stress, axis1=-2, axis2=-1) / 3


def thermo(state: State) -> Thermo:
    """Energies, temperature and stress as they are now; one evaluation of the potential.

    What is conserved is that of the method that made the last step, or prepared the state. Works
    inside compiled code. Checks are runtime checks: wrap the caller.
    """
    systems = state.systems.data
    found = evaluate(
        state.potential,
        state.particles,
        state.systems,
        state.neighbors,
        forces=False,
        virial=True,
        finite=False,
    )
    assert found.energy is not None
    assert found.virial is not None
    kinetic = kinetic_energy(state.particles)
    virial = found.virial + _of_constraints(state)
    measured = Thermo(
        potential=found.energy,
        kinetic=kinetic,
        conserved=kinetic + found.energy - systems.heat + systems.stored,
        temperature=temperature(kinetic, systems.degrees),
        stress=-pressure_tensor(state.particles, state.systems, virial),
        molecular_stress=-molecular_pressure_tensor(state.particles, state.systems, found.virial),
        volume=systems.cell.volume,
    )
    return jax.tree.map(lambda x: _unless(systems.frozen, x), measured)


def _of_constraints(state: State) -> Array:
    """The virial of the forces of constraints at this instant."""
    if not state.constraints.all_groups:
        return jnp.zeros_like(state.systems.data.virial)
    data = state.particles.data
    found = state.constraints.reaction(
        data.forces, data.velocities, data.positions, data.masses, state.everyone
    )
    return (found.virial + jnp.swapaxes(found.virial, 1, 2)) / 2


def _unless(frozen: Array, values: Array) -> Array:
    return jnp.where(frozen.reshape(-1, *(1,) * (values.ndim - 1)), jnp.nan, values)
