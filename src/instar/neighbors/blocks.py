"""Rows in blocks: small enough for a cache, and spread over devices.

A block is worked on from beginning to end before the next one. With several devices each takes
an equal share of the blocks; what all blocks read is copied to each device once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec

__all__ = ["block_shape", "dealt_again", "in_turn", "over_blocks", "over_devices"]

ROWS = 512
"""Rows in a block, about: a few arrays of this length stay in a core's own cache."""


def block_shape(rows: int, mesh: Mesh | None) -> tuple[int, int]:
    """How many blocks, of how many rows each; their product is at least ``rows``."""
    devices = 1 if mesh is None else mesh.size
    blocks = devices * max(1, round(rows / (ROWS * devices)))
    return blocks, max(1, -(-rows // blocks))


def dealt_again(array: np.ndarray, blocks: int, width: int) -> np.ndarray:
    """An array (blocks, …, rows) in other blocks; rows in the same order, zeros beyond the last."""
    middle = array.shape[1:-1]
    rows = np.moveaxis(array, 0, -2).reshape(*middle, -1)[..., : blocks * width]
    free = [(0, 0)] * len(middle) + [(0, blocks * width - rows.shape[-1])]
    return np.moveaxis(np.pad(rows, free).reshape(*middle, blocks, width), -2, 0)


def over_blocks[R](
    fn: Callable[[Any, Any], R], blocked: Any, shared: Any, mesh: Mesh | None = None
) -> R:
    """``fn(block, shared)`` for each block: one leading entry of everything in ``blocked``."""
    return over_devices(lambda *known: in_turn(fn, *known), blocked, shared, mesh)


def in_turn[R](fn: Callable[[Any, Any], R], blocked: Any, shared: Any) -> R:
    """``fn(block, shared)``, one block after the other."""
    if jax.tree.leaves(blocked)[0].shape[0] == 1:
        result = fn(jax.tree.map(lambda a: a[0], blocked), shared)
        return jax.tree.map(lambda a: a[None], result)
    return lax.map(lambda block: fn(block, shared), blocked)


def over_devices[R](fn: Callable[[Any, Any], R], blocked: Any, shared: Any, mesh: Mesh | None) -> R:
    """``fn(blocks, shared)`` for the blocks of each device."""
    if mesh is None:
        return fn(blocked, shared)
    spread, copied = PartitionSpec(mesh.axis_names), PartitionSpec()
    return jax.shard_map(
        fn, mesh=mesh, in_specs=(spread, copied), out_specs=spread, check_vma=False
    )(blocked, shared)
