"""What lies beyond the cutoff, for a fluid that is uniform there.

With N_a particles of species a in the volume V,

    U = (2π/V) Σ_ab N_a N_b ∫ u_ab r² dr
    W = −(2π/V) Σ_ab N_a N_b ∫ u'_ab r³ dr / 3 for each axis; p = W/V

integrals from the cutoff to infinity. W is the usual correction of the pressure; it holds the
term of pairs that cross the cutoff, so it is not the derivative of U by the volume.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.geometry import System
from instar.potentials.evaluation import Evaluation, Request

__all__ = ["tail_correction"]


def tail_correction(
    formula: Any,
    cutoff: Array,
    species: Array | None,
    count: int,
    system: System,
    request: Request,
) -> Evaluation:
    """Energy, virial and energies of particles beyond the cutoff; forces have no such part."""
    occupied = jnp.zeros(system.count, bool).at[system.system].max(system.there)
    runtime_assert(
        jnp.all(system.cell.periodic | ~occupied[:, None]),
        "Tail corrections hold for a fluid that fills space: the cell must repeat along all axes.",
    )
    energies, slopes = (
        jnp.broadcast_to(integral, (count, count)) for integral in formula.tail(cutoff)
    )
    kinds = jnp.zeros_like(system.system) if species is None else species
    numbers = jnp.zeros((system.count, count), system.positions.dtype)
    numbers = numbers.at[system.system, kinds].add(system.there.astype(numbers.dtype))
    factor = 2 * math.pi / system.cell.volume

    def total(integrals: Array) -> Array:
        # Species that never meet may have no parameters.
        both = numbers[:, :, None] * numbers[:, None, :]
        return factor * jnp.sum(jnp.where(both > 0, both * integrals[None], 0), axis=(1, 2))

    virial = -total(slopes)[:, None, None] / 3 * jnp.eye(3, dtype=numbers.dtype)[None]
    around = numbers[:, None, :] * energies[None]
    each = factor[:, None] * jnp.sum(jnp.where(numbers[:, None, :] > 0, around, 0), axis=2)
    own = jnp.where(system.there, each[system.system, kinds], 0)
    return Evaluation(
        energy=total(energies) if request.energy else None,
        virial=virial if request.virial else None,
        particle_energies=own if request.per_particle else None,
    )
