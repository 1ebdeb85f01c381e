"""A state as named arrays, and back: what a checkpoint holds.

A state says itself what steps change (`DynamicState.CHANGED`); what its observers have seen comes
with it. All else is made again from the configuration and the structures that a run began with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.run.doubting import check_finite, check_kept, check_sizes
from instar.core.data import Table
from instar.core.utils.on_device import on_device
from instar.dynamics import DynamicState
from instar.neighbors.blocks import dealt_again
from instar.observables import Rows
from instar.storage import CheckpointError

__all__ = ["arrays_of", "restored", "sizes_of"]


def _kept(state: DynamicState) -> dict[str, Any]:
    fields = {name: getattr(state, name) for name in state.CHANGED}
    kept = {name: one.data if isinstance(one, Table) else one for name, one in fields.items()}
    return kept | {"observed": _lasting(state)}


def _lasting(state: DynamicState) -> dict[str, Any]:
    """Observers that remember; rows have been written down by then."""
    observers = state.observed.observers
    return {name: one for name, one in observers.items() if not isinstance(one, Rows)}


def _shared_as(leaf: Any, name: str, found: np.ndarray) -> np.ndarray:
    """Rows of a list in blocks as they are here, where other devices share them."""
    shape = jnp.shape(leaf)
    is_shared = name in ("['neighbors'].rows", "['neighbors'].slots")
    if not is_shared or found.shape[1:-1] != shape[1:-1] or found.ndim != len(shape):
        return found
    return dealt_again(found, shape[0], shape[-1])


def arrays_of(state: DynamicState) -> dict[str, np.ndarray]:
    """Everything that a step changes, by name."""
    leaves, _ = jax.tree.flatten_with_path(jax.device_get(_kept(state)))
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def sizes_of(state: DynamicState) -> dict[str, int]:
    """The room of the state and of its observers, which may have grown."""
    return state.sizes | state.observed.sizes


def restored(
    fresh: DynamicState, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> DynamicState:
    """A state as it was, from a fresh one of the same systems."""
    if set(sizes) != set(sizes_of(fresh)):
        raise CheckpointError("The checkpoint is that of another system.")
    check_sizes(sizes_of(fresh), sizes, arrays)
    watch = fresh.observed.resized({n: sizes[n] for n in fresh.observed.sizes})
    fresh = dataclasses.replace(fresh.resized({n: sizes[n] for n in fresh.sizes}), observed=watch)
    leaves, structure = jax.tree.flatten_with_path(_kept(fresh))
    names = [jax.tree_util.keystr(path) for path, _ in leaves]
    if set(names) != set(arrays):
        raise CheckpointError("The checkpoint is that of another system, or of another method.")
    arrays = {
        name: _shared_as(leaf, name, arrays[name])
        for name, (_, leaf) in zip(names, leaves, strict=True)
    }
    for name, (_, leaf) in zip(names, leaves, strict=True):
        found = arrays[name]
        if found.shape != jnp.shape(leaf) or found.dtype != jnp.result_type(leaf):
            raise CheckpointError(
                f"The checkpoint is that of another system: {name} is {found.dtype}{found.shape}, "
                f"where {jnp.result_type(leaf)}{jnp.shape(leaf)} was expected."
            )
    kept = jax.tree.unflatten(structure, on_device([arrays[name] for name in names]))
    check_kept(_kept(fresh), kept)
    watch = dataclasses.replace(watch, observers={**watch.observers, **kept.pop("observed")})
    tables = {n: new for n, new in kept.items() if isinstance(getattr(fresh, n), Table)}
    others = {n: new for n, new in kept.items() if n not in tables}
    state = dataclasses.replace(fresh.with_tables(tables), observed=watch, **others)
    check_finite(state)
    return state
