"""Two atoms at the same place, found in time and memory that are linear in their number.

Two points within d of each other are in one cell of at least one of eight grids: their cells have
edges of 2d, and they are shifted by d along each axis or not. A cell can't hold 28 points of which
no two are that near, so comparing each with the next 27 in its cell finds a pair if there is one.
"""

from __future__ import annotations

import itertools

import numpy as np
from ase import Atoms

__all__ = ["coincident"]

_MOST_APART = 27


def coincident(atoms: Atoms, distance: float) -> tuple[int, int] | None:
    """Two atoms nearer to each other than a distance (Å), images included; None if there are none.

    No height of the cell along an axis that repeats may be below the distance.
    """
    places, owner = _with_images(atoms, distance)
    for shift in itertools.product((0.0, 0.5), repeat=3):
        cells = np.floor(places / (2 * distance) + shift).astype(np.int64)
        order = np.lexsort(cells.T)
        pairs = _within_cells(cells[order], order)
        apart = np.linalg.norm(places[pairs[:, 0]] - places[pairs[:, 1]], axis=1)
        found = np.sort(owner[pairs[apart < distance]], axis=1)
        if len(found):
            first, second = found[np.lexsort(found.T[::-1])[0]].tolist()
            return first, second
    return None


def _within_cells(cells: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Pairs of points of one cell (pairs, 2); points come by ``cells``, and are those of order."""
    found = [np.zeros((0, 2), np.int64)]
    for step in range(1, _MOST_APART + 1):
        near = np.flatnonzero((cells[step:] == cells[:-step]).all(axis=1))
        if not len(near):
            break
        found.append(np.column_stack([order[near], order[near + step]]))
    return np.concatenate(found)


def _with_images(atoms: Atoms, distance: float) -> tuple[np.ndarray, np.ndarray]:
    """Places in the cell and just beyond its upper faces, and the atom that each is an image of."""
    places, owner = np.array(atoms.positions), np.arange(len(atoms))
    repeats = np.flatnonzero(atoms.pbc & atoms.cell.array.any(axis=1))
    if not len(repeats):
        return places, owner
    atoms = Atoms(cell=np.where(np.isin(range(3), repeats)[:, None], atoms.cell.array, 0))
    vectors = np.asarray(atoms.cell.complete())
    across = np.linalg.inv(vectors)
    turns = np.zeros((len(places), 3))
    turns[:, repeats] = np.floor((places @ across)[:, repeats])
    places = places - turns @ vectors
    for axis in repeats:
        lowest = (places @ across)[:, axis] < distance * np.linalg.norm(across[:, axis])
        places = np.concatenate([places, places[lowest] + vectors[axis]])
        owner = np.concatenate([owner, owner[lowest]])
    return places, owner
