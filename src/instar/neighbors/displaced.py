"""How far particles have moved since a list was made, beyond what the cell has carried them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.data import Index, Table
from instar.core.typing import SystemId
from instar.geometry.triples import squared

__all__ = ["moved_by"]


def moved_by(now: Array, then: Array, strain: Array, system: Index[SystemId]) -> Array:
    """|r − r₀·(1 + ε)|² of each particle, with the strain ε = F − 1 (systems, 3, 3) of its system.

    Term by term, so that it is one loop over the particles.
    """
    moved = [now[:, k] - then[:, k] for k in range(3)]

    def entry(j: int, k: int) -> Array:
        return Table(system.vocabulary, strain[:, j, k]).beside(system)

    return squared(
        jnp.stack(
            [
                moved[k]
                - (then[:, 0] * entry(0, k) + then[:, 1] * entry(1, k) + then[:, 2] * entry(2, k))
                for k in range(3)
            ],
            axis=-1,
        )
    )
