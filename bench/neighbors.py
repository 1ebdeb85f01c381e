"""Neighbor lists: a build against vesin, and what the cost model of searches rests on.

    make bench-peers    (or: .venv/bin/python bench/neighbors.py)

vesin runs in its own environment (`tools/peers vesin`) on the same positions, with both cores;
both give every ordered pair within the reach, with its image.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from fluid import DENSITY, Fluid, best_of, both_cores, fluid, peer, show
from record import figure, written

from instar.neighbors.images import wrap
from instar.neighbors.making import sorted_images

SKIN = 0.3


def build_time(state: Fluid) -> float:
    """Seconds for a list made from scratch."""
    data, cell = state.particles.data, state.systems.data.cell

    @jax.jit
    def make(state: Fluid, positions: Any) -> Any:
        return state.neighbors._made(positions, data.system, cell)

    return best_of(lambda: make(state, data.positions), 15)


def against_vesin(atoms: int) -> None:
    ours = fluid([atoms], SKIN, both_cores())
    seconds = build_time(ours)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "positions.npy"
        np.save(file, np.asarray(ours.particles.data.positions))
        edge = (atoms / DENSITY) ** (1 / 3)
        known = ["--positions", str(file), "--box", str(edge), "--threads", "2"]
        theirs = peer("vesin", "vesin_list.py", *known, "--reach", str(2.5 + SKIN))
    ratio = seconds / theirs["seconds"]
    show(f"full list, {atoms} atoms, time against vesin (2 threads)", ratio, "<= 0.25")


def searches(atoms: int) -> None:
    """Measured times of each way to search, per atom: the cost model's figures come from here."""
    for subdivision in (0, 1, 2, 3):
        if subdivision == 0 and atoms > 1000:
            continue
        state = fluid([atoms], SKIN, subdivision=subdivision)
        data, cell = state.particles.data, state.systems.data.cell
        reach = state.neighbors.cutoff + state.neighbors.skin
        rows = state.neighbors.sizes.images

        @jax.jit
        def grid(positions: Any) -> Any:
            wrapped = wrap(positions, data.system, cell)  # noqa: B023 (called at once)
            return sorted_images(wrapped, positions, cell, reach, None, rows, subdivision)  # noqa: B023

        whole, sorting = build_time(state), best_of(lambda: grid(data.positions), 15)  # noqa: B023
        nanoseconds = 1e9 / atoms
        print(
            f"  {atoms:6} atoms, {subdivision} bins to a reach: {whole * nanoseconds:7.0f} "
            f"ns/atom, of which images and bins {sorting * nanoseconds:6.0f}"
        )
        what = f"search of {atoms} atoms, {subdivision} bins to a reach (ns/atom)"
        figure(what, whole * nanoseconds, sorting=sorting * nanoseconds)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    with written("neighbors"):
        against_vesin(10_000)
        print("time of one search, one core:")
        for atoms in (64, 500, 4000, 32_000):
            searches(atoms)
