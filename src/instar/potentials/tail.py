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
from instar.core.data import Index
from instar.geometry import AllParticles
from instar.potentials.evaluation import Evaluation, Request

__all__ = ["tail_correction"]


def tail_correction(
    formula: Any,
    cutoff: Array,
    species: Array | None,
    count: int,
    everyone: AllParticles,
    request: Request,
) -> Evaluation:
    """Energy, virial and energies of particles beyond the cutoff; forces have no such part."""
    occupied = everyone.system.counts.data > 0
    runtime_assert(
        jnp.all(everyone.cell.periodic | ~occupied[:, None]),
        "Tail corrections hold for a fluid that fills space: the cell must repeat along all axes.",
    )
    energies, slopes = (
        jnp.broadcast_to(integral, (count, count)) for integral in formula.tail(cutoff)
    )
    kinds = jnp.zeros_like(everyone.system.indices) if species is None else species
    numbers = everyone.system.combine(Index.integer(kinds, n=count)).counts.data
    numbers = numbers.reshape(everyone.count, count).astype(everyone.positions.dtype)
    factor = 2 * math.pi / everyone.cell.volume

    def total(integrals: Array) -> Array:
        # Species that never meet may have no parameters.
        both = numbers[:, :, None] * numbers[:, None, :]
        return factor * jnp.sum(jnp.where(both > 0, both * integrals[None], 0), axis=(1, 2))

    virial = -total(slopes)[:, None, None] / 3 * jnp.eye(3, dtype=numbers.dtype)[None]
    around = numbers[:, None, :] * energies[None]
    each = factor[:, None] * jnp.sum(jnp.where(numbers[:, None, :] > 0, around, 0), axis=2)
    own = everyone.systems.set_data(each)[everyone.system]
    own = jnp.take_along_axis(own, kinds[:, None], axis=1)[:, 0]
    return Evaluation(
        energy=total(energies) if request.energy else None,
        virial=virial if request.virial else None,
        particle_energies=own if request.per_particle else None,
    )
