"""What a state of particles begins with, whatever moves it: numbers, charges, streams, a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from instar.core.data import Table
from instar.core.typing import ArrayLike, ParticleId, SystemId
from instar.neighbors import NeighborList
from instar.potentials import Potential

__all__ = ["charges_of", "listed", "numbers_within", "streams_of"]


def listed(
    particles: Table[ParticleId, Any],
    systems: Table[SystemId, Any],
    potential: Potential,
    skin: ArrayLike,
    options: dict[str, Any],
) -> NeighborList | None:
    """An empty list for what the potential reaches, and the skin (Å); None without a reach."""
    if potential.reach is None:
        return None
    excluded = None if potential.exclusions is None else potential.exclusions.partners
    return NeighborList.of(particles, systems, potential.reach, skin, excluded=excluded, **options)


def charges_of(data: Any) -> Any:
    """The column of charges (e); NaN where there are none."""
    charges = getattr(data, "charges", None)
    if charges is None:
        return np.full(len(data.positions), np.nan, data.positions.dtype)
    return charges


def streams_of(given: ArrayLike | None, count: int) -> np.ndarray:
    """Numbers of the random streams of systems: their rows, if none are given."""
    if given is None:
        return np.arange(count, dtype=np.uint32)
    known = np.asarray(given)
    if known.shape != (count,) or known.dtype.kind not in "iu" or (known < 0).any():
        raise ValueError(f"Streams are {count} whole numbers of at least zero, not {given!r}.")
    if len(np.unique(known)) < count:
        raise ValueError("Two systems have the same stream, so they would draw the same numbers.")
    return known.astype(np.uint32)


def numbers_within(system: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Which one of its system each particle is."""
    numbers = np.zeros(len(system), np.int32)
    order = np.flatnonzero(there)[np.argsort(system[there], kind="stable")]
    sorted_ = system[order]
    starts = np.searchsorted(sorted_, sorted_, side="left")
    numbers[order] = np.arange(len(order)) - starts
    return numbers
