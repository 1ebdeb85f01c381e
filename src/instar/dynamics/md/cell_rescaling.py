"""Stochastic cell rescaling: constant pressure and temperature, by random small deformations.

    dε = c (P − P₀) dt + √(2 c k_B T/V) dW,   c = β/3τ

with the pressure P of this instant, a symmetric matrix W of independent noise, and r → r·e^ε,
v → v·e^(−ε) for centres of mass and their velocities. With positions and momenta both carried
along this leaves exp(−(H + P₀V)/k_B T) dV unchanged, for any compressibility β and time constant τ.
There is no further drift: the one from noise that depends on V cancels that from dV = V d ln V.
Isotropic: M. Bernetti and G. Bussi, J. Chem. Phys. 153, 114107 (2020), whose equation for √V this
is in ln V; anisotropic and full: V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 12,
1139 (2022).

The cell moves every few steps, by as much as it would have in all of them: the virial is needed
only then. Forces are computed anew after each move. Conserved: K + U less heat, of which the energy
that the moves bring is a part.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from instar.core.utils.jax import dataclass, field
from instar.dynamics.md.coupling import (
    Coupling,
    check_cells,
    deformed_cell,
    exponential,
    moved_with,
    pressure_on_cell,
    projected,
)
from instar.dynamics.md.forces import Forces, is_due, with_forces
from instar.dynamics.md.knobs import checked, checked_every, knob, scaled
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.part import Part, Step, step_of
from instar.dynamics.md.random import system_matrices
from instar.dynamics.md.state import State
from instar.dynamics.md.velocity_rescaling import VelocityRescaling
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import kinetic_energy

__all__ = ["CellRescaling", "cell_rescaling"]

_LARGEST = 0.1
"""A deformation in one move, beyond which a system counts as exploded."""


def cell_rescaling(
    time_step: Any,
    temperature: Any,
    pressure: Any,
    *,
    time_constant: Any,
    pressure_time_constant: Any,
    compressibility: Any,
    coupling: Coupling = "isotropic",
    every: int = 20,
) -> Step:
    """Constant pressure (eV/Å³) and temperature (K); times in Å·√(amu/eV).

    ``compressibility`` β in Å³/eV is that of the material, roughly: only β/τ matters, and only for
    how fast the volume settles. It is the step of `velocity_rescaling` with one part after it.
    """
    checked("time step", time_step)
    checked("temperature", temperature, "from")
    checked("pressure", pressure, "any")
    checked("time constant", time_constant)
    checked("pressure time constant", pressure_time_constant)
    checked("compressibility", compressibility)
    checked_every(every)
    kick = Kick(scaled(time_step, 0.5))
    bath = VelocityRescaling(time_step, temperature, time_constant)
    rate = compressibility / (3 * pressure_time_constant)
    cell = CellRescaling(scaled(time_step, every), temperature, pressure, rate, coupling, every)
    return step_of(kick, Drift(time_step), Forces(virial_every=every), kick, bath, cell)


@dataclass
class CellRescaling(Part):
    """Every few steps r → r·e^ε; needs the virial of this step."""

    time: Any
    temperature: Any
    pressure: Any
    rate: Any
    coupling: Coupling = field(static=True, default="isotropic")
    every: int = field(static=True, default=20)

    def __call__(self, key: Array, state: State, /) -> State:
        return lax.cond(
            is_due(state, self.every), lambda s: self._moved(key, s), lambda s: s, state
        )

    def begin(self, state: State) -> State:
        """With cells that can change."""
        return check_cells(state, self.coupling)

    def _moved(self, key: Array, state: State) -> State:
        strain = self._strain(key, state)
        stretch, shrink = exponential(strain), exponential(-strain)
        data, systems = state.particles.data, state.systems.data
        before = systems.energy + kinetic_energy(state.particles, state.system)
        new = state.with_particles(
            positions=moved_with(data.positions, stretch, state),
            velocities=moved_with(data.velocities, shrink, state),
        ).with_systems(cell=deformed_cell(systems.cell, stretch, self.coupling))
        new = with_forces(new, virial=True)
        after = new.systems.data.energy + kinetic_energy(new.particles, new.system)
        return new.with_systems(heat=systems.heat + after - before)

    def _strain(self, key: Array, state: State) -> Array:
        """ε (systems, 3, 3)."""
        time, target, rate, temperature = (
            knob(value, state)[:, None, None]
            for value in (self.time, self.pressure, self.rate, self.temperature)
        )
        eye = jnp.eye(3, dtype=state.dtype)[None]
        drift = rate * time * (pressure_on_cell(state) - target * eye)
        volume = state.systems.data.cell.volume[:, None, None]
        size = jnp.sqrt(2 * rate * BOLTZMANN * temperature * time / volume)
        strain = projected(drift + size * system_matrices(key, state), self.coupling)
        large = jnp.any(~(jnp.abs(strain) < _LARGEST), axis=(1, 2), keepdims=True)
        return jnp.where(large, jnp.nan, strain)
