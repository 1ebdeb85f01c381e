"""What methods of molecular dynamics cost, and how fast batches of systems move.

    make bench-peers    (or: .venv/bin/python bench/md.py [methods] [batch] [peers])

Lennard-Jones at ρ* = 0.8442, cutoff 2.5 σ, float64, two cores (two host devices). Each row prints
one ratio; both sides are measured in this run, turn by turn, the best of a few times each.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from fluid import (
    POTENTIAL,
    TEMPERATURE,
    TIME_STEP,
    at_rest,
    both_cores,
    peer,
    show,
)

from instar.core.data import Index, Table
from instar.core.propagator import advance
from instar.core.typing import Label, ParticleId
from instar.core.utils.jax import dataclass
from instar.dynamics import md
from instar.geometry.constants import BOLTZMANN

KELVIN = 1 / BOLTZMANN
"""One unit of temperature, with ε = 1 eV, σ = 1 Å and masses of 1 amu."""


@dataclass
class Columns:
    positions: Any
    system: Any
    labels: Any
    charges: Any


def moving(sizes: list[int], skin: float = 0.3, steps: int = 300, mesh: Any = None) -> md.State:
    """Molten fluids, one system of each size."""
    rest = at_rest(sizes, skin)
    rows = rest.particles.data
    count = len(rest.particles)
    labels = Index(Index.new([Label("Ar")], label=Label).vocabulary, jnp.zeros(count, jnp.int32))
    particles = Table.arange(
        Columns(rows.positions, rows.system, labels, jnp.zeros(count)), label=ParticleId
    )
    state = md.start(particles, rest.systems, POTENTIAL, np.ones(count), skin=skin, mesh=mesh)
    key = jax.random.key(0)
    # Friction takes up what atoms that start too close together give off.
    damped = md.langevin(TIME_STEP / 4, TEMPERATURE * KELVIN / 2, 20.0)
    state = advance(damped, key, state, 100)
    state = md.draw_velocities(key, state, TEMPERATURE * KELVIN)
    return advance(md.nve(TIME_STEP), key, state, steps)


def methods() -> dict[str, md.Step]:
    hot, tau = TEMPERATURE * KELVIN / 2, 0.5
    cell: dict[str, Any] = {"time_constant": tau, "pressure_time_constant": 5.0}
    rescaled = {**cell, "compressibility": 0.05}
    return {
        "nve": md.nve(TIME_STEP),
        "langevin": md.langevin(TIME_STEP, hot, 1.0),
        "velocity_rescaling": md.velocity_rescaling(TIME_STEP, hot, tau),
        "nose_hoover": md.nose_hoover(TIME_STEP, hot, tau),
        "cell_rescaling": md.cell_rescaling(TIME_STEP, hot, 1.0, **rescaled),
        "cell_rescaling full": md.cell_rescaling(TIME_STEP, hot, 1.0, coupling="full", **rescaled),
        "mtk": md.mtk(TIME_STEP, hot, 1.0, **cell),
        "mtk, every 10": md.mtk(TIME_STEP, hot, 1.0, every=10, **cell),
        "mtk full, every 10": md.mtk(TIME_STEP, hot, 1.0, coupling="full", every=10, **cell),
        "brownian": md.brownian(TIME_STEP / 40, hot, 20.0),
    }


def turns(runs: dict[str, tuple[md.Step, md.State]], steps: int, repeats: int) -> dict[str, float]:
    """Steps/s of each, the best of a few times, taken turn by turn."""
    key, best = jax.random.key(1), dict.fromkeys(runs, 0.0)
    states = {}
    for name, (step, state) in runs.items():
        states[name] = advance(step, key, step.begin(state), steps)
    for _ in range(repeats):
        for name, (step, _state) in runs.items():
            state = states[name]
            begin = time.perf_counter()
            state = advance(step, key, state, steps, start=int(state.step))
            jax.block_until_ready(state.particles.data.positions)
            best[name] = max(best[name], steps / (time.perf_counter() - begin))
            states[name] = state
    return best


def every_method(atoms: int = 4000) -> None:
    state = moving([atoms], mesh=both_cores())
    speeds = turns({name: (step, state) for name, step in methods().items()}, 200, 5)
    for name, speed in speeds.items():
        show(f"{name}, {atoms} atoms, speed against NVE", speed / speeds["nve"], ">= 0.85")


def batches(systems: int = 1000, atoms: int = 64) -> None:
    step = md.nve(TIME_STEP)
    runs = {
        "many": (step, moving([atoms] * systems, steps=100, mesh=both_cores())),
        "one": (step, moving([atoms * systems], steps=100, mesh=both_cores())),
    }
    speeds = turns(runs, 40, 3)
    ratio = speeds["many"] / speeds["one"]
    show(f"{systems} systems of {atoms} atoms against one of as many atoms", ratio, ">= 0.8")


def peers(atoms: int = 4000) -> None:
    step = md.nve(TIME_STEP)
    runs = {f"{skin}": (step, moving([atoms], skin, mesh=both_cores())) for skin in (0.3, 0.4)}
    ours = atoms * max(turns(runs, 400, 3).values())
    print(f"  instar, {atoms} atoms: {ours / 1e6:.2f} M atom-steps/s")
    size = ["--atoms", str(atoms)]
    parallel = [*size, "--steps", "400", "--skin", "0.3", "--processes", "2"]
    others = {
        "LAMMPS (2 processes)": lambda: peer("lammps", "lammps_nve.py", *parallel),
        "JAX-MD": lambda: peer("jaxmd", "jaxmd_nve.py", *size, "--steps", "50"),
        "kUPS": lambda: peer("kups", "kups_nve.py", *size, "--steps", "5", "--melt", "20"),
    }
    goals = {"LAMMPS (2 processes)": ">= 0.5", "JAX-MD": ">= 8", "kUPS": ""}
    for name, speed in others.items():
        ratio = ours / speed()["atom_steps_per_second"]
        show(f"NVE steps, {atoms} atoms, speed against {name}", ratio, goals[name])


ROWS = {"methods": every_method, "batch": batches, "peers": peers}

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    for row in sys.argv[1:] or list(ROWS):
        ROWS[row]()
