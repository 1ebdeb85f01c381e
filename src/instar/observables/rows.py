"""`Rows`: a function of the state, noted row after row until the host fetches them.

Unlike a `Series`, which is read at the end of a run, rows are fetched on the way: the room for them
is small, and emptied each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import Array

from instar.core.capacity import FixedCapacity
from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.core.utils.precision import in_precision
from instar.observables.selection import ObserverError

__all__ = ["Rows"]


@dataclass
class Rows:
    """Rows that wait for the host, with the number of steps that were made before each.

    The function gives a tree of arrays of any shape. Make one with `Rows.of`; more rows than there
    is room for are a failed check.
    """

    function: Callable[[Any], Any] = field(static=True)
    rows: Any  # a tree of (room, ...)
    steps: Array  # (room,) uint32
    count: Array  # () int32

    @staticmethod
    @in_precision
    def of(function: Callable[[Any], Any], state: Any, room: int) -> Rows:
        """No rows yet, and room for so many of ``function(state)``."""
        if room < 1:
            raise ObserverError(f"There is room for one row or more, not for {room}.")
        shapes = jax.eval_shape(function, state)
        rows = jax.tree.map(lambda leaf: np.zeros((room, *leaf.shape), leaf.dtype), shapes)
        steps, count = np.zeros(room, np.uint32), np.zeros((), np.int32)
        return Rows(function, *on_device((rows, steps, count)))

    def update(self, state: Any) -> Rows:
        """With one more row."""
        capacity = FixedCapacity(self.steps.shape[0], "Fetch rows more often, or make more room.")
        capacity.generate_assertion(self.count + 1)

        def written(rows: Array, new: Any) -> Array:
            return rows.at[self.count].set(new, mode="drop")

        return dataclasses.replace(
            self,
            rows=jax.tree.map(written, self.rows, self.function(state)),
            steps=written(self.steps, state.step),
            count=self.count + 1,
        )

    def result(self) -> tuple[np.ndarray, Any]:
        """The steps (rows,) int64, and a tree of arrays (rows, ...); on the host."""
        steps, rows, count = jax.device_get((self.steps, self.rows, self.count))
        return steps[:count].astype(np.int64), jax.tree.map(lambda leaf: leaf[:count], rows)

    def erased(self) -> Rows:
        """No rows, the room as it is."""
        none = jax.device_put(np.zeros((), np.int32), self.count.sharding)
        return dataclasses.replace(self, count=none)
