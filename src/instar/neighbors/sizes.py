"""How much room neighbors need, estimated before the first search, and which search is cheapest.

Estimates come from the number density of each system, and from its images as they are: planes of a
crystal that are just within reach add many at once. They are meant to suffice for a liquid with
something to spare; what needs more (a cluster in a large box) grows at the first search.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from instar.core.utils.jax import dataclass, field
from instar.neighbors.extents import Extents
from instar.neighbors.search import WORD

__all__ = [
    "ReachError",
    "Sizes",
    "estimate",
    "image_room",
    "search_cost",
    "uncountable",
]

SUBDIVISIONS = (0, 1, 2, 3)
"""Bins to a reach that the cost model chooses from; 0 tests all pairs of a system."""

SPARE = 1.03
"""Rows for each image: how many there are changes while particles move."""

COST_OF_COLUMN, COST_OF_TEST, COST_OF_IMAGE = 10.0, 2.3, 140.0
"""Nanoseconds for one column of one particle, one candidate, and one image sorted.

Measured by ``bench/neighbors.py`` on two cores of an AMD EPYC; only their ratios matter.
"""


@dataclass
class Sizes:
    """Sizes of the buffers of a search, and how finely it divides space."""

    images: int = field(static=True)
    neighbors: int = field(static=True)
    words: int = field(static=True)
    subdivision: int = field(static=True)


def estimate(known: Extents, subdivision: int | None = None) -> Sizes:
    """Sizes for these systems; with ``subdivision`` None the cheapest search is chosen."""
    _check_countable(known)
    counts, span, images, reach = known.counts, known.span, known.images, known.reach
    density = counts / known.volumes
    neighbors = np.minimum(density * (4 / 3) * math.pi * reach**3, images)
    wanted = float(_with_fluctuation(neighbors).max(initial=0))
    best = subdivision
    if best is None:
        costs = [search_cost(counts, images, density, span, reach, s) for s in SUBDIVISIONS]
        best = SUBDIVISIONS[int(np.argmin(costs))]
    held = image_room(images) if best == 0 else _column(images, density, span, reach, best)
    column = float(held.max(initial=0))
    # On a coarse grid, so that similar structures share one compiled program.
    expected = max(image_room(images.sum()), SPARE * known.counted.sum())
    rows = 1 + max(int(counts.sum()), math.ceil(expected))
    return Sizes(
        images=math.ceil(1.05 ** math.ceil(math.log(rows, 1.05))),
        neighbors=8 * max(1, math.ceil(wanted / 8)),
        words=max(1, math.ceil(column / WORD)),
        subdivision=best,
    )


class ReachError(ValueError):
    """Particles that see too many periodic images to count them."""


def uncountable(known: Extents) -> dict[int, str]:
    """Systems whose images, or pairs, are beyond counting in 32 bits: what is wrong, in words."""
    with np.errstate(over="ignore", invalid="ignore"):
        images = known.images
        pairs = known.counts * np.minimum(images, known.counts * known.reach**3 / known.volumes)
    far = ~((images < _MOST_ROWS) & (pairs < _MOST_PAIRS))
    return {
        int(n): f"particles that see {known.reach[n]:.4g} Å far, in a cell of the heights "
        f"{', '.join(f'{h:.4g}' for h in known.heights[n])} Å, have about {images[n]:.1g} images"
        for n in np.flatnonzero(far)
    }


_MOST_ROWS, _MOST_PAIRS = 2.0**30, 2.0**40


def _check_countable(known: Extents) -> None:
    for system, what in uncountable(known).items():
        raise ReachError(
            f"System {system}: {what}, which are too many.\n"
            "Make the cutoff or the skin shorter, or look at the cell: is it in Å?"
        )


def image_room(images: Any) -> Any:
    """Rows for about so many images, with something to spare."""
    return SPARE * images + 3 * np.sqrt(images)


def search_cost(
    counts: np.ndarray,
    images: np.ndarray,
    density: np.ndarray,
    span: np.ndarray,
    reach: np.ndarray,
    subdivision: int,
) -> float:
    """Time of one search (ns), as the model predicts it."""
    columns = (2 * subdivision + 1) ** 2
    tests = columns * float(_column(images, density, span, reach, subdivision).max(initial=0))
    per_particle = columns * COST_OF_COLUMN + tests * COST_OF_TEST
    return float(counts.sum()) * per_particle + float(images.sum()) * COST_OF_IMAGE


def _column(
    images: np.ndarray, density: np.ndarray, span: np.ndarray, reach: np.ndarray, subdivision: int
) -> np.ndarray:
    """The most candidates in one column of bins, about."""
    if subdivision == 0:
        return images
    extent = np.where(span > 0, (1 + 2 * span) / np.where(span > 0, span, 1), 2.0)
    bins = np.maximum(1, np.floor(extent[:, :2] * subdivision))
    breadth = extent[:, :2] / bins * reach[:, None]  # of a bin, Å
    height = np.minimum(2 + 1 / subdivision, extent[:, 2]) * reach
    held = density * breadth.prod(axis=1) * height
    return np.minimum(images, _with_fluctuation(held))


def _with_fluctuation(mean: np.ndarray) -> np.ndarray:
    """What the fullest of many places holds in a liquid: less than random points would."""
    return mean + 2.5 * np.sqrt(mean) + 2
