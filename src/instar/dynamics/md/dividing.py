"""Which systems move together: blocks of about equal size, where that is faster than one state."""

from __future__ import annotations

import heapq

import numpy as np

from instar.dynamics.md.state import State

__all__ = ["can_be_divided", "fastest_blocks", "packed"]

COST_OF_BLOCK, COST_OF_STATE = 20.0, 200.0
"""Microseconds for a step of one block, and for one that devices share, whatever they hold."""

COST_NEAR, COST_FAR, CACHED = 0.62, 0.6, 8000
"""Microseconds for a row of a device, and how much more where it has so many of them or more.

Only ratios of costs matter: 512 systems of 32 atoms made 1.41, 1.48, 1.50 and 1.53 M atom-steps per
second and core in 8, 16, 32 and 64 blocks, and 0.81 M as one state; see ``bench/many_systems.py``.
"""

WORTHWHILE = 1.15
"""How much faster blocks have to be than one state, as the model says."""

_FEW = 1000
"""Atoms in all below which steps are so short that what comes between them counts as much."""


def can_be_divided(state: State) -> bool:
    """Whether some of the systems may be moved without the others: nothing names a particle.

    Columns per system are told by their length: with up to three systems a vector would be one.
    """
    known = state.potential
    apart = known.is_general and known.has_known_cost and known.exclusions is None
    return apart and not state.constraints.all_groups and len(state.systems) > 3


def fastest_blocks(counts: np.ndarray, devices: int = 1) -> list[np.ndarray] | None:
    """Numbers of the systems in each block, as many blocks for each device; None for one state.

    A step of b blocks of r rows on d devices takes (b/d) (B + r c(r)), one of n rows that they
    share S + (n/d) c(n/d), where a row costs c(r) = near + far · min(1, r/cached).
    """
    total, systems = int(counts.sum()), len(counts)
    most = systems // devices
    if total < _FEW or most < 1 or systems <= 3:
        return None
    each = np.unique(np.geomspace(1, most, 40).round().astype(int))
    rows = np.maximum(counts.max(), np.ceil(systems / (each * devices)) * counts.mean())
    costs = each * (COST_OF_BLOCK + rows * _row_cost(rows))
    share = np.array(total / devices)
    whole = COST_OF_STATE + share * _row_cost(share)
    best = int(np.argmin(costs))
    if each[best] * devices < 2 or costs[best] * WORTHWHILE > whole:
        return None
    return packed(counts, int(each[best]) * devices)


def _row_cost(rows: np.ndarray) -> np.ndarray:
    return np.asarray(COST_NEAR + COST_FAR * np.minimum(1, rows / CACHED))


def packed(counts: np.ndarray, blocks: int) -> list[np.ndarray]:
    """So many blocks of systems: the largest first, each into the block with fewest rows."""
    order = np.argsort(-counts, kind="stable")
    filled = [(0, 0, block) for block in range(blocks)]
    block_of = np.empty(len(counts), np.int64)
    for system in order.tolist():
        rows, held, block = filled[0]
        block_of[system] = block
        heapq.heapreplace(filled, (rows + int(counts[system]), held + 1, block))
    return [np.flatnonzero(block_of == block) for block in range(blocks)]
