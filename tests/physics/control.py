"""Thermostats that are known to be wrong: what the tests must see."""

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass
from instar.dynamics import md
from instar.dynamics.knobs import knob, scaled
from instar.observables.kinetic import kinetic_energy, temperature

__all__ = ["WeakCoupling", "berendsen", "miscounted"]


def berendsen(time_step: Any, target: Any, time_constant: Any) -> md.Step:
    """Weak coupling: the mean temperature is right, its fluctuations are too small."""
    kick = md.Kick(scaled(time_step, 0.5))
    bath = WeakCoupling(time_step, target, time_constant)
    return md.step_of(kick, md.Drift(time_step), md.Forces(), kick, bath)


@dataclass
class WeakCoupling(md.Part):
    """v *= √(1 + Δt/τ (T₀/T − 1)): H. J. C. Berendsen et al., J. Chem. Phys. 81, 3684 (1984)."""

    time: Any
    target: Any
    time_constant: Any

    def __call__(self, key: Array, state: md.State, /) -> md.State:
        now = temperature(kinetic_energy(state.particles), state.systems.data.degrees)
        rate = knob(self.time, state) / knob(self.time_constant, state)
        factor = jnp.sqrt(1 + rate * (knob(self.target, state) / now - 1))
        data = state.particles.data
        own = state.systems.set_data(factor)[data.system]
        velocities = own[:, None] * data.velocities
        return state.with_particles(velocities=velocities)


def miscounted(state: md.State, by: int) -> md.State:
    """The state with degrees of freedom that are off by some."""
    return state.with_systems(degrees=state.systems.data.degrees + by)
