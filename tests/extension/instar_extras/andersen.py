"""Andersen's thermostat: now and then a particle gets a velocity of the heat bath.

H. C. Andersen, J. Chem. Phys. 72, 2384 (1980).
"""

import jax
import jax.numpy as jnp

from instar import dataclass
from instar.dynamics import md


@md.thermostat("andersen", rate=md.Option("collisions", unit="1/ps", above=0, default="2 /ps"))
def andersen(time_step, temperature, rate):
    """Constant temperature (K), by collisions with a bath."""
    kick = md.Kick(time_step / 2)
    bath = Collisions(time_step, temperature, rate)
    return md.step_of(kick, md.Drift(time_step), md.Forces(), kick, bath)


@dataclass
class Collisions(md.Part):
    """With the probability 1 − e^(−rate·Δt) all velocities of a system are drawn again."""

    time: object
    temperature: object
    rate: object

    def __call__(self, key, state, /):
        """The state after collisions."""
        chance = -jnp.expm1(-md.knob(self.time, state) * md.knob(self.rate, state))
        hit = md.system_uniforms(jax.random.fold_in(key, 0), state) < chance
        heat = md.knob(self.temperature, state)
        drawn = md.thermal_velocities(jax.random.fold_in(key, 1), state, heat)
        hit = state.systems.set_data(hit)[state.particles.data.system]
        data = state.particles.data
        return state.with_particles(velocities=jnp.where(hit[:, None], drawn, data.velocities))
