"""Distances that can't be met, or that say the same thing twice: refused before a run.

With σₖ the constraints of a cluster, the matrix ∇σₖ·M⁻¹·∇σₗ must have an inverse. It has none if
a distance follows from the others. What is found from distances alone: a pair that is given
twice; more distances than a rigid body needs (the rank of ∇σ at places in no special position);
three atoms in a line and four in a plane, held in all their distances (Cayley–Menger).
"""

from __future__ import annotations

import itertools

import numpy as np

from instar.potentials.potential import PotentialError

__all__ = ["refuse_redundant"]

_FLAT = 1e-6
"""How close to a line or a plane, relative to its size, a figure counts as flat."""


def refuse_redundant(rows: np.ndarray, lengths: np.ndarray) -> None:
    """Raise if distances of a cluster (clusters, bonds, 2) depend on each other."""
    local = rows - rows.min(axis=(1, 2))[:, None, None]
    pattern = np.concatenate([local.reshape(len(rows), -1), lengths], axis=1)
    for number in np.unique(pattern, axis=0, return_index=True)[1]:
        _check(rows[number], lengths[number])


def _check(bonds: np.ndarray, lengths: np.ndarray) -> None:
    atoms, places = np.unique(bonds, return_inverse=True)
    places = places.reshape(-1, 2)
    if len(bonds) < len(atoms):
        return  # a tree: every distance can be chosen freely
    distance = {
        (int(min(pair)), int(max(pair))): float(length)
        for pair, length in zip(places, lengths, strict=True)
    }
    if len(distance) < len(bonds):
        raise PotentialError(
            f"The distance between two of the particles {_names(atoms)} is constrained twice.\n"
            "Leave one of the two out; a rigid water holds both O–H and the H–H."
        )
    _check_triangles(atoms, distance)
    _check_tetrahedra(atoms, distance)
    _check_rank(atoms, places)


def _check_triangles(atoms: np.ndarray, distance: dict[tuple[int, int], float]) -> None:
    for three in _cliques(len(atoms), distance, 3):
        short, middle, long = sorted(distance[pair] for pair in itertools.combinations(three, 2))
        names = _names(atoms[list(three)])
        if long > (short + middle) * (1 + _FLAT):
            raise PotentialError(
                f"The particles {names} can't be {short}, {middle} and {long} Å apart: the longest "
                "distance is above the sum of the others."
            )
        if long > (short + middle) * (1 - _FLAT):
            raise PotentialError(
                f"The three distances between the particles {names} put them in a line, where one "
                "of them is redundant.\nLeave out the longest (the molecule can bend then; keep "
                "it straight by an angle term), or constrain the two ends alone."
            )


def _check_tetrahedra(atoms: np.ndarray, distance: dict[tuple[int, int], float]) -> None:
    for four in _cliques(len(atoms), distance, 4):
        squares = np.zeros((4, 4))
        for (i, a), (j, b) in itertools.combinations(enumerate(four), 2):
            squares[i, j] = squares[j, i] = distance[min(a, b), max(a, b)] ** 2
        # (edges from the first atom)·(edges from the first atom): det = (6 V)²
        gram = (squares[0, 1:, None] + squares[0, None, 1:] - squares[1:, 1:]) / 2
        volume = np.linalg.det(gram) / np.prod(np.diag(gram))
        names = _names(atoms[list(four)])
        if volume < -_FLAT:
            raise PotentialError(
                f"The six distances between the particles {names} can't be met in space.\n"
                "Take them from one structure."
            )
        if volume < _FLAT:
            raise PotentialError(
                f"The six distances between the particles {names} put them in a plane, where one "
                "of them is redundant.\nLeave one of the six out."
            )


def _check_rank(atoms: np.ndarray, places: np.ndarray) -> None:
    somewhere = np.random.default_rng(0).normal(size=(len(atoms), 3))
    slope = np.zeros((len(places), len(atoms), 3))
    number = np.arange(len(places))
    along = somewhere[places[:, 1]] - somewhere[places[:, 0]]
    slope[number, places[:, 1]] = along
    slope[number, places[:, 0]] = -along
    rank = int(np.linalg.matrix_rank(slope.reshape(len(places), -1)))
    if rank < len(places):
        raise PotentialError(
            f"The {len(places)} distances between the particles {_names(atoms)} are not "
            f"independent: only {rank} of them are.\nLeave {len(places) - rank} out; "
            f"{3 * len(atoms) - 6} hold {len(atoms)} particles rigid."
        )


def _cliques(
    count: int, distance: dict[tuple[int, int], float], size: int
) -> list[tuple[int, ...]]:
    """Sets of atoms of which every two have a distance."""
    neighbors = [set[int]() for _ in range(count)]
    for a, b in distance:
        neighbors[a].add(b)
    found: list[tuple[int, ...]] = [(a,) for a in range(count)]
    for _ in range(size - 1):
        found = [
            (*clique, new)
            for clique in found
            for new in sorted(set.intersection(*(neighbors[a] for a in clique)))
        ]
    return found


def _names(atoms: np.ndarray) -> str:
    shown = ", ".join(str(a) for a in atoms[:6])
    return shown if len(atoms) <= 6 else f"{shown}, …"
