"""`Edges`: which pairs of particles interact.

An edge names two particles by an ``Index[ParticleId]`` of two columns, so that
``particles[edges.indices]`` gathers both ends in one join. An edge with an end that is out of
bounds is free: it stands for no pair.

Any order of edges will do. Two orders are known to need less work, since the sum over the
edges of a particle is then the sum of a row: *rows of neighbors* (``per_particle`` edges each,
particle after particle) and *all pairs* (row i holds every particle, in order).
"""

from __future__ import annotations

import operator
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.core.utils.jax import dataclass, field, is_traced

__all__ = ["Edges"]


@dataclass
class Edges:
    """Pairs of particles, one row each.

    That edges said to be in rows are in rows is checked where they are known; inside compiled
    code it is a runtime check, which only `with_runtime_assertions` (or `advance`) reports.

    ``shifts`` (Å), where given, are added to the position of the second particle: with them an
    edge reaches a periodic image.
    """

    indices: Index[ParticleId]
    shifts: Array | None = None
    per_particle: int | None = field(static=True, default=None)
    complete: bool = field(static=True, default=False)

    def __post_init__(self) -> None:
        """Check the columns, and that edges said to be in rows are."""
        self.check()

    def check(self) -> None:
        """Refuse columns that do not fit, and rows that are known to be out of order."""
        shape = self.indices.shape
        if len(shape) < 2 or shape[-1] != 2:
            raise ValueError(
                f"An edge has two ends: indices of shape (edges, 2), not {shape}.\n"
                "Stack the columns: Edges.between(first, second, particles=n)."
            )
        if self.shifts is not None and self.shifts.shape[:-1] != shape[:-1]:
            raise ValueError(
                f"There are {shape[-2]} edges, but shifts of shape {self.shifts.shape}.\n"
                "Give one shift an edge, zero for an edge within the cell."
            )
        if self.per_particle is not None:
            self._check_rows(self.per_particle)

    def _check_rows(self, per_particle: int) -> None:
        expected = self.particles * per_particle
        if expected != len(self):
            raise ValueError(
                f"{self.particles} particles with {per_particle} edges each are {expected} edges, "
                f"not {len(self)}.\nLeave per_particle out for edges in any order."
            )
        entries = self.indices.indices
        if not is_traced(entries) and not np.all(self._are_in_rows(np.asarray(entries))):
            raise ValueError(
                f"Edges with per_particle={per_particle} are not in rows.\n"
                "Leave per_particle out for edges in any order."
            )

    def _are_in_rows(self, entries: Any) -> Any:
        """Whether each edge stands where its layout says."""
        assert self.per_particle is not None
        row, column = np.divmod(np.arange(len(self), dtype=np.int32), max(1, self.per_particle))
        first, second = entries[..., 0], entries[..., 1]
        expected = first == row
        if self.complete:
            own_image = self.shifts is not None  # without a shift no particle meets itself
            free = (second >= self.particles) | (second < 0)
            expected = expected & (free | (second == column) & (own_image | (row != column)))
        return expected

    def assert_in_rows(self) -> None:
        """Inside compiled code: check that the edges are in the rows they are said to be in."""
        if self.per_particle is not None:
            runtime_assert(
                jnp.all(self._are_in_rows(self.indices.indices)),
                "The edges were reordered: they are not in rows of {per_particle} each.",
                fmt_args={"per_particle": self.per_particle},
            )

    # Making -------------------------------------------------------------------------------

    @staticmethod
    def between(first: Any, second: Any, particles: int, shifts: Array | None = None) -> Edges:
        """Edges from the numbers of their first and second particles, in any order."""
        pairs = _stack([first, second])
        return Edges(Index.integer(pairs, n=particles, label=ParticleId), shifts)

    @staticmethod
    def rows(neighbors: Any, shifts: Array | None = None) -> Edges:
        """Edges from a matrix of neighbors: row i lists those of particle i.

        An entry out of bounds (as large as the number of particles) is not a neighbor. ``shifts``
        has one vector per entry.
        """
        shape = np.shape(neighbors)
        if len(shape) < 2:
            raise ValueError(
                f"A matrix of neighbors has a row for each particle, not the shape {shape}."
            )
        *batch, particles, width = shape
        xp = jnp if is_traced(neighbors) else np
        first = np.broadcast_to(np.arange(particles, dtype=np.int32)[:, None], shape)
        pairs = _stack([first, xp.asarray(neighbors)]).reshape(*batch, particles * width, 2)
        index = Index.integer(pairs, n=particles, label=ParticleId)
        if shifts is not None:
            shifts = shifts.reshape(*batch, particles * width, shifts.shape[-1])
        return Edges(index, shifts, per_particle=width)

    @staticmethod
    def all_pairs(particles: int) -> Edges:
        """Every particle with every other, in both directions; edge i·n + i is free."""
        n = operator.index(particles)
        first, second = (axis.reshape(-1) for axis in np.indices((n, n), np.int32))
        pairs = np.stack([first, np.where(first == second, np.int32(n), second)], axis=-1)
        index = Index.integer(pairs, n=n, label=ParticleId)
        return Edges(index, per_particle=n, complete=True)

    # Reading ------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.indices.shape[-2]

    @property
    def layout(self) -> Literal["list", "rows", "all"]:
        """How the edges are ordered."""
        if self.complete:
            return "all"
        return "list" if self.per_particle is None else "rows"

    @property
    def particles(self) -> int:
        """Number of particles that an edge may name."""
        return len(self.indices.vocabulary)


def _stack(columns: list[Any]) -> Any:
    xp = jnp if any(is_traced(column) for column in columns) else np
    arrays = [xp.asarray(column) for column in columns]
    wide = max((a.dtype for a in arrays), key=lambda dtype: dtype.itemsize)
    return xp.stack([a.astype(wide) if a.dtype.kind in "iu" else a for a in arrays], axis=-1)
