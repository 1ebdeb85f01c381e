"""`Extents`: how large systems are, how far their particles see, and how many images they have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from instar.geometry import Cell

__all__ = ["Extents", "extents"]


class Extents(NamedTuple):
    """What estimates are made from, one entry per system."""

    counts: np.ndarray  # particles
    counted: np.ndarray  # images that others may see, of the particles where they are
    heights: np.ndarray  # (systems, 3) of the cell, Å
    volumes: np.ndarray  # that particles really take, Å³
    periodic: np.ndarray  # (systems, 3)
    reach: np.ndarray  # Å

    @property
    def span(self) -> np.ndarray:
        """The reach as a part of each height; 0 along axes that do not repeat."""
        return _span(self.reach, self.heights, self.periodic)

    @property
    def images(self) -> np.ndarray:
        """Images of particles that others may see, about."""
        return self.counts * np.prod(1 + 2 * self.span, axis=1)


def extents(positions: np.ndarray, system: np.ndarray, cell: Cell, reach: np.ndarray) -> Extents:
    """How large each system is, and how far its particles see; on the host."""
    vectors, periodic = np.asarray(cell.vectors, np.float64), np.asarray(cell.periodic)
    systems = len(vectors)
    there = (system >= 0) & (system < systems)
    own = system[there]
    counts = np.bincount(own, minlength=systems)
    inverse = np.linalg.inv(vectors)
    heights = 1 / np.linalg.norm(inverse, axis=1)
    # Along open axes particles take a box around them, at least an atom wide.
    places = np.einsum("pi,pij->pj", positions[there], inverse[own])
    low, high = np.full((systems, 3), np.inf), np.full((systems, 3), -np.inf)
    np.minimum.at(low, own, places)
    np.maximum.at(high, own, places)
    taken = np.where(counts[:, None] > 0, np.maximum(high - low, 2 / heights), 1)
    volumes = np.abs(np.linalg.det(vectors)) * np.where(periodic, 1, taken).prod(axis=1)
    seen = _image_counts(places, _span(reach, heights, periodic)[own], periodic[own])
    counted = np.bincount(own, seen, systems)
    return Extents(counts, counted, heights, volumes, periodic, reach)


def _span(reach: np.ndarray, heights: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    return np.where(periodic, reach[:, None] / heights, 0)


def _image_counts(places: np.ndarray, span: np.ndarray, periodic: np.ndarray) -> np.ndarray:
    """How many images of each particle are within ``span`` of the cell: see `images`."""
    with np.errstate(over="ignore", invalid="ignore"):  # the search refuses what is not finite
        inside = places - np.floor(places)
        steps = np.floor(1 + span - inside) - np.ceil(-span - inside) + 1
        counts = np.where(periodic, steps, 1).prod(axis=1)
    return np.where(np.isfinite(counts), counts, 1)
