"""Terms between named atoms: indices within a structure, spread over the structures of a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from instar.app.models.base import ConfigurationError, Strict
from instar.app.structures import Batch
from instar.core.data import Index
from instar.core.typing import ParticleId

__all__ = ["TermsConfig"]


class TermsConfig(Strict):
    """Terms between atoms that are counted within a structure, from 0.

    They hold for each of the ``structures`` that are named by number, for all if none is named.
    With ``molecule``, a number of atoms, they are those of one molecule of so many, and hold for
    every molecule of a structure that is made of such molecules, one after the other.
    """

    structures: tuple[NonNegativeInt, ...] | None = None
    molecule: PositiveInt | None = None

    def chosen(self, batch: Batch) -> list[int]:
        """The numbers of the structures that these terms are for."""
        count = len(batch.counts)
        if self.structures is None or count == 0:
            return list(range(count))
        return sorted(set(self.structures))

    def placed(
        self, batch: Batch, atoms: Sequence[Sequence[int]], columns: int
    ) -> Index[ParticleId]:
        """The particles of all terms wherever they hold, (places · terms, columns)."""
        local = np.array(atoms, np.int64).reshape(-1, columns)
        for number in self.chosen(batch):
            self._check(local, number, int(self.molecule or batch.counts[number]))
        rows = self._starts(batch)[:, None, None] + local[None]
        rows = rows.reshape(-1, columns).astype(np.int32)
        return Index.integer(rows, n=len(batch.positions), label=ParticleId)

    def repeated(self, batch: Batch, values: Sequence[float]) -> np.ndarray:
        """One value a term, in the order of `placed`."""
        return np.tile(np.array(values, np.float64), len(self._starts(batch)))

    def _starts(self, batch: Batch) -> np.ndarray:
        """The first atom of each place where the terms hold: a structure, or a molecule."""
        chosen = self.chosen(batch)
        if self.molecule is None:
            return batch.starts[chosen]
        for number in chosen:
            if batch.counts[number] % self.molecule:
                raise ConfigurationError(
                    f"{self.type}: structure {number} has {batch.counts[number]} atoms, which are "  # pyright: ignore[reportAttributeAccessIssue]
                    f"no whole number of molecules of {self.molecule}.\nName the structures that "
                    "the terms are for: structures: [...]."
                )
        ranges = [
            batch.starts[number] + np.arange(0, batch.counts[number], self.molecule)
            for number in chosen
        ]
        return np.concatenate([np.zeros(0, np.int64), *ranges])

    def _check(self, atoms: np.ndarray, number: int, count: int) -> None:
        kind = self.type  # pyright: ignore[reportAttributeAccessIssue]
        if atoms.size and atoms.max() >= count:
            term = int(np.argmax((atoms >= count).any(axis=1)))
            raise ConfigurationError(
                f"{kind}: term {term} is between the atoms {atoms[term].tolist()}, but "
                f"{'a molecule' if self.molecule else f'structure {number}'} has {count} atoms, "
                "counted from 0.\nName the structures that the terms are for: structures: [...]."
            )
        ordered = np.sort(atoms, axis=1)
        same = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if same.any():
            term = int(np.argmax(same))
            raise ConfigurationError(
                f"{kind}: term {term} names an atom twice: {atoms[term].tolist()}."
            )
