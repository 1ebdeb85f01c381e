"""Terms between named atoms: indices within a structure, spread over the structures of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import NonNegativeInt

from instar.app.models.base import ConfigurationError, Strict
from instar.app.structures import Batch
from instar.core.data import Index
from instar.core.typing import ParticleId

__all__ = ["TermsConfig"]


class TermsConfig(Strict):
    """Terms between atoms that are counted within a structure, from 0.

    They hold for each of the ``structures`` that are named by number, for all if none is named.
    """

    structures: tuple[NonNegativeInt, ...] | None = None

    def chosen(self, batch: Batch) -> list[int]:
        """The numbers of the structures that these terms are for."""
        count = len(batch.counts)
        if self.structures is None or count == 0:
            return list(range(count))
        for number in self.structures:
            if number >= count:
                raise ConfigurationError(
                    f"{self.type}: there is no structure {number}; "  # pyright: ignore[reportAttributeAccessIssue]
                    f"there are {count}, counted from 0."
                )
        return sorted(set(self.structures))

    def placed(
        self, batch: Batch, atoms: Sequence[Sequence[int]], columns: int
    ) -> Index[ParticleId]:
        """The particles of all terms in all chosen structures, (structures · terms, columns)."""
        local = np.array(atoms, np.int64).reshape(-1, columns)
        chosen = self.chosen(batch)
        for number in chosen:
            self._check(local, number, int(batch.counts[number]))
        rows = batch.starts[chosen][:, None, None] + local[None]
        rows = rows.reshape(-1, columns).astype(np.int32)
        return Index.integer(rows, n=len(batch.positions), label=ParticleId)

    def repeated(self, batch: Batch, values: Sequence[float]) -> np.ndarray:
        """One value a term, in the order of `placed`."""
        return np.tile(np.array(values, np.float64), len(self.chosen(batch)))

    def _check(self, atoms: np.ndarray, number: int, count: int) -> None:
        kind = self.type  # pyright: ignore[reportAttributeAccessIssue]
        if atoms.size and atoms.max() >= count:
            term = int(np.argmax((atoms >= count).any(axis=1)))
            raise ConfigurationError(
                f"{kind}: term {term} is between the atoms {atoms[term].tolist()}, but structure "
                f"{number} has {count} atoms, counted from 0.\nName the structures that the terms "
                "are for: structures: [...]."
            )
        ordered = np.sort(atoms, axis=1)
        same = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if same.any():
            term = int(np.argmax(same))
            raise ConfigurationError(
                f"{kind}: term {term} names an atom twice: {atoms[term].tolist()}."
            )
