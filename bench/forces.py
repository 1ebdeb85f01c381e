"""Forces and steps of the Lennard-Jones fluid, against the bare limit and against peers.

    make bench-peers    (or: .venv/bin/python bench/forces.py [row ...])

ρ* = 0.8442, cutoff 2.5 σ, float64, two cores (two host devices). Peers run in their own
environments (`tools/peers lammps`, `tools/peers jaxmd`). Each row prints one ratio; both sides
are measured in this run, after the other, the best of a few times each.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from fluid import (
    CUTOFF,
    POTENTIAL,
    Fluid,
    atom_steps_per_second,
    best_of,
    both_cores,
    fluid,
    melted,
    peer,
    show,
)
from jax import Array, lax
from record import figure, timed, written
from small_systems import small_systems_speed

from instar import kernels
from instar.potentials import evaluate

SKINS = (0.3, 0.4)


def hand_laid(x: Array, y: Array, z: Array, slots: Array, atoms: int) -> tuple[Array, ...]:
    """The bare limit: a padded matrix (K, N) of neighbors, three arrays, the derivative by hand."""

    def body(sums: Any, near: Array) -> Any:
        parts = []
        for k in range(2):
            dx, dy, dz = (
                p[:atoms] - p.at[near[k]].get(mode="promise_in_bounds") for p in (x, y, z)
            )
            squared = dx * dx + dy * dy + dz * dz
            inverse = 1 / squared
            sixth = inverse * inverse * inverse
            pull = jnp.where(squared < CUTOFF**2, 24 * sixth * (2 * sixth - 1) * inverse, 0)
            parts.append((pull * dx, pull * dy, pull * dz))
        return tuple(s + a + b for s, a, b in zip(sums, *parts, strict=True)), None

    zeros = jnp.zeros(atoms)
    return lax.scan(body, (zeros, zeros, zeros), slots.reshape(-1, 2, atoms))[0]


def forces_against_the_bare_limit(atoms: int = 4000) -> None:
    state = melted(fluid([atoms], 0.3))
    listed = state.neighbors
    points = listed.images.positions(
        state.particles.data.positions, jnp.zeros(atoms, jnp.int32), state.systems.data.cell
    )
    rows = listed.rows.reshape(-1)[:atoms]
    most = int(jnp.max(jnp.sum(listed.slots > 0, axis=1)))
    slots = np.asarray(listed.slots)[:, : most + most % 2].transpose(1, 0, 2)
    slots = slots.reshape(slots.shape[0], -1)[:, :atoms]
    # Rows of the matrix first, then all images, the row that is nowhere far away.
    ordered = [jnp.concatenate([p[rows], p.at[0].set(1e6)]) for p in points]
    slots = jnp.asarray(slots + atoms)
    bare = jax.jit(hand_laid, static_argnums=4)
    ours = jax.jit(lambda s: evaluate(POTENTIAL, s.particles, s.systems, s.neighbors, energy=False))
    limit = best_of(lambda: bare(*ordered, slots, atoms), 40)
    ratio = best_of(lambda: ours(state), 40) / limit
    show("forces on a fixed list against the hand-laid kernel", ratio, "<= 1.1")
    everything = jax.jit(
        lambda s: evaluate(POTENTIAL, s.particles, s.systems, s.neighbors, virial=True)
    )
    extra = best_of(lambda: everything(state), 40) / best_of(lambda: ours(state), 40)
    show("forces with stress and energies against forces alone", extra, "<= 1.2")


def kernels_against_jax(atoms: int = 4000, repeats: int = 60) -> None:
    """Forces, alone and with all else, on one device: both paths turn by turn."""
    state = melted(fluid([atoms], 0.3))
    asked = {"forces": {"energy": False}, "everything": {"virial": True}}
    works = {
        (k, name): _evaluation(state, k, **asked[name]) for k in (True, False) for name in asked
    }
    times: dict[Any, list[float]] = {which: [] for which in works}
    for _ in range(repeats):
        for which, work in works.items():
            start = time.perf_counter()
            work()
            times[which].append(time.perf_counter() - start)
    for (kernel, name), taken in times.items():
        timed(taken, f"{name}, {'kernel' if kernel else 'JAX'}")
    best = {which: min(taken) for which, taken in times.items()}
    print(f"  kernels: {kernels.status().text}; {atoms / best[True, 'forces'] / 1e6:.2f} M atoms/s")
    for name in asked:
        show(
            f"{name}, speed of the kernel against JAX", best[False, name] / best[True, name], "> 1"
        )
    extra = best[True, "everything"] / best[True, "forces"]
    show("kernel: forces with stress and energies against forces alone", extra, "<= 1.15")


def _evaluation(state: Fluid, kernel: bool, **asked: Any) -> Callable[[], Any]:
    """An evaluation by one of the two paths, compiled already."""
    work = jax.jit(lambda s: evaluate(POTENTIAL, s.particles, s.systems, s.neighbors, **asked))

    def run() -> Any:
        with kernels.using(kernel):
            return jax.block_until_ready(work(state))

    run()
    return run


def speed(atoms: int, steps: int, mesh: Any) -> float:
    """Our best over a few skins, in atom-steps/s."""
    return max(atom_steps_per_second(melted(fluid([atoms], s, mesh)), steps) for s in SKINS)


def steps_against_peers() -> None:
    for atoms, steps, least in ((4000, 400, 0.5), (32_000, 60, 0.4)):
        ours = speed(atoms, steps, both_cores())
        print(f"  instar, {atoms} atoms: {ours / 1e6:.2f} M atom-steps/s")
        figure(f"NVE steps, {atoms} atoms (atom-steps/s)", ours)
        known = ["--atoms", str(atoms), "--steps", str(steps)]
        lammps = max(
            peer("lammps", "lammps_nve.py", *known, "--skin", skin, "--processes", "2")[
                "atom_steps_per_second"
            ]
            for skin in ("0.25", "0.3")
        )
        print(f"  LAMMPS, 2 processes: {lammps / 1e6:.2f} M atom-steps/s")
        figure(f"NVE steps, {atoms} atoms, LAMMPS (atom-steps/s)", lammps)
        show(f"NVE steps, {atoms} atoms, speed against LAMMPS", ours / lammps, f">= {least}")
        known = ["--atoms", str(atoms), "--steps", "50", "--skin", "0.5"]
        jaxmd = peer("jaxmd", "jaxmd_nve.py", *known)
        show(
            f"NVE steps, {atoms} atoms, speed against JAX-MD",
            ours / jaxmd["atom_steps_per_second"],
            ">= 8",
        )


def small_systems() -> None:
    ours = small_systems_speed(1000)
    lammps = peer("lammps", "lammps_small.py", "--systems", "33", "--steps", "1000")
    print(f"  instar {ours / 1e6:.2f}, LAMMPS {lammps['atom_steps_per_second'] / 1e6:.2f} M/s")
    ratio = ours / lammps["atom_steps_per_second"]
    show("1000 systems of 32-64 atoms, speed against LAMMPS on one core", ratio, ">= 0.6")


def growth() -> None:
    many, few = (speed(atoms, steps, both_cores()) for atoms, steps in ((256_000, 15), (4000, 400)))
    show("time per atom at 256,000 atoms against 4000", few / many, "<= 1.5")


def memory(repeats: int = 3) -> None:
    """The largest of a few processes."""
    command = [sys.executable, __file__, "--memory"]
    runs = [subprocess.run(command, check=True, capture_output=True) for _ in range(repeats)]
    used = [float(run.stdout) for run in runs]
    what = "memory per atom, 10⁶ atoms: list, energy, forces (kB)"
    show(what, max(used), "<= 4", repeats=used)


def memory_here(atoms: int = 1_000_188) -> float:
    """High water of this process (kB per atom), less what it held before the state was made."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    state: Fluid = fluid([atoms], 0.3)
    forces = jax.jit(lambda s: evaluate(POTENTIAL, s.particles, s.systems, s.neighbors))
    jax.block_until_ready(forces(state))
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return used / atoms / 1000


ROWS = {
    "limit": forces_against_the_bare_limit,
    "kernels": kernels_against_jax,
    "steps": steps_against_peers,
    "small": small_systems,
    "growth": growth,
    "memory": memory,
}

if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    if sys.argv[1:] == ["--memory"]:
        print(memory_here())
    else:
        with written("forces"):
            for name in sys.argv[1:] or ["memory", "limit", "kernels", "steps", "small", "growth"]:
                ROWS[name]()
