"""Every pair within a cutoff, found by looking at every image of every particle.

The oracle that the fast searches are held against: no bins, no tables, NumPy on the host, in
float64. Its time grows with the square of the number of particles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instar.core.typing import ArrayLike
from instar.geometry import Cell

__all__ = ["Pairs", "brute_force"]


class Pairs(NamedTuple):
    """Ordered pairs: particle ``second``, ``shift`` cells away, is near particle ``first``."""

    first: np.ndarray
    second: np.ndarray
    shift: np.ndarray  # (pairs, 3) whole cells
    distance: np.ndarray


def brute_force(positions: ArrayLike, system: ArrayLike, cell: Cell, cutoff: ArrayLike) -> Pairs:
    """All ordered pairs up to a cutoff, found by testing every image of every particle.

        |r_j + n·A − r_i| ≤ cutoff

    For checks: it runs on the host, in float64, and its time grows with the square of the number of
    particles. `NeighborList` is the fast search.

    Parameters
    ----------
    positions
        (particles, 3) in Å.
    system
        (particles,) int: the system of each; out of bounds where there is none.
    cell
        One cell per system.
    cutoff
        In Å, one for all systems or one per system.

    Returns
    -------
    Pairs
        ``first`` and ``second`` (pairs,), ``shift`` (pairs, 3) in whole cells, ``distance``
        (pairs,) in Å.

    Examples
    --------
    >>> from instar.geometry import Cell
    >>> from instar.neighbors import brute_force
    >>> found = brute_force([[0.0, 0.0, 0.0]], [0], Cell.box([[4.0, 4.0, 4.0]]), cutoff=4.5)
    >>> len(found.first)  # images of the one particle
    6
    """
    positions = np.asarray(positions, np.float64)
    system = np.asarray(system)
    vectors = np.asarray(cell.vectors, np.float64).reshape(-1, 3, 3)
    periodic = np.asarray(cell.periodic).reshape(-1, 3)
    cutoffs = np.broadcast_to(np.asarray(cutoff, np.float64), len(vectors))
    found = []
    for number, (matrix, axes, reach) in enumerate(zip(vectors, periodic, cutoffs, strict=True)):
        members = np.flatnonzero(system == number)
        if members.size:
            found.append(_of_one_system(positions, members, matrix, axes, reach))
    if not found:
        return Pairs(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 3), int), np.zeros(0))
    first, second, shift, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((*shift.T, second, first))
    return Pairs(first[order], second[order], shift[order], distance[order])


def _of_one_system(
    positions: np.ndarray, members: np.ndarray, matrix: np.ndarray, axes: np.ndarray, reach: float
) -> tuple[np.ndarray, ...]:
    inverse = np.linalg.inv(matrix)
    fractional = positions[members] @ inverse
    apart = fractional[None] - fractional[:, None]
    nearest = np.where(axes, np.round(apart), 0)
    # |s + n| ≤ R/h along each axis, and |s| ≤ ½ after rounding
    most = np.where(axes, np.floor(reach * np.linalg.norm(inverse, axis=0) + 0.5), 0).astype(int)
    parts = []
    for step in np.ndindex(*(2 * most + 1)):
        shift = np.array(step) - most - nearest
        distance = np.linalg.norm((apart + shift) @ matrix, axis=-1)
        near = distance <= reach
        if (np.array(step) == most).all():
            np.fill_diagonal(near, False)
        i, j = np.nonzero(near)
        parts.append((members[i], members[j], shift[i, j].astype(int), distance[i, j]))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))
