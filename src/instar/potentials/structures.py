"""`Structures`: systems side by side on the host, before they become tables."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Problem", "Structures"]


@dataclasses.dataclass(frozen=True)
class Problem:
    """What keeps a potential from being computed for a structure, and what to do about it."""

    structure: int
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"Structure {self.structure}: {self.text}.\n{self.advice}".strip()


@dataclasses.dataclass(frozen=True)
class Structures:
    """What structures are made of, in double precision: what potentials are made for."""

    counts: np.ndarray  # (structures,) atoms of each
    positions: np.ndarray  # (atoms, 3) Å
    labels: np.ndarray  # (atoms,) text
    charges: np.ndarray  # (atoms,) e; NaN where none were given
    vectors: np.ndarray  # (structures, 3, 3) Å; zeros where there is no vector
    periodic: np.ndarray  # (structures, 3)
    charged: np.ndarray  # (structures,) whether charges were given
    magnetic: np.ndarray  # (structures,) whether there are magnetic moments

    @staticmethod
    def of_tables(particles: Any, systems: Any) -> Structures:
        """From a table of particles and one of systems; absent particles are left out."""
        data, cell = particles.data, systems.data.cell
        system = np.asarray(data.system.update_labels(systems.vocabulary).indices)
        count = len(systems)
        order = np.argsort(system, kind="stable")
        order = order[(system[order] >= 0) & (system[order] < count)]
        labels, charges = getattr(data, "labels", None), getattr(data, "charges", None)
        own = np.full(len(system), np.nan) if charges is None else np.asarray(charges, float)
        lacking = np.bincount(system[order], ~np.isfinite(own[order]), minlength=count) > 0
        return Structures(
            np.bincount(system[order], minlength=count).astype(np.int32),
            np.asarray(data.positions, float)[order],
            np.full(len(order), "") if labels is None else _names(labels)[order],
            own[order],
            np.asarray(cell.vectors, float),
            np.asarray(cell.periodic, bool),
            ~lacking,
            np.zeros(count, bool),
        )

    def __len__(self) -> int:
        """The number of structures."""
        return len(self.counts)

    def chosen(self, numbers: np.ndarray) -> Structures:
        """Some of them in this order; one may be there several times."""
        counts = self.counts[numbers]
        ends = np.cumsum(counts)
        first = np.repeat(self.starts[numbers] - (ends - counts), counts)
        rows = first + np.arange(len(first))
        return Structures(
            counts,
            self.positions[rows],
            self.labels[rows],
            self.charges[rows],
            self.vectors[numbers],
            self.periodic[numbers],
            self.charged[numbers],
            self.magnetic[numbers],
        )

    @property
    def starts(self) -> np.ndarray:
        """The first atom of each structure."""
        return np.cumsum(self.counts) - self.counts

    @property
    def system(self) -> np.ndarray:
        """The structure of each atom."""
        return np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)

    @cached_property
    def species(self) -> list[frozenset[str]]:
        """The labels that occur in each structure."""
        names, code = np.unique(self.labels, return_inverse=True)
        present = np.zeros((len(self), len(names)), bool)
        present[self.system, code] = True
        known: dict[bytes, frozenset[str]] = {}
        for row in present:
            if row.tobytes() not in known:
                known[row.tobytes()] = frozenset(map(str, names[row]))
        return [known[row.tobytes()] for row in present]


def _names(labels: Any) -> np.ndarray:
    names = np.array([*map(str, labels.vocabulary), ""])
    return names[np.clip(np.asarray(labels.indices), 0, len(names) - 1)]
