"""Many small systems: a few at a time for many steps, so that what they need stays in a cache.

Systems are packed into blocks of equal size. A device takes one block after the other through
all steps of a chunk; whether a list is stale is then a question of a block, not of all systems.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from fluid import (
    CUTOFF,
    NEIGHBORS,
    POTENTIAL,
    TEMPERATURE,
    Descent,
    Fluid,
    VelocityVerlet,
    at_rest,
    both_cores,
)
from jax import Array, lax
from jax.sharding import PartitionSpec
from record import timed

from instar.core.result import as_result_function
from instar.neighbors import NeighborList, Sizes

PER_BLOCK, SKIN = 10, 0.45


def blocks_of(sizes: list[int], growth: float) -> Fluid:
    """States of a few systems each, stacked; room for all of them is the same."""
    groups = [sizes[k : k + PER_BLOCK] for k in range(0, len(sizes), PER_BLOCK)]
    rows = max(map(sum, groups))
    states = [at_rest(group, SKIN, rows) for group in groups]
    rooms = [state.neighbors.sizes for state in states]
    most = {
        name: int(growth * max(getattr(room, name) for room in rooms)) + 1
        for name in ("images", "neighbors", "words")
    }
    room = Sizes(**most, subdivision=rooms[0].subdivision)
    drawn = np.random.default_rng(1).normal(0, TEMPERATURE**0.5, (rows, 3))
    made = []
    for state in states:
        neighbors = NeighborList.of(state.particles, state.systems, CUTOFF, SKIN, sizes=room)
        made.append(NEIGHBORS.set(state, neighbors))
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *made)
    velocities = jnp.broadcast_to(jnp.asarray(drawn), stacked.velocities.shape)
    return Fluid(
        stacked.particles,
        stacked.systems,
        stacked.neighbors,
        velocities,
        stacked.forces,
        stacked.rebuilds,
    )


def in_blocks(propagator: Any, steps: int) -> Callable[[Fluid], tuple[Fluid, Array]]:
    """That many steps of every block, and whether all checks passed."""

    def of_one(state: Fluid) -> tuple[Fluid, Array]:
        def chunk(state: Fluid) -> Fluid:
            key = jax.random.key(0)
            return lax.scan(lambda s, _: (propagator(key, s), None), state, length=steps)[0]

        result = as_result_function(chunk)(state)
        return result.value, result.all_assertions_pass

    spread = PartitionSpec("rows")
    mapped = jax.shard_map(
        lambda states: lax.map(of_one, states),
        mesh=both_cores(),
        in_specs=spread,
        out_specs=spread,
        check_vma=False,
    )
    return jax.jit(mapped)


def small_systems_speed(systems: int, steps: int = 50, repeats: int = 4) -> float:
    """Atom-steps/s over all of them; sizes go around from 32 to 64 atoms."""
    sizes = [32 + k % 33 for k in range(systems)]
    descend, step = in_blocks(Descent(POTENTIAL), 100), in_blocks(VelocityVerlet(POTENTIAL), steps)
    growth = 1.0
    while True:  # with more room if the first does not suffice
        states, enough = descend(blocks_of(sizes, growth))
        states, melted = step(states)
        if bool(jnp.all(enough & melted)):
            break
        growth *= 1.1
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        states, passed = jax.block_until_ready(step(states))
        times.append(time.perf_counter() - start)
        assert bool(jnp.all(passed))
    timed(times)
    return sum(sizes) * steps / min(times)
