"""What a whole run costs beyond its steps: recording, checkpoints, starting, bytes.

    .venv/bin/python bench/run.py

Argon, 4000 atoms, Langevin, frames every 100 steps, thermo every 20, checkpoints every 5 s, in
float64, on two cores. Ratios are of figures measured in this run; so are the seconds until the
first step, with an empty compilation cache and with a filled one.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import yaml
from fluid import show
from record import timed, written

import instar
from instar.app.config import load
from instar.app.run.build import built
from instar.core.propagator import advance

STEPS = 6000
CONFIG: dict[str, Any] = {
    "systems": [
        {
            "structure": {"lattice": "fcc", "species": "Ar", "repeat": 10, "density": "1.4 g/cm^3"},
            "temperature": "94.4 K",
        }
    ],
    "potential": [
        {
            "type": "lennard_jones",
            "cutoff": "8.5 angstrom",
            "truncation": "force_shift",
            "parameters": {"Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
        }
    ],
    "method": {"type": "md", "ensemble": "nvt", "thermostat": "langevin", "time_step": "2 fs"},
    "run": {"steps": STEPS},
    "output": {"trajectory_every": 100, "thermo_every": 20, "checkpoint_every": "5 s"},
}


def bare_seconds() -> float:
    """As many steps as one compiled loop, nothing recorded; compiled before, best of two."""
    with jax.enable_x64(True):
        job = built(load(CONFIG))
        step, key, state = job.phases[-1].step.step, jax.random.key(0), job.state
        state = jax.block_until_ready(advance(step, key, state, STEPS))  # compiled, and grown
        times = []
        for turn in (1, 2):
            begin = time.perf_counter()
            state = advance(step, key, state, STEPS, start=turn * STEPS)
            jax.block_until_ready(state.particles.data.positions)
            times.append(time.perf_counter() - begin)
        timed(times, "the bare loop")
        return min(times)


def run_seconds(folder: Path) -> float:
    """A run from its first step to its last checkpoint; compiled before."""
    found = []
    for name in ("first", "second", "run"):
        instar.run(CONFIG, out=folder / name, report=False)
        (session,) = json.loads((folder / name / "timing.json").read_text())
        found.append(session["seconds"])
    timed(found, "a run")
    return min(found)


def bytes_on_disk(folder: Path) -> int:
    """The trajectory, and all that belongs to it."""
    parts = [folder / "trajectory.h5", *(folder / "trajectory").iterdir()]
    return sum(part.stat().st_size for part in parts)


def seconds_to_first_step(config: Path, folder: Path, cache: Path) -> float:
    """From the command to the line that says that the first step is made."""
    variables = {**os.environ, "XLA_FLAGS": "", "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-m", "instar", "run", str(config), "--out", str(folder)]
    begin = time.perf_counter()
    process = subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("step "):
            break
    took = time.perf_counter() - begin
    process.kill()
    process.wait()
    process.stderr.close()
    return took


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare, whole = bare_seconds(), run_seconds(folder)
        show("a run against the bare compiled loop, speed", bare / whole, ">= 0.9")
        raw = STEPS // 100 * 4000 * 12
        show(
            "bytes on disk against float32 positions", bytes_on_disk(folder / "run") / raw, "<= 1.1"
        )
        config, cache = folder / "run.yaml", folder / "cache"
        config.write_text(yaml.safe_dump(CONFIG))
        cold = seconds_to_first_step(config, folder / "cold", cache)
        warm = [seconds_to_first_step(config, folder / f"warm{n}", cache) for n in range(3)]
        show("seconds from the command to the first step, empty cache", cold, "<= 5")
        timed(warm)
        show("… compiled before", min(warm), "<= 2.5")


if __name__ == "__main__":
    with written("run"):
        main()
