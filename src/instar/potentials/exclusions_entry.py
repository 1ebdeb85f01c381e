"""Pairs near each other in a molecule, as an entry of a configuration."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from instar.core.utils.declaration import option
from instar.potentials.entry import Entry, configured
from instar.potentials.exclusions import Exclusions, pairs_apart
from instar.potentials.potential import PotentialError
from instar.potentials.structures import Structures
from instar.potentials.terms_entry import PlacedEntry, countable

__all__ = ["ExclusionsEntry", "exclusions_of"]

Factors = tuple[float, float, float]


@configured("exclusions")
@dataclasses.dataclass(frozen=True, kw_only=True)
class ExclusionsEntry(PlacedEntry):
    """Factors of the interaction of pairs one, two and three bonds apart.

    ``bonds`` are further bonds, beside those of bond terms and constraints.
    """

    pair: Factors = option("factors of pair potentials", default=(0.0, 0.0, 1.0))
    coulomb: Factors = option("factors of the Coulomb interaction", default=(0.0, 0.0, 1.0))
    bonds: tuple[tuple[int, int], ...] = option(
        "bonds beside those of bond terms and constraints", default=(), least=0, check=countable
    )

    def made(self, structures: Structures, shortest: float) -> None:
        """Nothing of its own: it changes what others do."""

    def bonded_pairs(self) -> tuple[tuple[int, int], ...]:
        """The bonds that are given here."""
        return self.bonds


def exclusions_of(entries: Sequence[Entry], structures: Structures) -> Exclusions | None:
    """What all entries together exclude; None if nothing is bonded."""
    given = [entry for entry in entries if isinstance(entry, ExclusionsEntry)]
    bonded = [entry for entry in entries if isinstance(entry, PlacedEntry) and entry.bonded_pairs()]
    if not bonded and given:
        raise PotentialError(
            "exclusions: nothing is bonded, so nothing would be excluded.\n"
            "Give the bonds: bonds: [[0, 1], ...], or terms of a bond."
        )
    if not bonded:
        return None
    bonds = np.concatenate([e.placed(structures, e.bonded_pairs(), 2).indices for e in bonded])
    factors = _factors(given, structures)  # (structures, pair or coulomb, apart)
    system = structures.system
    pairs, scales = [], []
    for apart, level in enumerate(pairs_apart(bonds, len(structures.positions))):
        own = factors[system[level[:, 0]], :, apart]
        changed = (own != 1).any(axis=1)
        pairs.append(level[changed])
        scales.append(own[changed])
    scale = np.concatenate(scales)
    return Exclusions.of(np.concatenate(pairs), len(structures.positions), scale[:, 0], scale[:, 1])


def _factors(given: list[ExclusionsEntry], structures: Structures) -> np.ndarray:
    default = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    factors = np.tile(np.array(default), (len(structures), 1, 1))
    seen: set[int] = set()
    for entry in given:
        chosen = entry.chosen(structures)
        if twice := seen & set(chosen):
            raise PotentialError(f"exclusions: structure {min(twice)} is given two of them.")
        seen |= set(chosen)
        factors[chosen] = [entry.pair, entry.coulomb]
    return factors
