"""Ewald sums of rock salt against LAMMPS and OpenMM at the same force error, and as they grow.

    make bench-peers    (or: .venv/bin/python bench/coulomb.py [row ...])

Ions are displaced by 0.3 Å rms. One evaluation of energy and forces, on neighbor lists that stand,
float64, two cores (our best with one or two host devices). Errors are measured against a converged
sum. A peer is tried with many settings (LAMMPS with two processes, OpenMM with two threads, which
computes in single precision); the fastest of those whose error is not larger than ours counts.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from fluid import both_cores, show
from ions import Salt, converged, forces_of, made_for, rms, rock_salt, seconds
from record import figure, written

ACCURACY = 2e-4
"""The error we ask for: about that of everyday molecular dynamics."""

ALIKE = 1.1
"""Errors within this ratio count as the same."""

LAMMPS = {
    "pppm": "--styles pppm --cutoffs 5 6 7 8 9 10 --accuracies 5e-5 1e-4 2e-4 4e-4",
    "ewald": "--styles ewald --cutoffs 9 10 11 12 14 --accuracies 5e-5 1e-4 2e-4",
}
OPENMM = "--cutoffs 6 7 8 9 --tolerances 5e-4 3e-4 2e-4 1e-4"


def fastest(salt: Salt, exact: np.ndarray, most: float, name: str, arguments: str) -> float:
    """Seconds of the fastest setting of a peer whose error is at most ``most``."""
    root = Path(__file__).parent.parent
    subprocess.run([root / "tools" / "peers", name], check=True, cwd=root)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        np.savez(folder / "in.npz", **salt._asdict())
        python = root / ".venv-peers" / name / "bin" / "python"
        script = root / "bench" / "peers" / f"{name}_coulomb.py"
        files = ["--input", folder / "in.npz", "--out", folder]
        run = [python, script, *files, *arguments.split()]
        rows: list[dict[str, Any]] = json.loads(
            subprocess.run(run, check=True, capture_output=True).stdout
        )
        errors = [rms(np.load(folder / row["forces"]) - exact) for row in rows]
    good = [row for row, error in zip(rows, errors, strict=True) if error <= ALIKE * most]
    if not good:
        raise SystemExit(f"{name}: no setting has an error of {most:.1e} or less: {errors}")
    best = min(good, key=lambda row: row["fastest"])
    print(f"  {name}: {best['fastest'] * 1e3:.2f} ms with {best['settings']}")
    figure(f"{len(salt.charges)} ions, {name} (s)", best["fastest"], settings=best["settings"])
    return best["fastest"]


def against_peers() -> None:
    for ions in (1000, 8000):
        salt = rock_salt(ions)
        exact = converged(salt)
        points = [made_for(salt, ACCURACY, devices) for devices in (None, both_cores())]
        error, ours = rms(forces_of(points[0]) - exact), min(map(seconds, points))
        print(f"  instar: {ours * 1e3:.2f} ms, error {error:.1e} kₑe²/Å²")
        figure(f"{ions} ions, instar (s)", ours, error=error)
        for style, arguments in LAMMPS.items():
            theirs = fastest(salt, exact, error, "lammps", f"{arguments} --processes 2")
            show(f"{ions} ions, speed against LAMMPS {style}", theirs / ours, "(a figure)")
        theirs = fastest(salt, exact, error, "openmm", f"{OPENMM} --threads 2")
        show(
            f"{ions} ions, speed against OpenMM PME, single precision", theirs / ours, "(a figure)"
        )


def growth() -> None:
    sizes = (1000, 8000, 64_000)
    times = {
        n: min(
            seconds(made_for(rock_salt(n), ACCURACY, d), repeats=8) for d in (None, both_cores())
        )
        for n in sizes
    }
    each = {n: times[n] / n for n in sizes}
    print("  " + ", ".join(f"{n} ions: {each[n] * 1e6:.2f} µs each" for n in sizes))
    show("time per ion, 64,000 ions against 1000", each[64_000] / each[1000], "<= 2")


def crossover() -> None:
    """Where a mesh becomes faster than waves, and what is chosen."""
    for accuracy in (2e-4, 2e-6):
        for ions in (64, 216, 512, 1000, 4096):
            salt = rock_salt(ions)
            made = {m: made_for(salt, accuracy, None, method=m) for m in ("ewald", "pme", "auto")}
            times = {m: seconds(point) for m, point in made.items()}
            chosen: Any = made["auto"].potential
            name = "mesh" if chosen.meshes else "waves"
            what = f"{ions} ions, accuracy {accuracy:g}: time of waves against a mesh"
            show(what, times["ewald"] / times["pme"], f"{name} chosen")


ROWS = {"peers": against_peers, "growth": growth, "crossover": crossover}

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    with written("coulomb"):
        for name in sys.argv[1:] or list(ROWS):
            ROWS[name]()
