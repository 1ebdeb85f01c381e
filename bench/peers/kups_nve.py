"""Times kUPS on Lennard-Jones fluids: NVE at rho* 0.8442, cutoff 2.5, float64.

    tools/peers kups
    .venv-peers/kups/bin/python bench/peers/kups_nve.py --atoms 4000 --steps 5
    .venv-peers/kups/bin/python bench/peers/kups_nve.py --systems 33 --steps 100

Its command `kups_md` runs with the integrator "verlet", argon standing for the reduced units: one
fcc lattice at T* 1.44, or with --systems a batch whose sizes cycle over 32..64 atoms. It melts
first; then its progress bar moves once a block of STEPS steps, between whose frames nothing is
written. What is timed is from one move to another, best of --repeats: reading in, compiling and
the first block are left out.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  # pyright: ignore[reportUnusedImport]  # reads what kUPS writes
import numpy as np

DENSITY = 0.8442
TEMPERATURE = 1.44
CUTOFF = 2.5
TIMESTEP = 0.005
# Argon: Å, eV, amu, and what turns them into kelvin and femtoseconds.
SIGMA, EPSILON, MASS = 3.4, 0.0104, 39.948
BOLTZMANN, FEMTOSECONDS = 8.617333262e-5, 10.180506


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--atoms", type=int, default=4000, help="four times a cube: 4000, 32000")
    parser.add_argument("--systems", type=int, help="that many small systems, instead of --atoms")
    parser.add_argument("--steps", type=int, default=5, help="of one block")
    parser.add_argument("--melt", type=int, default=20, help="untimed steps before")
    parser.add_argument("--repeats", type=int, default=20, help="kups_md fails after only a few")
    return parser.parse_args()


def lattice(atoms: int) -> np.ndarray:
    """Sites of an fcc lattice, in edges of the box."""
    side = round((atoms / 4) ** (1 / 3))
    if 4 * side**3 != atoms:
        raise SystemExit(f"--atoms {atoms} is not 4 n³: use 4000 or 32000.")
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.array(list(product(range(side), repeat=3)))
    return (corners[:, None] + basis).reshape(-1, 3) / side


def pushed_apart(atoms: int) -> np.ndarray:
    """Some of the 64 sites of a simple cubic lattice, moved until none overlap, in edges."""
    length = (atoms / DENSITY) ** (1 / 3)
    rng = np.random.default_rng(atoms)
    sites = rng.permutation(np.array(list(product(range(4), repeat=3))))[:atoms]
    x = (sites + rng.normal(0, 0.02, sites.shape)) / 4
    for _ in range(1000):
        apart = x[:, None] - x
        apart = (apart - np.round(apart)) * length
        squared = np.sum(apart**2, axis=-1) + 100 * np.eye(atoms)
        sixth = squared**-3
        pull = np.where(sixth > 0.5, 24 * sixth * (2 * sixth - 1) / squared, 0)
        push = np.sum(pull[..., None] * apart, axis=1)
        x += np.clip(2e-3 * push, -0.05, 0.05) / length
    return x


def write_cif(path: Path, sites: np.ndarray) -> None:
    """A cubic box at the density of the bench; every site has the one label that has parameters."""
    edge = SIGMA * (len(sites) / DENSITY) ** (1 / 3)
    cell = "".join(f"_cell_length_{axis} {edge:.12f}\n" for axis in "abc")
    cell += "".join(f"_cell_angle_{angle} 90\n" for angle in ("alpha", "beta", "gamma"))
    names = ("type_symbol", "label", "fract_x", "fract_y", "fract_z")
    columns = "".join(f"_atom_site_{name}\n" for name in names)
    rows = "".join("Ar Ar {:.12f} {:.12f} {:.12f}\n".format(*site) for site in sites % 1)
    path.write_text(f"data_fluid\n{cell}_space_group_IT_number 1\nloop_\n{columns}{rows}")


def configuration(files: list[Path], out: Path, options: argparse.Namespace) -> dict[str, object]:
    md = {
        "temperature": TEMPERATURE * EPSILON / BOLTZMANN,
        "time_step": TIMESTEP * FEMTOSECONDS * SIGMA * (MASS / EPSILON) ** 0.5,
        "integrator": "verlet",
        "initialize_momenta": True,
    }
    of_other_integrators = {
        "friction_coefficient": 0.01,
        "thermostat_time_constant": 100.0,
        "target_pressure": 0.0,
        "pressure_coupling_time": 100.0,
        "compressibility": 1e-5,
        "minimum_scale_factor": 0.9,
    }
    return {
        "run": {
            "out_file": str(out),
            "num_steps": options.steps * (options.repeats + 1),
            "num_warmup_steps": options.melt,
            "block_size": options.steps,
            "seed": 0,
        },
        "md": md | of_other_integrators,
        "potential": {
            "backend": "lj",
            "cutoff": CUTOFF * SIGMA,
            "parameters": {"Ar": [SIGMA, EPSILON]},
            "mixing_rule": "lorentz_berthelot",
        },
        "inp_files": [str(file) for file in files],
    }


def moves(config: Path, log: Path, blocks: int) -> Iterator[tuple[int, float]]:
    """How many of the blocks the progress bar says are done, and when (s)."""
    command = [Path(sys.executable).parent / "kups_md", config]
    shown = os.environ | {"TQDM_MININTERVAL": "0", "TQDM_MINITERS": "1", "COLUMNS": "200"}
    with (
        log.open("wb") as kept,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=shown
        ) as process,
    ):
        assert process.stdout
        text, running = b"", False
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            now = time.perf_counter()
            kept.write(chunk)
            *lines, text = re.split(rb"[\r\n]", text + chunk)
            for line in (*lines, text):
                running = running or b"Starting MD" in line
                bar = re.search(rb"\b(\d+)/(\d+) \[", line)
                if running and bar and int(bar[2]) == blocks:
                    yield int(bar[1]), now
    if process.returncode:
        said = log.read_text().strip().rpartition("\n")[2]
        raise SystemExit(f"kups_md failed: {said}")


def best_seconds(ticks: Iterator[tuple[int, float]]) -> float:
    """The shortest time of one block, the first left out."""
    first: dict[int, float] = {}
    for done, when in ticks:
        first.setdefault(done, when)
    known = sorted((done, when) for done, when in first.items() if done)
    spans = [(u - t) / (n - m) for (m, t), (n, u) in pairwise(known)]
    if not spans:
        raise SystemExit("kups_md's progress bar was not seen to move: raise --steps.")
    return min(spans)


def main() -> None:
    options = arguments()
    sizes = [options.atoms]
    if options.systems:
        sizes = [32 + number % 33 for number in range(options.systems)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = []
        for size in sizes:
            path = folder / f"{size}.cif"
            files.append(path)
            if not path.exists():
                write_cif(path, pushed_apart(size) if options.systems else lattice(size))
        config, out = folder / "fluid.yaml", folder / "out.h5"
        config.write_text(json.dumps(configuration(files, out, options)))
        best = best_seconds(moves(config, folder / "log", options.repeats + 1))
        with h5py.File(out) as stored:
            positions = np.asarray(stored["group.step/array.atoms.data.positions"])
            energies = (f"group.step/array.{kind}_energy" for kind in ("kinetic", "potential"))
            total = sum(np.asarray(stored[name]).sum(-1) for name in energies)
    assert positions.dtype == np.float64
    assert np.isfinite(positions).all()
    assert positions.shape[:2] == (options.repeats + 1, sum(sizes))
    speed = sum(sizes) * options.steps / best
    drift = float(np.ptp(total) / EPSILON / sum(sizes))
    result = {"atom_steps_per_second": speed, "loop_seconds": best, "atoms": sum(sizes)}
    print(json.dumps(result | {"drift_per_atom": drift}))


if __name__ == "__main__":
    main()
