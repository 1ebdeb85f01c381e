"""From edges to pairs and back: gather both ends, and sum what the pairs give.

Edges are taken in *units*: single edges, or the rows of particles where the edges are in rows.
A block is some of the units; all of them at once, or one chunk after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from instar.core.utils.jax import dataclass, field
from instar.statefunc.edges import Edges
from instar.statefunc.state import Pair, Particles, chosen

__all__ = ["Block", "sum_over_edges"]


@dataclass
class Block:
    """Some of the edges: the particles at both ends, and which edges are pairs.

    In rows, ``first`` has one entry a row, ``second`` and ``valid`` one per row and neighbor.
    """

    pair: Pair
    first: Any
    second: Any
    valid: Any
    in_rows: bool = field(static=True)
    complete: bool = field(static=True)
    everything: bool = field(static=True)

    def onto_first(self, total: Any, values: Any) -> Any:
        """Add values to the first particle of their edge."""
        values = chosen(self.valid, values, 0)
        if not self.in_rows:
            return total.at[..., self.first].add(values, mode="drop")
        rows = values.sum(-1)
        return total + rows if self.everything else total.at[..., self.first].add(rows, mode="drop")

    def onto_second(self, total: Any, values: Any) -> Any:
        """Add values to the second particle of their edge."""
        values = chosen(self.valid, values, 0)
        if self.complete:
            return total + values.sum(-2)
        return total.at[..., self.second].add(values, mode="drop")

    def onto_system(self, total: Any, values: Any, state: Particles) -> Any:
        """Add values to the system of their edge."""
        values = chosen(self.valid, values, 0)
        values = values.sum(-1) if self.in_rows else values
        if state.system is None:
            return total + values.sum(-1)
        systems = jnp.take(state.system.indices, self.first, mode="clip")
        return total.at[..., systems].add(values, mode="drop")


def sum_over_edges(
    state: Particles,
    values_of: Callable[[Block], Any],
    add: Callable[[Any, Block, Any], Any],
    start: Any,
    chunk: int | None,
) -> Any:
    """``add`` up the values of all edges, from ``start``; in chunks of so many edges if given."""
    edges = state.edges
    assert edges is not None
    edges.assert_in_rows()
    width = edges.per_particle or 1
    units = len(edges) // max(width, 1)
    per_step = units if chunk is None else max(1, chunk // max(width, 1))

    def step(total: Any, unit: Any) -> tuple[Any, None]:
        block = _block(state, edges, unit, units)
        return add(total, block, values_of(block)), None

    if per_step >= units:
        return step(start, None)[0]
    steps = -(-units // per_step)
    numbers = np.arange(steps * per_step, dtype=np.int32).reshape(steps, per_step)
    return lax.scan(jax.checkpoint(step), start, jnp.asarray(numbers))[0]


def _block(state: Particles, edges: Edges, unit: Any, units: int) -> Block:
    """The edges of some units, None for all; a unit beyond the last is no pair."""
    entries, shifts = edges.indices.indices, edges.shifts
    if edges.per_particle is not None:
        entries = entries.reshape(units, edges.per_particle, 2)
        shifts = None if shifts is None else shifts.reshape(units, edges.per_particle, -1)
    valid = True
    if unit is not None:
        entries = jnp.take(entries, unit, 0, mode="clip")
        shifts = None if shifts is None else jnp.take(shifts, unit, 0, mode="clip")
        valid = (unit < units).reshape(-1, *(1,) * (entries.ndim - 2))
    first, second = entries[..., 0], entries[..., 1]
    valid &= _in_bounds(first, state) & _in_bounds(second, state)
    if edges.per_particle is not None:
        first = jnp.arange(units, dtype=jnp.int32) if unit is None else unit
    return _gathered(state, edges, first, second, valid, shifts, unit is None)


def _gathered(
    state: Particles, edges: Edges, first: Any, second: Any, valid: Any, shifts: Any, all_: bool
) -> Block:
    """Both ends of the edges."""
    rows = edges.per_particle is not None
    complete = edges.complete

    def end(k: int) -> Particles:
        def gather(values: Any) -> Any:
            if k == 0 and rows:
                values = values if all_ else jnp.take(values, first, -1, mode="clip")
                ends = values[..., :, None]
            elif complete:
                ends = values[..., None, :]
            else:
                ends = jnp.take(values, (first, second)[k], -1, mode="clip")
            whole = jnp.broadcast_to(ends, (*values.shape[:-1], *valid.shape))
            return jnp.expand_dims(whole, -1 - valid.ndim)

        gathered = {name: gather(values) for name, values in state.columns.items()}
        return Particles(gathered, particles=1, points=valid.shape)

    if state.mask is not None:
        ends = (end_mask(state.mask, first, rows), jnp.take(state.mask, second, mode="clip"))
        valid = valid & ends[0] & ends[1]
    shift = None if shifts is None else jnp.moveaxis(shifts, -1, 0)
    same = None if complete else (first[:, None] if rows else first) == second
    pair = Pair.between((end(0), end(1)), valid, shift, same)
    return Block(pair, first, second, valid, rows, complete, all_)


def end_mask(mask: Any, first: Any, rows: bool) -> Any:
    """Whether the first particle of each edge is there."""
    there = jnp.take(mask, first, mode="clip")
    return there[:, None] if rows else there


def _in_bounds(entries: Any, state: Particles) -> Any:
    return (entries >= 0) & (entries < state.particles)
