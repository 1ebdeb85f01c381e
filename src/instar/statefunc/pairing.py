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

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass, field
from instar.statefunc.edges import Edges
from instar.statefunc.state import SAFE, Pair, Particles, chosen

__all__ = ["Block", "sum_over_edges"]


type Ends = tuple[dict[str, Any], dict[str, Any]]


@dataclass
class Block:
    """Some of the edges: the particles at both ends, and which edges are pairs.

    In rows, ``first`` has one entry per row, ``second`` and ``valid`` one per row and neighbor.
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
    _assert_within_systems(state, edges)
    if len(edges) == 0:
        return start
    width = edges.per_particle or 1
    units = len(edges) // width
    per_step = units if chunk is None else max(1, chunk // width)

    typical = _typical_pair(state, edges)

    def step(total: Any, unit: Any) -> tuple[Any, None]:
        block = _block(state, edges, unit, units, typical)
        return add(total, block, values_of(block)), None

    if per_step >= units:
        return step(start, None)[0]
    steps = -(-units // per_step)
    numbers = np.arange(steps * per_step, dtype=np.int32).reshape(steps, per_step)
    return lax.scan(jax.checkpoint(step), start, jnp.asarray(numbers))[0]


def _block(state: Particles, edges: Edges, unit: Any, units: int, typical: Ends) -> Block:
    """The edges of some units, None for all; a unit beyond the last is not a pair."""
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
    return _gathered(state, edges, (first, second), valid, shifts, typical, unit is None)


def _gathered(
    state: Particles,
    edges: Edges,
    numbers: tuple[Any, Any],
    valid: Any,
    shifts: Any,
    typical: Ends,
    all_: bool,
) -> Block:
    """Both ends of the edges."""
    first, second = numbers
    rows, complete = edges.per_particle is not None, edges.complete

    def gather(values: Any, k: int) -> Any:
        if k == 0 and rows:
            values = values if all_ else jnp.take(values, first, -1, mode="clip")
            ends = values[..., :, None]
        elif complete:
            ends = values[..., None, :]
        else:
            ends = jnp.take(values, (first, second)[k], -1, mode="clip")
        whole = jnp.broadcast_to(ends, (*values.shape[:-1], *valid.shape))
        return jnp.expand_dims(whole, -1 - valid.ndim)

    if state.mask is not None:
        there = [jnp.take(state.mask, end, mode="clip") for end in (first, second)]
        valid = valid & there[1] & (there[0][:, None] if rows else there[0])
    if shifts is not None:
        shifts = jnp.moveaxis(shifts, -1, 0).astype(state.dtype)
    ends = [
        Particles(
            {name: gather(v, k) for name, v in state.columns.items()},
            particles=1,
            points=valid.shape,
        )
        for k in (0, 1)
    ]
    same = (first[:, None] if rows else first) == second
    pair = Pair.between(
        (ends[0], ends[1]),
        valid,
        shifts,
        None if complete and shifts is None else same,
        typical,
        not complete,
    )
    return Block(pair, first, second, valid, rows, complete, all_)


def _typical_pair(state: Particles, edges: Edges) -> Ends:
    """The columns of both ends of one edge that is a pair, and how far they are apart."""
    numbers = edges.indices.indices
    valid = _in_bounds(numbers, state).all(-1)
    if state.mask is not None:
        valid = valid & jnp.take(state.mask, numbers, mode="clip").all(-1)
    place = jnp.argmax(valid)
    points = (1,) * (1 if edges.per_particle is None else 2)

    def column(values: Any, k: int) -> Any:
        found = lax.stop_gradient(jnp.take(values, numbers[place, k], -1, mode="clip"))
        return found.reshape(*found.shape, 1, *points)

    ends = [{name: column(v, k) for name, v in state.columns.items()} for k in (0, 1)]
    apart = (ends[1]["positions"] - ends[0]["positions"])[:, 0]
    if edges.shifts is not None:
        shift = lax.stop_gradient(edges.shifts[place]).astype(apart.dtype)
        apart = apart + shift.reshape(apart.shape)
    ends[1]["apart"] = jnp.where(jnp.any(valid), apart, jnp.array(SAFE, apart.dtype))
    return lax.optimization_barrier((ends[0], ends[1]))  # looked up once, not in every loop


def _assert_within_systems(state: Particles, edges: Edges) -> None:
    if state.system is not None:
        numbers = edges.indices.indices
        ends = jnp.take(state.system.indices, numbers, mode="clip")
        free = ~_in_bounds(numbers, state) | (ends >= len(state.system.vocabulary))
        if state.mask is not None:
            free = free | ~jnp.take(state.mask, numbers, mode="clip")
        within = (ends[..., 0] == ends[..., 1]) | free.any(-1)
        runtime_assert(jnp.all(within), "An edge joins two systems.")


def _in_bounds(entries: Any, state: Particles) -> Any:
    return (entries >= 0) & (entries < state.particles)
