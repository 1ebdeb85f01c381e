"""Pairs near each other in a molecule, as they stand in configuration files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import NonNegativeInt

from instar.app.models.base import ConfigurationError, Number
from instar.app.models.terms import TermsConfig
from instar.app.structures import Batch
from instar.potentials.exclusions import Exclusions, pairs_apart

__all__ = ["ExclusionsConfig", "exclusions_of"]

Factors = tuple[Number, Number, Number]


class ExclusionsConfig(TermsConfig):
    """`type: exclusions`: factors of pairs one, two and three bonds apart.

    ``bonds`` are further bonds, beside those of bond terms and constraints.
    """

    type: Literal["exclusions"]
    pair: Factors = (0.0, 0.0, 1.0)
    coulomb: Factors = (0.0, 0.0, 1.0)
    bonds: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] = ()


def exclusions_of(entries: Sequence[Any], batch: Batch) -> Exclusions | None:
    """What all entries together exclude; None if nothing is bonded."""
    given = [entry for entry in entries if isinstance(entry, ExclusionsConfig)]
    bonded = [entry for entry in entries if getattr(entry, "bonds", ())]
    if not bonded and given:
        raise ConfigurationError(
            "exclusions: nothing is bonded, so nothing would be excluded.\n"
            "Give the bonds: bonds: [[0, 1], ...], or terms of a bond."
        )
    if not bonded:
        return None
    bonds = np.concatenate([e.placed(batch, e.bonds, 2).indices for e in bonded])
    factors = _factors(given, batch)  # (structures, pair or coulomb, apart)
    system = batch.system
    pairs, scales = [], []
    for apart, level in enumerate(pairs_apart(bonds, len(batch.positions))):
        own = factors[system[level[:, 0]], :, apart]
        changed = (own != 1).any(axis=1)
        pairs.append(level[changed])
        scales.append(own[changed])
    scale = np.concatenate(scales)
    return Exclusions.of(np.concatenate(pairs), len(batch.positions), scale[:, 0], scale[:, 1])


def _factors(given: list[ExclusionsConfig], batch: Batch) -> np.ndarray:
    default = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    factors = np.tile(np.array(default), (len(batch.counts), 1, 1))
    seen: set[int] = set()
    for entry in given:
        chosen = entry.chosen(batch)
        if twice := seen & set(chosen):
            raise ConfigurationError(f"exclusions: structure {min(twice)} is given two of them.")
        seen |= set(chosen)
        factors[chosen] = [entry.pair, entry.coulomb]
    return factors
