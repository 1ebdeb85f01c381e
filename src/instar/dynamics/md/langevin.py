"""Langevin dynamics by BAOAB: constant temperature, by friction and noise on every atom.

    B  v += ½Δt F/m
    A  r += ½Δt v
    O  v = e^(−γΔt) v + √((1 − e^(−2γΔt)) k_B T/m) ξ
    A, forces, B

B. Leimkuhler and C. Matthews, J. Chem. Phys. 138, 174102 (2013); with constraints g-BAOAB, Proc. R.
Soc. A 472, 20160138 (2016). Positions of a harmonic oscillator are sampled without any error of
the step. Conserved: K + U less the heat that O puts in.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import Option
from instar.core.utils.jax import dataclass
from instar.dynamics.knobs import Knob, Numbers, checked, knob, scaled
from instar.dynamics.md.centre import without_net_velocity
from instar.dynamics.md.declared import thermostat
from instar.dynamics.md.forces import Forces
from instar.dynamics.md.motion import Drift, Kick, on_constraints
from instar.dynamics.md.state import State
from instar.dynamics.part import Part, Step, step_of
from instar.dynamics.streams import normals
from instar.geometry.constants import BOLTZMANN
from instar.geometry.triples import squared

__all__ = ["OrnsteinUhlenbeck", "langevin", "thermal_velocities", "with_bath"]


@thermostat(
    "langevin",
    friction=Option(
        "friction γ: velocities are forgotten after 1/γ", unit="1/ps", above=0, default="1 /ps"
    ),
)
def langevin(time_step: Numbers, temperature: Knob, friction: Knob) -> Step:
    """Constant temperature by friction and noise on every atom: Langevin dynamics by BAOAB.

        B  v += ½Δt F/m
        A  r += ½Δt v
        O  v = e^(−γΔt) v + √((1 − e^(−2γΔt)) k_B T/m) ξ
        A, forces, B

    B. Leimkuhler and C. Matthews, J. Chem. Phys. 138, 174102 (2013); with constraints g-BAOAB,
    Proc. R. Soc. A 472, 20160138 (2016). It is the step of `nve` with its drift cut in two and one
    part inserted. Conserved: K + U less the heat that O puts in.

    Parameters
    ----------
    time_step
        Δt in Å·√(amu/eV): ``2 * instar.units.fs``.
    temperature
        In K: one for all systems, one each, or a `Ramp`.
    friction
        γ in 1/time: velocities are forgotten after 1/γ. ``1 / instar.units.ps`` is usual.

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
    >>> method = instar.md.langevin(2 * fs, temperature=[80.0, 120.0], friction=1 / ps)
    """
    checked("time step", time_step)
    checked("temperature", temperature, "from")
    checked("friction", friction, "from")
    return with_bath(time_step, temperature, friction)


def with_bath(time_step: Numbers, temperature: Knob, friction: Knob) -> Step:
    """The parts of `langevin`."""
    kick, drift = Kick(scaled(time_step, 0.5)), Drift(scaled(time_step, 0.5))
    bath = OrnsteinUhlenbeck(time_step, temperature, friction)
    return step_of(kick, drift, bath, drift, Forces(), kick)


@dataclass
class OrnsteinUhlenbeck(Part):
    """v = c v + √((1 − c²) k_B T/m) ξ with c = e^(−γΔt): exact for any Δt."""

    time: Knob
    temperature: Knob
    friction: Knob

    def __call__(self, key: Array, state: State, /) -> State:
        data = state.particles.data
        exponent = knob(self.time, state) * knob(self.friction, state)
        kept, renewed = jnp.exp(-exponent), jnp.sqrt(-jnp.expm1(-2 * exponent))
        noise = thermal_velocities(key, state, knob(self.temperature, state))
        kept, renewed = state.systems.set_data((kept, renewed)).beside(data.system)
        velocities = kept[:, None] * data.velocities + renewed[:, None] * noise
        new = on_constraints(
            state.with_particles(velocities=without_net_velocity(velocities, state))
        )
        gained = squared(new.particles.data.velocities) - squared(data.velocities)
        heat = data.system.sum_over(data.masses * gained).data / 2
        return new.with_systems(heat=state.systems.data.heat + heat)


def thermal_velocities(key: Array, state: State, temperature: Array) -> Array:
    """√(k_B T/m) ξ for each particle that can move; zero for others."""
    data = state.particles.data
    own = state.systems.set_data(temperature).beside(data.system)
    free = data.system.valid_mask & ~data.fixed
    spread = jnp.sqrt(jnp.where(free, BOLTZMANN * own / data.masses, 1))  # √0 has no slope
    return jnp.where(free[:, None], spread[:, None] * normals(key, state), 0)
