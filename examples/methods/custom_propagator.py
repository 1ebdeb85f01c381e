"""A method of one's own: Andersen's thermostat as a part among those of the library.

    .venv/bin/python examples/methods/custom_propagator.py

Every atom collides with a heat bath ν times per unit of time, and leaves a collision with a
velocity from the Maxwell–Boltzmann distribution:

    with probability 1 − e^(−νΔt):  v = √(k_B T/m) ξ

H. C. Andersen, J. Chem. Phys. 72, 2384 (1980). The collisions are one part; kick, drift and forces
are the library's. Two systems of argon at two temperatures run as one batch. Mean and variance of
the kinetic temperature are compared with those of the canonical ensemble, ⟨T⟩ and 2T²/N_f, and what
the bath has given is counted, so that K + U − heat tells the error of the time step.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ase.build import bulk

import instar
from instar import md, md_state
from instar.observables import Series, block_average
from instar.observables.kinetic import kinetic_energy
from instar.units import BOLTZMANN, fs

ARGON = {
    "type": "lennard_jones",
    "cutoff": "8.5 angstrom",
    "truncation": "force_shift",
    "parameters": {"Ar": {"epsilon": "0.0104 eV", "sigma": "3.40 angstrom"}},
}


@instar.dataclass
class Collisions(md.Part):
    """Collisions with a bath at a rate ν, for a time Δt; each knob for all systems, or one each."""

    time: Any  # Å·√(amu/eV)
    temperature: Any  # K
    rate: Any  # 1/time

    def begin(self, state):
        """Refuse what a collision would break."""
        if state.constraints.all_groups:
            raise ValueError("Atoms that are held at a distance can't collide one by one.")
        return state

    def __call__(self, key, state, /):
        bath = md.knob(self.temperature, state)
        chance = -jnp.expm1(-md.knob(self.rate, state) * md.knob(self.time, state))
        drawn = md.thermal_velocities(jax.random.fold_in(key, 0), state, bath)
        own = state.systems.set_data(chance)[state.particles.data.system]
        hit = uniforms(jax.random.fold_in(key, 1), state) < own
        old = with_moving_centre(jax.random.fold_in(key, 2), state, bath)
        velocities = md.without_net_velocity(jnp.where(hit[:, None], drawn, old), state)
        new = state.with_particles(velocities=velocities)
        before, after = (kinetic_energy(each.particles) for each in (state, new))
        return new.with_systems(heat=state.systems.data.heat + after - before)


def uniforms(key, state):
    """A number within (0, 1] for each particle, from the stream of its system.

    e^(−(x² + y²)/2) of two normal numbers is evenly distributed.
    """
    x, y, _ = md.normals(key, state).T
    return jnp.exp(-(x**2 + y**2) / 2)


def with_moving_centre(key, state, bath):
    """Velocities with a thermal one of the centre of mass, √(k_B T/M) ξ, where it is held at rest.

    Momenta that add up to zero are not independent. If some of them were redrawn, and the centre
    then brought to rest, a system of N atoms would be too cold by one part in N. With a thermal
    motion of the centre they are independent, and the canonical distribution is kept exactly.
    """
    spread = jnp.sqrt(BOLTZMANN * bath / md.total_mass(state))
    drift = spread[:, None] * md.system_normals(key, state, 3)
    drift = jnp.where(state.systems.data.held[:, None], drift, 0)
    particles = state.particles.data
    return particles.velocities + state.systems.set_data(drift)[particles.system]


def andersen(time_step, temperature, rate):
    """Constant temperature: velocity Verlet, with the collisions in the middle of its drift."""
    kick, drift = md.Kick(0.5 * time_step), md.Drift(0.5 * time_step)
    collisions = Collisions(time_step, temperature, rate)
    return md.step_of(kick, drift, collisions, drift, md.Forces(), kick)


def measured(state):
    """Temperature (K), and K + U − heat (eV), of each system."""
    now = md.thermo(state)
    return {"temperature": now.temperature, "conserved": now.conserved}


def main(steps=12_000, wanted=(90.0, 140.0), rate=0.01, every=10):
    """Print what was found, and give it back; ``rate`` in 1/fs. A sixth is left to equilibrate."""
    wanted = np.array(wanted)
    liquid = bulk("Ar", "fcc", 5.7, cubic=True).repeat(3)
    with jax.enable_x64(True):
        method = andersen(4 * fs, wanted, rate / fs)
        state = method.begin(md_state([liquid, liquid], ARGON, temperature=wanted))
        series = Series.of(measured, state, room=steps // every)
        state = md.simulate(method, state, steps, observers={"thermo": series}, every=every)
        rows = state.observed["thermo"].result()
        degrees = np.asarray(state.systems.data.degrees)
        heat = np.asarray(state.systems.data.heat)
    found = block_average(rows["temperature"][steps // every // 6 :])
    per_atom = 1000 / len(liquid)
    result = {
        "temperature": found.mean,
        "error": found.error,
        "variance": found.variance / (2 * wanted**2 / degrees),
        "heat": heat * per_atom,
        "conserved": np.ptp(rows["conserved"], axis=0) * per_atom,
    }
    print(f"{steps} steps of 4 fs, {len(liquid)} atoms in each system")
    for asked, mean, error, variance, given, kept in zip(wanted, *result.values(), strict=True):
        print(f"  asked for {asked:.0f} K")
        print(f"    ⟨T⟩           {mean:.2f} ± {error:.2f} K")
        print(f"    var T         {variance:.2f} of 2T²/N_f")
        print(f"    heat          {given:.2f} meV/atom; K + U − heat within {kept:.3f} meV/atom")
    return result


if __name__ == "__main__":
    main()
