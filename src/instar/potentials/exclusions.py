"""`Exclusions`: pairs of particles of one molecule that interact less than others, or not at all.

Particles that are one, two or three bonds apart (1-2, 1-3, 1-4) have their interaction described by
bonds, angles and dihedrals; pair potentials and the Coulomb interaction between them are scaled by
a factor, mostly zero. Neighbor lists leave such pairs out, and what remains of them is added pair
by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.core.utils.jax import dataclass
from instar.core.utils.on_device import on_device
from instar.geometry import AllParticles
from instar.potentials.named import rows_of

__all__ = ["Exclusions", "pairs_apart"]


@dataclass
class Exclusions:
    """Pairs with factors of their own; make them with `of` or `from_bonds`."""

    pairs: Index[ParticleId]  # (pairs, 2), each pair once
    pair_factor: Any  # (pairs,) of pair potentials
    coulomb_factor: Any  # (pairs,) of the Coulomb interaction
    partners: Array  # (particles, room) int32: rows that are excluded from each; -1 for none

    @staticmethod
    def of(
        pairs: Any, particles: int, pair_factor: Any = 0.0, coulomb_factor: Any = 0.0
    ) -> Exclusions:
        """Pairs of particles that interact less than others, or not at all.

        Parameters
        ----------
        pairs
            (pairs, 2) int: rows of particles, each pair once.
        particles
            How many particles there are.
        pair_factor, coulomb_factor
            What pair potentials and the Coulomb interaction of these pairs are multiplied with: one
            for all pairs or one per pair.

        Returns
        -------
        Exclusions
            What ``potential.excluding(...)`` takes.

        Raises
        ------
        ValueError
            If a pair names a particle that is not there, the same particle twice, or comes twice.

        Examples
        --------
        >>> from instar.potentials import Exclusions
        >>> water = Exclusions.of([[0, 1], [0, 2], [1, 2]], particles=3)
        >>> print(water.partners)
        [[1 2]
         [0 2]
         [0 1]]
        """
        given = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
        if len(given) and (given.min() < 0 or given.max() >= particles):
            raise ValueError(f"Excluded pairs are rows 0 … {particles - 1} of the particles.")
        if (given[:, 0] == given[:, 1]).any():
            raise ValueError("A particle can't be excluded from itself.")
        if len(np.unique(given, axis=0)) < len(given):
            raise ValueError("A pair is excluded twice; name it once.")
        pair, coulomb = (
            np.broadcast_to(np.asarray(f, np.float64), (len(given),)).copy()
            for f in (pair_factor, coulomb_factor)
        )
        index = Index.integer(given.astype(np.int32), n=particles, label=ParticleId)
        return Exclusions(index, pair, coulomb, on_device(_partners(given, particles)))

    @staticmethod
    def from_bonds(
        bonds: Any,
        particles: int,
        pair: Sequence[int | float] = (0.0, 0.0, 1.0),
        coulomb: Sequence[int | float] = (0.0, 0.0, 1.0),
    ) -> Exclusions:
        """Pairs one, two and three bonds apart (1-2, 1-3, 1-4), with a factor for each kind.

        A pair that is one and also three bonds apart, in a ring, counts as the nearer one.

        Parameters
        ----------
        bonds
            (bonds, 2) int: rows of particles.
        particles
            How many particles there are.
        pair
            Three factors of pair potentials.
        coulomb
            Three factors of the Coulomb interaction.

        Returns
        -------
        Exclusions
            Of all pairs whose factors are not both 1.

        Examples
        --------
        >>> from instar.potentials import Exclusions
        >>> butane = Exclusions.from_bonds([[0, 1], [1, 2], [2, 3]], 4, pair=(0, 0, 0.5))
        >>> print(butane.pair_factor)
        [0.  0.  0.  0.  0.  0.5]
        """
        levels = pairs_apart(bonds, particles)
        kept = [k for k in range(3) if not pair[k] == coulomb[k] == 1 and len(levels[k])]
        if not kept:
            return Exclusions.of(np.zeros((0, 2)), particles)
        sizes = [len(levels[k]) for k in kept]
        return Exclusions.of(
            np.concatenate([levels[k] for k in kept]),
            particles,
            np.repeat([pair[k] for k in kept], sizes),
            np.repeat([coulomb[k] for k in kept], sizes),
        )

    def rows(self, everyone: AllParticles) -> tuple[Array, Array]:
        """Both rows of each pair, in bounds."""
        rows = rows_of(self.pairs, everyone, "Exclusions")
        rows = jnp.clip(rows, 0, max(0, everyone.positions.shape[0] - 1))
        return rows[:, 0], rows[:, 1]


def _partners(pairs: np.ndarray, particles: int) -> np.ndarray:
    """For each particle its partners, in rows of equal length."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    counts = np.bincount(both[:, 0], minlength=particles)
    rows = np.full((particles, counts.max(initial=0)), -1, np.int32)
    place = np.arange(len(both)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows[both[:, 0], place] = both[:, 1]
    return rows


def pairs_apart(bonds: Any, particles: int) -> list[np.ndarray]:
    """Pairs that are one, two and three bonds apart, each pair once and at its nearest."""
    bonds = np.unique(np.sort(np.asarray(bonds, np.int64).reshape(-1, 2), axis=1), axis=0)
    near = _partners(bonds, particles)
    found, levels = np.zeros(0, np.int64), []
    walks = np.arange(particles)[:, None]
    for _ in range(3):
        onward = np.where(walks[..., None] >= 0, near[walks], -1)
        walks = onward.reshape(particles, walks.shape[1] * near.shape[1])
        first = np.repeat(np.arange(particles), walks.shape[1])
        last = walks.reshape(-1)
        forward = last > first
        keys = np.unique(first[forward] * particles + last[forward])
        keys = np.setdiff1d(keys, found, assume_unique=True)
        found = np.concatenate([found, keys])
        levels.append(np.column_stack([keys // particles, keys % particles]))
    return levels
