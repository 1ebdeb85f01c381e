"""g(r) of the frames of a run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import structures_of, tables
from instar.app.config import Loaded
from instar.app.results.trajectory import Trajectory
from instar.app.run.findings import in_units
from instar.core.lens import identity_lens
from instar.core.utils.jax import dataclass
from instar.observables import Curve, observe
from instar.observables.radial import RadialObservation

__all__ = ["radial_of"]

_FRAMES, _BINS, _REACH = 10, 150, 10.0  # Å


@dataclass
class _Frame:
    particles: Any
    systems: Any


def radial_of(trajectory: Trajectory, loaded: Loaded) -> Curve | None:
    """g(r) of all atoms, from a few frames spread over the run.

    Nothing without frames, or for systems that do not repeat along all axes: they have no density.
    """
    count = min(map(trajectory.count, range(trajectory.systems)), default=0)
    if not (count and all(atoms.pbc.all() for atoms in loaded.structures)):
        return None
    chosen = np.unique(np.linspace(0, count - 1, _FRAMES).round().astype(int))
    entry = RadialObservation(reach=_REACH, bins=_BINS)
    with jax.enable_x64(True):
        frames = []
        for number in chosen:
            systems = trajectory.structures(int(number))
            frames.append(_Frame(*tables(structures_of(systems), np.float64)))
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *frames)
        observer = entry.made(frames[0], identity_lens())
        found = entry.found(observe(observer, stacked), None)
        return in_units(found, loaded.units).curves["g"]
