"""The derivative of an observable through a trajectory, by all parameters of a potential at once.

    .venv/bin/python examples/methods/differentiate.py

How far do the atoms of solid argon get in a given time, and how would that change with the depth ε
and the width σ of their potential? One pass backwards through the trajectory answers both:

    S = ⟨|r(t) − r(0)|²⟩,    ∂S/∂ε  and  ∂S/∂σ  at fixed r(0), v(0)

The average runs over all atoms of independent systems, which move as one batch. Central
differences, which need two more trajectories for every parameter, tell whether the derivatives are
right.

Neighbor lists are made again on the way, which does not matter: the potential is switched off
smoothly before its cutoff. But trajectories diverge exponentially, and derivatives grow with them;
beyond a few picoseconds they say nothing about averages.
"""

import dataclasses

import jax
import jax.numpy as jnp
from ase.build import bulk

from instar import md, md_state
from instar.core.propagator import propagate_and_fix, scan_steps
from instar.core.result import as_result_function
from instar.potentials import LennardJones, Pair
from instar.units import fs

ARGON = Pair.of(
    LennardJones,
    {"Ar": {"epsilon": 0.0104, "sigma": 3.40}},
    cutoff=8.5,
    truncation="switch",
    inner=7.0,
)


def position_verlet(time_step):
    """r += ½Δt v;  v += Δt F(r)/m;  r += ½Δt v.

    A step asks for forces itself before it uses them. Velocity Verlet would begin with those of
    the last step, and the first ones would be those of a potential that is not differentiated.
    """
    drift = md.Drift(0.5 * time_step)
    return md.step_of(drift, md.Forces(), md.Kick(time_step), drift)


def displacement(potential, state, method, steps):
    """⟨|r(t) − r(0)|²⟩ over all atoms (Å²) after that many steps."""

    # A state is kept for every step, and the rest worked out once more on the way back: without
    # the checkpoint all that was computed for every pair would be kept.
    @jax.checkpoint
    def step(key, state):
        return method(key, state)

    start = dataclasses.replace(state, potential=potential)
    end = scan_steps(step, jax.random.key(0), start, steps)
    moved = end.particles.data.positions - start.particles.data.positions
    return jnp.mean(jnp.sum(moved**2, axis=1))


def with_parameter(potential, name, factor):
    """The potential with one parameter multiplied."""
    changed = {name: factor * getattr(potential.formula, name)}
    return dataclasses.replace(potential, formula=dataclasses.replace(potential.formula, **changed))


def warm_crystal(seed):
    """32 atoms, out of place by so much that the energy is about that of 40 K."""
    atoms = bulk("Ar", "fcc", 5.35, cubic=True).repeat(2)
    atoms.rattle(0.1, seed=seed)
    return atoms


def main(steps=100, systems=4, change=1e-5):
    """Print what was found, and give it back; ``change`` is the relative step of differences."""
    with jax.enable_x64(True):
        method = position_verlet(4 * fs)
        structures = [warm_crystal(seed) for seed in range(systems)]
        state = md_state(structures, ARGON, temperature=40.0, forces=False)

        @jax.jit
        @as_result_function
        def compiled(potential, state):
            return jax.value_and_grad(displacement)(potential, state, method, steps)

        def computed(potential):
            """S and its derivatives, checked; buffers of the neighbor list grow if they have to."""
            return propagate_and_fix(lambda state: compiled(potential, state), state)[0]

        value, slopes = computed(ARGON)
        found = {"value": float(value)}
        print(f"{steps} steps of 4 fs, {systems} systems of 32 atoms: S = {value:.5f} Å²")
        for name, symbol, unit in (("epsilon", "ε", "Å²/eV"), ("sigma", "σ", "Å")):
            (up, _), (down, _) = (
                computed(with_parameter(ARGON, name, 1 + sign * change)) for sign in (1, -1)
            )
            width = 2 * change * getattr(ARGON.formula, name).item()
            slope, difference = getattr(slopes.formula, name).item(), float(up - down) / width
            found[name], found[f"{name}_error"] = slope, abs(difference / slope - 1)
            print(
                f"  ∂S/∂{symbol} = {slope:+.6f} {unit}, by differences {difference:+.6f}: "
                f"{found[f'{name}_error']:.0e} apart"
            )
    return found


if __name__ == "__main__":
    main()
