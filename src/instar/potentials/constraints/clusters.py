"""Bonds that share atoms, found on the host and laid out by size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from instar.potentials.constraints.redundancy import refuse_redundant
from instar.potentials.constraints.tables import Constraint, RigidWater

__all__ = ["Layout", "laid_out"]

Layout = tuple[np.ndarray, np.ndarray]
"""Rows of particles (clusters, bonds, 2), −1 where there is no bond, and distances in Å."""


def laid_out(tables: Sequence[Constraint]) -> tuple[list[Layout], list[Layout]]:
    """Clusters by size class, and waters that share no atom with any other constraint."""
    waters: list[Layout] = []
    bonds: list[Layout] = []
    for table in tables:
        rows, lengths = table.bonds()
        inside = ((rows >= 0) & (rows < len(table.atoms.vocabulary))).all(axis=(1, 2))
        kept = rows[inside].astype(np.int32), lengths[inside].astype(np.float64)
        (waters if isinstance(table, RigidWater) else bonds).append(kept)
    alone, others = _apart(_joined(waters, 3), bonds)
    pieces = [*bonds, others]
    rows = np.concatenate([rows.reshape(-1, 2) for rows, _ in pieces])
    lengths = np.concatenate([lengths.reshape(-1) for _, lengths in pieces])
    return _by_size(rows, lengths), [alone] if len(alone[0]) else []


def _joined(parts: Sequence[Layout], bonds: int) -> Layout:
    rows = [np.zeros((0, bonds, 2), np.int32), *(rows for rows, _ in parts)]
    lengths = [np.zeros((0, bonds)), *(lengths for _, lengths in parts)]
    return np.concatenate(rows), np.concatenate(lengths)


def _apart(waters: Layout, bonds: Sequence[Layout]) -> tuple[Layout, Layout]:
    """Waters whose atoms nothing else holds, and the others."""
    atoms = waters[0][:, [0, 0, 1], [0, 1, 1]]  # each of the three once
    everyone = np.concatenate([atoms.reshape(-1), *(rows.reshape(-1) for rows, _ in bonds)])
    uses = np.bincount(everyone, minlength=1)
    alone = (uses[atoms] == 1).all(axis=1)
    return (waters[0][alone], waters[1][alone]), (waters[0][~alone], waters[1][~alone])


def _by_size(rows: np.ndarray, lengths: np.ndarray) -> list[Layout]:
    """Connected components, padded to the few sizes of `_size_class`."""
    if not len(rows):
        return []
    component = _components(rows)
    order = np.argsort(component, kind="stable")
    rows, lengths = rows[order], lengths[order]
    _, starts, sizes = np.unique(component[order], return_index=True, return_counts=True)
    layouts = []
    for size in np.unique(sizes):  # patterns are compared among clusters of one size
        place = starts[sizes == size][:, None] + np.arange(size)[None]
        refuse_redundant(rows[place], lengths[place])
    room = _size_class(sizes)
    for width in np.unique(room):
        number = np.arange(width)[None]
        there = number < sizes[room == width][:, None]
        place = np.where(there, starts[room == width][:, None] + number, 0)
        padded = np.where(there[..., None], rows[place], -1).astype(np.int32)
        layouts.append((padded, np.where(there, lengths[place], 1.0)))
    return layouts


def _size_class(sizes: np.ndarray) -> np.ndarray:
    """The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, …: never more than half as much again."""
    powers = 2 ** np.arange(int(sizes.max()).bit_length() + 1)
    grid = np.unique(np.concatenate([powers, 3 * powers]))
    return grid[np.searchsorted(grid, sizes)]


def _components(rows: np.ndarray) -> np.ndarray:
    """The connected component of each bond, as the smallest number of its atoms."""
    _, local = np.unique(rows, return_inverse=True)
    first, second = local.reshape(-1, 2).T
    label = np.arange(local.max() + 1)
    while True:
        before = label
        lowest = np.minimum(label[first], label[second])
        label = label.copy()
        for own in (first, second):
            np.minimum.at(label, own, lowest)
            np.minimum.at(label, before[own], lowest)
        label = label[label]
        if (label == before).all():
            return label[first]
