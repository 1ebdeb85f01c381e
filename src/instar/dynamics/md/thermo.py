"""`Thermo`: energies, temperature and pressure of all systems at one instant."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.result import as_result_function
from instar.core.utils.jax import dataclass, is_traced
from instar.core.utils.precision import in_precision
from instar.dynamics.md.divided import of_systems
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
    @in_precision
    def total(self) -> Array:
        """K + U (systems,), eV."""
        return self.kinetic + self.potential

    @property
    @in_precision
    def pressure(self) -> Array:
        """−tr σ/3 of atoms (systems,), eV/Å³."""
        return -jnp.trace(self.stress, axis1=-2, axis2=-1) / 3

    @property
    @in_precision
    def molecular_pressure(self) -> Array:
        """−tr σ/3 of molecules as wholes (systems,), eV/Å³."""
        return -jnp.trace(self.molecular_stress, axis1=-2, axis2=-1) / 3


@in_precision
def thermo(state: State) -> Thermo:
    """Energies, temperature and stress of all systems as they are now.

        T = 2K/(N_f k_B)        σ = −(Σ m v⊗v + W)/V        p = −tr σ/3

    It takes one evaluation of the potential. What is conserved is that of the method that made the
    last step, or prepared the state.

    Parameters
    ----------
    state
        As `instar.md_state` makes it. It may be traced: inside compiled code checks are runtime
        checks, and the caller has to be wrapped (`as_result_function`).

    Returns
    -------
    Thermo
        Energies in eV, temperatures in K, stresses in eV/Å³ with the sign of ASE, volumes in Å³;
        NaN where a system is frozen.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state([Atoms("Ar3", [[0, 0, 0]] * 3)] * 2, trap, temperature=[30.0, 60.0])
    >>> print(instar.md.thermo(state).temperature)
    [30. 60.]
    """
    if is_traced(state):
        return _measured(state)
    found = _COMPILED(state)
    found.raise_assertion()
    return found.value


def _measured(state: State) -> Thermo:
    if state.division is not None:
        return of_systems(_measured, state)
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


_COMPILED = jax.jit(as_result_function(_measured))


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
