"""Atoms at the same place, found without a list of neighbors: the distance asked for is tiny."""

from __future__ import annotations

import itertools

import numpy as np
from ase import Atoms

__all__ = ["first_closer"]

_HALF = [shift for shift in itertools.product((-1, 0, 1), repeat=3) if shift >= (0, 0, 0)]
"""From a bin to those beside it, each pair of bins once."""

_MIXED = np.array([73_856_093, 19_349_663, 83_492_791], np.int64)
"""Large primes: of places that are used few have the same sum of bins times these."""

_FULL = 50
"""More atoms than can be in one bin without two of them being close."""


def first_closer(atoms: Atoms, distance: float) -> tuple[int, int] | None:
    """Two atoms closer to each other than a distance (Å), images counted; None if there are none.

    Along each axis space is cut into bins of that width or a little more: atoms that are close are
    in one bin, or in bins beside each other.
    """
    cell, periodic = np.asarray(atoms.cell.complete()), np.asarray(atoms.pbc)
    heights = 1 / np.linalg.norm(np.linalg.inv(cell), axis=0)
    if (periodic & (heights < 3 * distance)).any():  # an atom may be its own neighbor
        from ase.neighborlist import neighbor_list  # SciPy takes a while to import

        first, second = neighbor_list("ij", atoms, distance)
        return (int(first[0]), int(second[0])) if len(first) else None
    places = np.linalg.solve(cell.T, atoms.positions.T).T
    places -= np.where(periodic, np.floor(places), 0)
    first, second = _beside(places, np.floor(heights / distance), periodic)
    apart = places[first] - places[second]
    apart -= np.where(periodic, np.round(apart), 0)
    close = (np.sum((apart @ cell) ** 2, axis=1) < distance**2) & (first != second)
    pairs = np.sort(np.stack([first, second], axis=1)[close], axis=1)
    return min(map(tuple, pairs.tolist()), default=None)


def _beside(places: np.ndarray, bins: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """Pairs (2, pairs) of atoms in one bin, or in bins beside each other, and a few others."""
    own = np.clip(np.floor(places * np.maximum(bins, 1)), -(2.0**50), 2.0**50)
    keys = own.astype(np.int64) @ _MIXED
    order = np.argsort(keys, kind="stable")
    found = []
    for shift in _HALF:
        other = own + np.asarray(shift)
        other = np.where(periodic, other % np.maximum(bins, 1), other).astype(np.int64) @ _MIXED
        begin, end = (np.searchsorted(keys[order], other, side) for side in ("left", "right"))
        count = np.minimum(end - begin, _FULL)
        first = np.repeat(np.arange(len(keys)), count)
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        found.append(np.stack([first, order[np.repeat(begin, count) + within]]))
    return np.concatenate(found, axis=1)
