"""g(r) of the frames of a run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import structures_of, tables
from instar.app.config import Loaded
from instar.app.results.trajectory import Trajectory
from instar.core.utils.jax import dataclass
from instar.observables import RadialDistribution, observe

__all__ = ["radial_of"]

_FRAMES, _BINS, _REACH = 10, 150, 10.0  # Å


@dataclass
class _Frame:
    particles: Any
    systems: Any


def radial_of(trajectory: Trajectory, loaded: Loaded) -> tuple[np.ndarray, np.ndarray]:
    """Distances (bins,) in Å, and g (systems, bins), from a few frames spread over the run.

    Nothing without frames, or for systems that do not repeat along all axes: they have no density.
    """
    count = min(map(trajectory.count, range(trajectory.systems)), default=0)
    if not (count and all(atoms.pbc.all() for atoms in loaded.structures)):
        return np.zeros(0), np.zeros((0, 0))
    chosen = np.unique(np.linspace(0, count - 1, _FRAMES).round().astype(int))
    with jax.enable_x64(True):
        frames = []
        for number in chosen:
            systems = trajectory.structures(int(number))
            frames.append(_Frame(*tables(structures_of(systems), np.float64)))
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *frames)
        found = observe(RadialDistribution.of(frames[0], _REACH, _BINS), stacked).result()
        return np.asarray(found.distance), np.asarray(found.g)
