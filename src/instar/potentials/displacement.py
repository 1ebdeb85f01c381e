"""Displacements between named particles, each to the nearest image of the other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.geometry import AllParticles, Cell

__all__ = ["displacements"]

_SEARCH = (1, 1, 1)
"""How many cells around the rounded one are tried where cells are skewed."""


def displacements(
    first: Array, second: Array, everyone: AllParticles, used: Array | None = None
) -> Array:
    """r_second − r_first (n, 3) in Å, at the nearest image; rows of particles are in bounds.

    Both particles of a pair are taken to be in the system of the first. ``used`` (n,) says which
    pairs count: the others give zeros, and are not checked.

    In an orthorhombic cell rounding is exact. In a skewed one the 27 cells around the rounded one
    are searched. The rounded difference has fractional coordinates |sₖ| ≤ ½ along the axes that
    repeat, the nearest one |sₖ| ≤ length / heightₖ; both are whole cells apart, so the nearest is
    among the 27 if its length is below 3/2 of every height: three times `Cell.exact_within`. A
    pair further apart than that is a failed runtime check.
    """
    used = jnp.ones(first.shape, bool) if used is None else used
    safe = jnp.where(used[:, None], everyone.positions[second] - everyone.positions[first], 0)
    if first.shape[0] == 0:
        return safe
    own = everyone.system[first]
    cell: Cell = everyone.systems.set_data(everyone.cell)[own]
    if cell.orthorhombic:
        return cell.minimum_image(safe)
    nearest = cell.minimum_image(safe, search=_SEARCH)
    length = jnp.sqrt(jnp.sum(jax.lax.stop_gradient(nearest) ** 2, axis=-1))
    unsure = used & (length >= 3 * cell.exact_within)
    bad = jnp.argmax(unsure)
    runtime_assert(
        ~jnp.any(unsure),
        "The nearest image of particle {second} as seen from particle {first} is not certain: the "
        "cell of system {system} is too skewed.\n"
        "Give the same lattice by shorter vectors, such as those of ase.geometry.minkowski_reduce.",
        fmt_args={"first": first[bad], "second": second[bad], "system": own.indices[bad]},
    )
    return nearest
