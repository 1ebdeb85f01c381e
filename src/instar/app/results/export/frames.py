"""Frames for formats that know a cell by its lengths and angles alone.

Such formats, and programs that read them, hold two things to be true that are not so in a run: the
first vector of a cell lies along x and the second in the xy plane; and a system that has a cell
repeats along all three of its vectors. `Frames` are frames for which both are true:

A cell A (vectors as rows) is turned by the rotation Q into A = L·Q with a lower triangle L whose
diagonal is positive; positions and velocities are turned with it, r → r·Qᵀ. A left-handed cell
becomes −A first, which is the same lattice with the same lengths and angles: nothing is mirrored.
Multiples of vectors are then taken from those after them until |b_x|, |c_x| ≤ a_x/2 and
|c_y| ≤ b_y/2: the same lattice again, in the only form whose nearest images GROMACS and MDAnalysis
find.

Distances and angles within a frame stay what they are. A cell that changes its shape turns each
frame by another rotation: what is measured between frames, such as displacements, is then to be
taken from the run itself, or from extxyz.

Along a vector that does not repeat, the cell becomes so long that no atom is nearer to an image of
another one than to the atom itself. What does not repeat at all has no cell.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from instar.app.results.trajectory import Trajectory

__all__ = [
    "Frames",
    "closed_cells",
    "frames_of",
    "is_standard",
    "lengths_and_cosines",
    "picoseconds",
    "reduced",
]

_SINGLE = float(np.finfo(np.float32).eps)
"""What positions in single precision do not tell apart, relative to their size."""

_MARGIN = 1.0
"""Å by which a cell that does not repeat is longer than it must be: formats round."""


@dataclasses.dataclass(frozen=True)
class Frames:
    """All frames of a system, turned with their cells.

    positions   (frames, atoms, 3) Å, not wrapped
    velocities  (frames, atoms, 3) Å/fs, if they were recorded
    cells       (frames, 3, 3) Å, lower triangles; None if the system does not repeat
    times       (frames,) ps; numbers of steps where steps have no time
    """

    numbers: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray | None
    cells: np.ndarray | None
    steps: np.ndarray
    times: np.ndarray


def frames_of(trajectory: Trajectory, system: int) -> Frames:
    """The frames of one system."""
    positions, count = trajectory.positions(system), trajectory.count(system)
    velocities = trajectory.velocities(system) if trajectory.has_velocities else None
    cells = closed_cells(trajectory, system)
    if cells is not None and not is_standard(cells):
        cells, rotations = _standard(cells)
        positions = _rotated(positions, rotations)
        velocities = None if velocities is None else _rotated(velocities, rotations)
    cells = None if cells is None else reduced(cells)
    steps, times = trajectory.steps[:count], picoseconds(trajectory)[:count]
    return Frames(trajectory.numbers(system), positions, velocities, cells, steps, times)


def closed_cells(trajectory: Trajectory, system: int) -> np.ndarray | None:
    """Cells (frames, 3, 3) that may be taken to repeat along all vectors, not turned yet."""
    cells, periodic = trajectory.complete_cells(system), trajectory.periodic(system)
    if not periodic.any():
        return None
    return cells if periodic.all() else _lengthened(cells, periodic, trajectory.positions(system))


def is_standard(cells: np.ndarray) -> bool:
    """Whether cells are lower triangles with a positive diagonal, in single precision."""
    above = np.abs(np.triu(cells, 1)).max(axis=(1, 2), initial=0)
    size = np.linalg.norm(cells, axis=-1).min(axis=-1)
    diagonal = np.diagonal(cells, axis1=1, axis2=2)
    return bool((diagonal > 0).all() and (above <= _SINGLE * size).all())


def reduced(cells: np.ndarray) -> np.ndarray:
    """The same lattices, from lower triangles whose entries beside the diagonal are small.

    An entry may be half of the diagonal and a little more, or rounding would decide.
    """
    found = np.array(cells, float)
    for vector, other in ((2, 1), (2, 0), (1, 0)):
        times = found[:, vector, other] / found[:, other, other]
        times = np.where(np.abs(times) > 0.5 + 1e-5, np.round(times), 0.0)
        found[:, vector] -= times[:, None] * found[:, other]
    return found.astype(cells.dtype)


def picoseconds(trajectory: Trajectory) -> np.ndarray:
    """Times of frames in ps; numbers of steps where steps have no time."""
    if trajectory.times is None:
        return trajectory.steps.astype(float)
    return trajectory.times / 1000


def lengths_and_cosines(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths a, b, c (Å) of cells (..., 3, 3), and the cosines of their angles α, β, γ."""
    lengths = np.linalg.norm(cells, axis=-1)
    a, b, c = np.moveaxis(cells / lengths[..., None], -2, 0)
    cosines = [np.sum(one * other, axis=-1) for one, other in ((b, c), (a, c), (a, b))]
    return lengths, np.stack(cosines, axis=-1)


def _lengthened(cells: np.ndarray, periodic: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Vectors that do not repeat become perpendicular, and longer than twice the system."""
    longer = cells.copy()
    others = [cells[:, axis] for axis in np.flatnonzero(periodic)]
    for axis in np.flatnonzero(~periodic):
        normal = _perpendicular(cells[:, axis], others)
        height = np.sum(normal * cells[:, axis], axis=-1)
        along = np.einsum("fax,fx->fa", positions.astype(float), normal)
        thickness = np.ptp(along, axis=1).max()
        longer[:, axis] = normal * np.maximum(height, 2 * thickness + _MARGIN)[:, None]
        others.append(normal)
    return longer


def _perpendicular(vectors: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Unit vectors (frames, 3): what is left of vectors beside up to two others."""
    basis, _ = np.linalg.qr(np.stack(others, axis=-1))
    rest = vectors - np.einsum("fxk,fyk,fy->fx", basis, basis, vectors)
    return rest / np.linalg.norm(rest, axis=-1, keepdims=True)


def _standard(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower triangles L with a positive diagonal, and rotations Q, so that ±A = L·Q."""
    right_handed = cells * np.sign(np.linalg.det(cells))[:, None, None]
    columns, upper = np.linalg.qr(np.swapaxes(right_handed, 1, 2))
    signs = np.sign(np.diagonal(upper, axis1=1, axis2=2))
    lower = np.swapaxes(upper, 1, 2) * signs[:, None, :]
    return lower, np.swapaxes(columns, 1, 2) * signs[:, :, None]


def _rotated(vectors: np.ndarray, rotations: np.ndarray) -> np.ndarray:
    """r·Qᵀ, in the precision of r."""
    turned = np.einsum("fax,fyx->fay", vectors.astype(float), rotations)
    return turned.astype(vectors.dtype)
