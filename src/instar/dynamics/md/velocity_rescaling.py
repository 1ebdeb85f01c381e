"""Stochastic velocity rescaling: constant temperature, by one random factor for a system.

    K_new = c K + (1 − c) K̄/N_f (R² + S) + 2 R √(c (1 − c) K K̄/N_f),   c = e^(−Δt/τ)

with K̄ = ½ N_f k_B T, R a normal number and S a sum of N_f − 1 squared ones; velocities are
multiplied by α, α² = K_new/K. G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101
(2007); the sign of α as in G. Bussi and M. Parrinello, Comput. Phys. Comm. 179, 26 (2008). It
solves the stochastic equation of the kinetic energy exactly for any Δt. Conserved: K + U less the
heat put in.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.dynamics.knobs import Knob, Numbers, checked, knob, scaled
from instar.dynamics.md.declared import TIME_CONSTANT, thermostat
from instar.dynamics.md.forces import Forces
from instar.dynamics.md.motion import Drift, Kick
from instar.dynamics.md.state import State
from instar.dynamics.part import Part, Step, step_of
from instar.dynamics.streams import chi_squared, system_normals
from instar.geometry.constants import BOLTZMANN
from instar.observables.kinetic import kinetic_energy

__all__ = ["VelocityRescaling", "velocity_rescaling"]


@thermostat("velocity_rescaling", time_constant=TIME_CONSTANT)
def velocity_rescaling(time_step: Numbers, temperature: Knob, time_constant: Knob) -> Step:
    """Constant temperature by one random factor per system: stochastic velocity rescaling.

        K_new = c K + (1 − c) K̄/N_f (R² + S) + 2 R √(c (1 − c) K K̄/N_f),   c = e^(−Δt/τ)

    with K̄ = ½ N_f k_B T, a normal number R and a sum S of N_f − 1 squared ones. G. Bussi, D.
    Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007). It is the step of `nve` with one part
    after it, and hardly disturbs the motion. Conserved: K + U less the heat put in.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.
    temperature
        In K: one for all systems, one each, or a `Ramp`.
    time_constant
        τ in Å·√(amu/eV): the kinetic energy is forgotten after it. 0.1 ps is usual.

    Returns
    -------
    Step
        What `simulate` takes.

    Raises
    ------
    ValueError
        If a number is not in its range.

    Examples
    --------
    >>> import instar
    >>> from instar.units import fs, ps
    >>> method = instar.md.velocity_rescaling(2 * fs, temperature=90.0, time_constant=0.1 * ps)
    """
    checked("time step", time_step)
    checked("temperature", temperature, "from")
    checked("time constant", time_constant)
    kick = Kick(scaled(time_step, 0.5))
    bath = VelocityRescaling(time_step, temperature, time_constant)
    return step_of(kick, Drift(time_step), Forces(), kick, bath)


@dataclass
class VelocityRescaling(Part):
    """v *= α, where α brings the kinetic energy to a random value of its canonical distribution."""

    time: Knob
    temperature: Knob
    time_constant: Knob

    def __call__(self, key: Array, state: State, /) -> State:
        systems = state.systems.data
        kinetic = kinetic_energy(state.particles)
        moving = (kinetic > 0) & (systems.degrees > 0)
        safe = jnp.where(moving, kinetic, 1)
        kept = jnp.exp(-knob(self.time, state) / knob(self.time_constant, state))
        unit = (1 - kept) * BOLTZMANN * knob(self.temperature, state) / (2 * safe)
        normal = system_normals(jax.random.fold_in(key, 0), state, 1)[:, 0]
        others = chi_squared(jax.random.fold_in(key, 1), state, systems.degrees - 1)
        square = kept + unit * (normal**2 + others) + 2 * normal * jnp.sqrt(kept * unit)
        sign = jnp.where(normal + jnp.sqrt(kept / jnp.where(unit > 0, unit, 1)) < 0, -1, 1)
        sign = jnp.where(unit > 0, sign, 1)
        square = jnp.where(moving, jnp.maximum(square, 0), 1)
        factor = sign.astype(state.dtype) * jnp.sqrt(square)
        data = state.particles.data
        own = state.systems.set_data(factor).beside(data.system)
        velocities = own[:, None] * data.velocities
        heat = systems.heat + jnp.where(moving, (square - 1) * kinetic, 0)
        return state.with_particles(velocities=velocities).with_systems(heat=heat)
