"""A thousand small systems as `instar run` moves them, against one state, blocks and LAMMPS.

    .venv/bin/python bench/many_systems.py [run] [peers] [--systems 1000]

Lennard-Jones at ρ* = 0.8442, cutoff 2.5 σ, float64, two cores (two host devices), thermo every 20
steps: crystals of 32, 54 and 64 atoms, molten. Sides take turns, the best of five each.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
from fluid import peer, show
from record import figure, timed, written

import instar
from instar.app.config import Loaded, load
from instar.app.run.build import built
from instar.core.propagator import advance
from instar.dynamics import md

STEPS, MELTED, TURNS = 60, 200, 5
LATTICES = (("fcc", 2), ("bcc", 3), ("sc", 4))


def configuration(systems: int) -> dict[str, Any]:
    """Copies of three crystals."""
    structures = [
        {"lattice": lattice, "species": "Ar", "repeat": repeat, "density": 0.8442}
        for lattice, repeat in LATTICES
    ]
    return {
        "units": "lj",
        "systems": [
            {"structure": one, "temperature": 1.44, "copies": systems // len(structures)}
            for one in structures
        ],
        "potential": [
            {
                "type": "lennard_jones",
                "cutoff": 2.5,
                "truncation": "force_shift",
                "parameters": {"Ar": {"epsilon": 1.0, "sigma": 1.0}},
            }
        ],
        "method": {"type": "md", "ensemble": "nve", "time_step": 0.005, "skin": 0.45},
        "run": {"steps": 100_000},
        "output": {"trajectory_every": 1000, "thermo_every": 20},
    }


def moved(loaded: Loaded, blocks: int | None) -> Callable[[], None]:
    """Steps of a run, its rows of thermo included, in so many blocks or as it chooses."""
    job = built(loaded, blocks=blocks)
    print(f"  in {job.kind.blocks_of(job.state)} blocks", flush=True)
    step, held = job.phases[-1].step, [job.state]

    def turn(steps: int = STEPS) -> None:
        held[0] = advance(step, job.key, held[0], steps, start=int(held[0].step))
        jax.block_until_ready(held[0].particles.data.positions)

    turn(MELTED)
    return turn


def library(loaded: Loaded) -> Callable[[], None]:
    """The same systems by `md.simulate_blocks`, nothing recorded."""
    job = built(loaded, blocks=0)
    method = job.phases[-1].step.step
    structures = job.kind.structures(job.state, job.systems)
    blocks = instar.md_blocks(structures, loaded.recipe.given or job.state.potential, atoms=1500)
    held = [md.simulate_blocks(method, blocks, MELTED)]

    def turn() -> None:
        held[0] = jax.block_until_ready(md.simulate_blocks(method, held[0], STEPS))

    return turn


def speeds(sides: dict[str, Callable[[], None]], atoms: int) -> dict[str, float]:
    """Atom-steps/s of each side, turn by turn."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(TURNS):
        for name, turn in sides.items():
            begin = time.perf_counter()
            turn()
            times[name].append(time.perf_counter() - begin)
    for name, taken in times.items():
        timed(taken, name)
    return {name: atoms * STEPS / min(taken) for name, taken in times.items()}


def lammps() -> float:
    """Atom-steps/s of two processes, each of which has half of the systems."""
    with ThreadPoolExecutor(2) as pool:
        options = ("--systems", "33", "--steps", "1000")
        both = [pool.submit(peer, "lammps", "lammps_small.py", *options) for _ in range(2)]
    return sum(one.result()["atom_steps_per_second"] for one in both)


def main(rows: list[str], systems: int) -> None:
    """Ratios of what was asked for."""
    with jax.enable_x64(True):
        loaded = load(configuration(systems))
        sides = {"run": moved(loaded, None)}
        if "run" in rows:
            sides |= {"one state": moved(loaded, 0), "library": library(loaded)}
        found = speeds(sides, int(loaded.counts.sum()))
    figure("a run of many systems (atom-steps/s)", found["run"])
    for name, speed in found.items():
        if name != "run":
            show(f"{systems} systems by a run, speed against {name}", found["run"] / speed, "")
    if "peers" in rows:
        show("… against LAMMPS (2 processes)", found["run"] / lammps(), ">= 1.0")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", default=["run", "peers"])
    parser.add_argument("--systems", type=int, default=1000)
    asked = parser.parse_args()
    with written("many_systems"):
        main(asked.rows, asked.systems)
