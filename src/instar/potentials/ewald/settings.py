"""Which settings make an Ewald sum accurate enough, and cheapest: chosen on the host.

For each cutoff of the real-space sum in a list, α follows from the error that is allowed, then the
waves or the mesh from α. A model of the cost, with times measured by ``bench/coulomb.py``, picks
the cutoff, and waves or a mesh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from instar import kernels
from instar.potentials.ewald.accuracy import (
    ORDERS,
    Content,
    alpha_for,
    limit_for,
    skewness,
    spacing_for,
)
from instar.potentials.ewald.mesh import fast_size
from instar.potentials.potential import PotentialError

__all__ = ["MARGIN", "METHODS", "Setting", "choose", "waves_up_to", "waves_within"]

METHODS = ("auto", "ewald", "pme")

MARGIN = 0.5
"""The error aimed at, as a part of what is promised: a single configuration may have more than
the mean over random ones, and a cell may change a little before waves must be chosen again."""


class Costs(NamedTuple):
    """Nanoseconds, of which only the ratios matter."""

    pair: float  # of the real-space sum
    wave: float  # for each particle
    line: float  # of the mesh that a particle touches
    window: float  # a point of the mesh that a particle touches
    point: float  # of the mesh


BY_JAX = Costs(pair=8.6, wave=3.3, line=0.0, window=4.5, point=16.0)
BY_KERNELS = Costs(pair=3.3, wave=3.3, line=3.0, window=0.0, point=8.0)

PHASES = 350
"""Waves that cost as much as the phases of one particle, from which all its waves are made."""

SKIN = 1.0
"""Å by which neighbor lists reach further than the cutoff, as it is assumed."""

CUTOFFS = np.geomspace(2.5, 40.0, 25)
"""Cutoffs that are tried (Å)."""


MOST_WAVES, MOST_POINTS = 2e7, 2e9
"""Beyond what fits into any memory, next to particles."""


class Setting(NamedTuple):
    """What one system is summed with."""

    alpha: float  # 1/Å
    real_cutoff: float  # Å
    limit: float  # waves up to this |k|, 1/Å
    mesh: tuple[int, int, int] | None  # points of the mesh, if there is one
    order: int  # of its splines


def choose(
    content: Content,
    vectors: np.ndarray,
    accuracy: float,
    *,
    shortest: float = 0.0,
    cutoff: np.ndarray | None = None,
    method: str = "auto",
) -> list[Setting]:
    """The cheapest setting of each system.

    Real-space cutoffs are at least ``shortest`` (Å), since pairs that are visited anyway cost
    nothing more; with ``cutoff`` they are given.
    """
    error = MARGIN * accuracy / math.sqrt(2)
    tried = [cutoff] if cutoff is not None else [np.maximum(c, shortest) for c in CUTOFFS]
    skew = skewness(vectors)
    options = []
    for tried_radius in tried:
        radius = np.broadcast_to(tried_radius, content.count.shape).astype(float)
        alpha = alpha_for(content, radius, error)
        if method != "pme":
            options.append(_with_waves(content, radius, alpha, error))
        if method != "ewald":
            options += [_with_mesh(content, radius, alpha, error, p, skew) for p in ORDERS]
    costs = np.stack([option.cost for option in options])
    best = np.argmin(costs, axis=0)
    return [_setting(options[k], number, vectors[number]) for number, k in enumerate(best)]


class _Option(NamedTuple):
    radius: np.ndarray
    alpha: np.ndarray
    limit: np.ndarray
    spacing: np.ndarray | None
    order: int
    cost: np.ndarray


def _costs() -> Costs:
    return BY_KERNELS if kernels.in_use() else BY_JAX


def _pairs(content: Content, radius: np.ndarray) -> np.ndarray:
    volume = (4 / 3) * math.pi * (radius + SKIN) ** 3
    return _costs().pair * content.count**2 / content.volume * volume


def _with_waves(content: Content, radius: np.ndarray, alpha: np.ndarray, error: float) -> _Option:
    limit = limit_for(content, alpha, error)
    waves = content.volume * limit**3 / (12 * math.pi**2) + 1
    cost = _pairs(content, radius) + _costs().wave * content.count * (waves + PHASES)
    return _Option(radius, alpha, limit, None, 0, cost)


def _with_mesh(
    content: Content,
    radius: np.ndarray,
    alpha: np.ndarray,
    error: float,
    order: int,
    skew: np.ndarray,
) -> _Option:
    spacing = spacing_for(content, alpha, order, error / skew)
    # The mesh must hold the waves that matter, too.
    spacing = np.minimum(spacing, math.pi / limit_for(content, alpha, error))
    points = content.volume / spacing**3 + order**3
    costs = _costs()
    cost = _pairs(content, radius) + costs.point * points
    cost = cost + content.count * (costs.line * order**2 + costs.window * order**3)
    return _Option(radius, alpha, math.pi / spacing, spacing, order, cost)


def _setting(option: _Option, number: int, vectors: np.ndarray) -> Setting:
    mesh = None
    if option.spacing is not None:
        edges = np.linalg.norm(vectors, axis=1) / option.spacing[number]
        if not np.prod(np.maximum(edges, 1)) <= MOST_POINTS:
            raise PotentialError(
                f"System {number}: an Ewald sum on a mesh of {np.prod(edges):.3g} points is not "
                f"made; at most {MOST_POINTS:.0e} are.\nAsk for less accuracy, or look at the cell."
            )
        x, y, z = (fast_size(max(edge, option.order)) for edge in edges)
        mesh = (x, y, z)
    return Setting(
        float(option.alpha[number]),
        float(option.radius[number]),
        float(option.limit[number]),
        mesh,
        option.order,
    )


def waves_within(vectors: np.ndarray, limit: float) -> np.ndarray:
    """Whole numbers n, of each pair ±n one, whose k = 2πA⁻¹n is not longer than ``limit``."""
    reciprocal = 2 * math.pi * np.linalg.inv(vectors)  # k = reciprocal @ n
    # |n_d| = |a_d · k|/2π ≤ |a_d| limit/2π
    most = np.floor(np.linalg.norm(vectors, axis=1) * limit / (2 * math.pi) + 1e-9)
    most = np.clip(np.nan_to_num(most, nan=1e9), 0, 1e9).astype(int)
    n = waves_up_to(most)
    return n[np.sum((n @ reciprocal.T) ** 2, axis=1) <= limit**2 * (1 + 1e-12)]


def waves_up_to(most: Sequence[int] | np.ndarray) -> np.ndarray:
    """Whole numbers n with |n_d| ≤ most_d, of each pair ±n one, without zero."""
    x, y, z = (int(m) for m in most)
    if (count := (x + 1) * (2 * y + 1) * (2 * z + 1)) > MOST_WAVES:
        raise PotentialError(
            f"An Ewald sum of {count:.3g} waves ({x}, {y} and {z} along the axes) is not made; at "
            f"most {MOST_WAVES:.0e} are.\n"
            "Ask for less accuracy, take method: pme, or a smaller k_max."
        )
    n = np.mgrid[0 : x + 1, -y : y + 1, -z : z + 1].reshape(3, -1).T
    first = np.where(n[:, 0] != 0, n[:, 0], np.where(n[:, 1] != 0, n[:, 1], n[:, 2]))
    return n[first > 0].astype(np.int32)
