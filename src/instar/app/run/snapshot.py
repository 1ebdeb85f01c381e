"""A state as named arrays, and back: what a checkpoint holds.

Only what steps change is kept: particles, systems and the neighbor list. The potential and the
constraints are made anew from the configuration and the structures that a run began with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.dynamics import md
from instar.dynamics.md.state import NEIGHBORS
from instar.storage import CheckpointError

__all__ = ["arrays_of", "restored", "sizes_of"]


def _kept(state: md.State) -> dict[str, Any]:
    return {
        "particles": state.particles.data,
        "systems": state.systems.data,
        "neighbors": state.neighbors,
        "step": state.step,
    }


def arrays_of(state: md.State) -> dict[str, np.ndarray]:
    """Everything that a step changes, by name."""
    leaves, _ = jax.tree.flatten_with_path(jax.device_get(_kept(state)))
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def sizes_of(state: md.State) -> dict[str, int] | None:
    """The room of the neighbor list, which may have grown."""
    return None if state.neighbors is None else dataclasses.asdict(state.neighbors.sizes)


def restored(
    fresh: md.State, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int] | None
) -> md.State:
    """A state as it was, from a fresh one of the same systems."""
    if (sizes is None) != (fresh.neighbors is None):
        raise CheckpointError("The checkpoint is that of another system.")
    if sizes is not None and fresh.neighbors is not None:
        fresh = NEIGHBORS.set(fresh, fresh.neighbors.resized(**sizes))
    leaves, structure = jax.tree.flatten_with_path(_kept(fresh))
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    if set(names) != set(arrays):
        raise CheckpointError("The checkpoint is that of another system, or of another method.")
    for name, (_, leaf) in zip(names, leaves, strict=True):
        found = arrays[name]
        if found.shape != jnp.shape(leaf) or found.dtype != jnp.result_type(leaf):
            raise CheckpointError(
                f"The checkpoint is that of another system: {name} is {found.dtype}{found.shape}, "
                f"where {jnp.result_type(leaf)}{jnp.shape(leaf)} was expected."
            )
    kept = jax.tree.unflatten(structure, [jnp.asarray(arrays[name]) for name in names])
    return dataclasses.replace(
        fresh,
        particles=dataclasses.replace(fresh.particles, data=kept["particles"]),
        systems=dataclasses.replace(fresh.systems, data=kept["systems"]),
        neighbors=kept["neighbors"],
        step=kept["step"],
    )
