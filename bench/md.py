"""What methods of molecular dynamics cost, and how fast batches of systems move.

    make bench-peers    (or: .venv/bin/python bench/md.py [methods] [batch] [lammps] [peers])

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
from record import figure, timed, written

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


def moving(sizes: list[int], skin: float = 0.3, steps: int = 300, **options: Any) -> md.State:
    """Molten fluids, one system of each size."""
    rest = at_rest(sizes, skin)
    rows = rest.particles.data
    count = len(rest.particles)
    labels = Index(Index.new([Label("Ar")], label=Label).vocabulary, jnp.zeros(count, jnp.int32))
    particles = Table.arange(
        Columns(rows.positions, rows.system, labels, jnp.zeros(count)), label=ParticleId
    )
    state = md.start(particles, rest.systems, POTENTIAL, np.ones(count), skin=skin, **options)
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
    key, states = jax.random.key(1), {}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for name, (step, state) in runs.items():
        states[name] = advance(step, key, step.begin(state), steps)
    for _ in range(repeats):
        for name, (step, _state) in runs.items():
            state = states[name]
            begin = time.perf_counter()
            state = advance(step, key, state, steps, start=int(state.step))
            jax.block_until_ready(state.particles.data.positions)
            times[name].append(time.perf_counter() - begin)
            states[name] = state
    for name, taken in times.items():
        timed(taken, name)
    return {name: steps / min(taken) for name, taken in times.items()}


def every_method(atoms: int = 4000) -> None:
    state = moving([atoms], mesh=both_cores())
    speeds = turns({name: (step, state) for name, step in methods().items()}, 200, 5)
    for name, speed in speeds.items():
        show(f"{name}, {atoms} atoms, speed against NVE", speed / speeds["nve"], ">= 0.85")


def batches(systems: int = 1000, skins: tuple[float, ...] = (0.3, 0.5)) -> None:
    """Many systems in blocks against one of as many atoms, each at the skin that suits it."""
    for atoms, blocks in ((64, 40), (256, 100)):
        each = systems // blocks
        first = {skin: moving([atoms] * each, skin, steps=100) for skin in skins}
        many = {skin: copies(state, blocks) for skin, state in first.items()}
        one = {
            skin: [moving([atoms * systems], skin, steps=100, mesh=both_cores())] for skin in skins
        }
        ratio = best_of_blocks(many) / best_of_blocks(one)
        show(f"{systems} systems of {atoms} atoms against one of as many atoms", ratio, ">= 0.8")


def copies(state: md.State, count: int) -> list[md.State]:
    """Blocks that start alike and draw numbers of their own."""
    streams = np.arange(count * len(state.systems), dtype=np.uint32).reshape(count, -1)
    drawn = [state.with_systems(stream=jnp.asarray(row)) for row in streams]
    return [md.draw_velocities(jax.random.key(0), b, TEMPERATURE * KELVIN) for b in drawn]


def best_of_blocks(runs: dict[float, list[md.State]], steps: int = 100, repeats: int = 3) -> float:
    """Steps/s of all blocks together, at the best skin."""
    step, best = md.nve(TIME_STEP), 0.0
    for blocks in runs.values():
        states, times = run_blocks(step, blocks, steps), []
        for _ in range(repeats):
            begin = time.perf_counter()
            states = jax.block_until_ready(run_blocks(step, states, steps))
            times.append(time.perf_counter() - begin)
        timed(times)
        best = max(best, steps / min(times))
    return best


def run_blocks(step: md.Step, blocks: list[md.State], steps: int) -> list[md.State]:
    """One state spread over all devices, or blocks that they share."""
    if len(blocks) == 1:
        return [md.simulate(step, blocks[0], steps)]
    return md.simulate_blocks(step, blocks, steps)


def speed_of(atoms: int, mesh: Any = None) -> float:
    """Atom-steps/s of NVE, at the better of two skins."""
    step = md.nve(TIME_STEP)
    runs = {f"{skin}": (step, moving([atoms], skin, mesh=mesh)) for skin in (0.3, 0.4)}
    return atoms * max(turns(runs, 400, 3).values())


def lammps(sizes: dict[int, int] | None = None, repeats: int = 5) -> None:
    """NVE against two processes of LAMMPS, turn by turn, on one host device and on two."""
    step, key = md.nve(TIME_STEP), jax.random.key(1)
    for atoms, steps in (sizes or {4000: 1000, 32_000: 120}).items():
        asked = ["--atoms", str(atoms), "--steps", str(steps), "--skin", "0.3", "--processes", "2"]
        meshes = {"one device": None, "two devices": both_cores()}
        states = {name: moving([atoms], 0.3, mesh=mesh) for name, mesh in meshes.items()}
        for name, state in states.items():
            states[name] = advance(step, key, state, steps, start=int(state.step))
        speeds: dict[str, list[float]] = {name: [] for name in [*states, "LAMMPS"]}
        for _ in range(repeats):
            for name, state in states.items():
                begin = time.perf_counter()
                moved = advance(step, key, state, steps, start=int(state.step))
                jax.block_until_ready(moved.particles.data.positions)
                speeds[name].append(atoms * steps / (time.perf_counter() - begin))
                states[name] = moved
            found = peer("lammps", "lammps_nve.py", *asked)["atom_steps_per_second"]
            speeds["LAMMPS"].append(found)
        for name, known in speeds.items():
            print(f"  {name}: {min(known) / 1e6:.2f} to {max(known) / 1e6:.2f} M atom-steps/s")
            figure(f"NVE, {atoms} atoms, {name} (atom-steps/s)", max(known), all=known)
        best = max(max(speeds[name]) for name in states)
        ratio = best / max(speeds["LAMMPS"])
        show(f"NVE, {atoms} atoms, speed against LAMMPS (2 processes)", ratio, ">= 1.2")


def peers(atoms: int = 4000, few: int = 256) -> None:
    """kUPS is compared where it is at its best, with few atoms."""
    many, small = speed_of(atoms, both_cores()), speed_of(few)
    print(f"  instar: {many / 1e6:.2f} M atom-steps/s, {small / 1e6:.2f} M with {few} atoms")
    figure(f"NVE, {atoms} atoms (atom-steps/s)", many)
    figure(f"NVE, {few} atoms (atom-steps/s)", small)
    size = ["--atoms", str(atoms)]
    jaxmd = peer("jaxmd", "jaxmd_nve.py", *size, "--steps", "50")["atom_steps_per_second"]
    show(f"NVE, {atoms} atoms, speed against JAX-MD", many / jaxmd, ">= 8")
    kups = peer("kups", "kups_nve.py", "--atoms", str(few), "--steps", "20")
    show(f"NVE, {few} atoms, speed against kUPS", small / kups["atom_steps_per_second"], "")


ROWS = {"methods": every_method, "batch": batches, "lammps": lammps, "peers": peers}

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    with written("md"):
        for row in sys.argv[1:] or list(ROWS):
            ROWS[row]()
