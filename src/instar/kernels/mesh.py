"""Particle-mesh Ewald: charges onto a mesh, its waves, and what the field says at each charge.

`source/mesh_spread.cpp`, `mesh_convolve.cpp` and `mesh_read.cpp` have the equations. Leading axes
are systems, each with a mesh of its own. All of it only where `in_use`, on a CPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.kernels.library import target

__all__ = ["ORDERS", "Sorted", "by_line", "convolve", "read", "spread"]

ORDERS = (4, 6, 8)
"""Orders of splines that the kernels know."""

SUMS = 7
"""Σ U_k of each plane of waves, and six sums for the virial."""


class Sorted(NamedTuple):
    """Particles by the line of the mesh that they are on, as `by_line` finds them."""

    particle: Array  # (..., particles) int32
    start: Array  # (..., lines + 2) int32


def by_line(place: Array, charges: Array, shape: tuple[int, int, int]) -> Sorted:
    """Particles, at coordinates in units of the cell, by line; who has no charge comes last."""
    lines = (*charges.shape[:-1], shape[0] * shape[1] + 2)
    results = [jax.ShapeDtypeStruct(s, jnp.int32) for s in (charges.shape, lines)]
    return Sorted(*_call("sort", charges.dtype, results)(place, charges, x=shape[0], y=shape[1]))


def spread(
    place: Array, charges: Array, order_of: Sorted, shape: tuple[int, int, int], order: int
) -> Array:
    """Charges on the mesh."""
    result = jax.ShapeDtypeStruct((*charges.shape[:-1], *shape), charges.dtype)
    return _call("spread", charges.dtype, result)(place, charges, *order_of, order=order)


def convolve(
    density: Array,
    moduli: tuple[Array, Array, Array],
    inverse: Array,
    volume: Array,
    alpha: Array,
    shape: tuple[int, int, int],
) -> tuple[Array, Array]:
    """The half transform of the potential from that of the charges; seven sums of each plane.

    It is multiplied by the number of points, by which `irfftn` divides.
    """
    systems, dtype = volume.shape, volume.dtype
    answer = jax.ShapeDtypeStruct(density.shape, density.dtype)
    sums = jax.ShapeDtypeStruct((*systems, shape[0], SUMS), dtype)
    many = [jnp.broadcast_to(m, (*systems, *m.shape)) for m in moduli]
    call = _call("convolve", dtype, (answer, sums), input_output_aliases={0: 0})
    return call(density, *many, inverse, volume, alpha, points=shape[2])


def read(
    place: Array, charges: Array, order_of: Sorted, field: Array, inverse: Array, order: int
) -> Array:
    """q φ and the force of each particle, (..., particles, 4)."""
    result = jax.ShapeDtypeStruct((*charges.shape, 4), charges.dtype)
    call = _call("read", charges.dtype, result)
    return call(place, charges, *order_of, field, inverse, order=order)


def _call(kernel: str, dtype: Any, results: Any, **options: Any) -> Any:
    name = target(f"instar_mesh_{kernel}_{np.dtype(dtype).name}")
    return jax.ffi.ffi_call(name, results, vmap_method="broadcast_all", **options)
