"""The reciprocal part on a mesh by compiled kernels, on a CPU; `mesh` has the same in JAX."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from instar import kernels
from instar.kernels import mesh as native
from instar.potentials.ewald.devices import divided
from instar.potentials.ewald.splines import moduli_of

__all__ = ["by_kernel", "has_kernel"]

POINTS_AT_ONCE = 2**18
"""Points of the meshes of several systems that are worked on together, as small ones should be."""


def has_kernel(order: int, dtype: Any) -> bool:
    """Whether the kernels are there, and know splines of that order."""
    return dtype in (jnp.float32, jnp.float64) and order in native.ORDERS and kernels.in_use()


def by_kernel(grid: Any, operands: Any) -> tuple[Array, Array, Array, Array]:
    """Energies, q φ, forces and virials of all systems of a group, some at a time.

    ``grid`` has the shape, the order and the devices of their meshes.
    """
    together = max(1, POINTS_AT_ONCE // math.prod(grid.shape)) if grid.devices is None else 1
    return lax.map(lambda one: _of_one(grid, *one), operands, batch_size=together)


def _of_one(
    grid: Any, place: Array, charges: Array, inverse: Array, volume: Array, alpha: Array
) -> tuple[Array, Array, Array, Array]:
    shape, order = grid.shape, grid.order

    def sort(given: Any, _: Any) -> native.Sorted:
        place, charges = given
        return native.by_line(place, charges, shape)

    def spread(particles: Any, _: Any) -> Array:
        place, charges, order_of = particles
        return native.spread(place, charges, order_of, shape, order)

    def read(particles: Any, told: Any) -> Array:
        place, charges, order_of = particles
        field, inverse = told
        return native.read(place, charges, order_of, field, inverse, order)

    order_of = divided(sort, (place, charges), None, grid.devices, add=False)
    particles = (place, charges, order_of)
    density = jnp.fft.rfftn(divided(spread, particles, None, grid.devices, add=True))
    waves = (shape[0], shape[1], shape[2] // 2 + 1)
    x, y, z = (
        jnp.asarray(moduli_of(n, order)[:half], place.dtype)
        for n, half in zip(shape, waves, strict=True)
    )
    answer, sums = native.convolve(density, (x, y, z), inverse, volume, alpha, shape)
    field = jnp.fft.irfftn(answer, s=shape)
    found = divided(read, particles, (field, inverse), grid.devices, add=False)
    energy, *virial = (jnp.sum(sums[:, k]) for k in range(native.SUMS))
    return energy / 2, found[:, 0], found[:, 1:], _virial(energy, virial)


def _virial(energy: Array, sums: list[Array]) -> Array:
    """½ Σ U_k − Σ U_k (1/k² + 1/4α²) k ⊗ k."""
    xx, yy, zz, yz, xz, xy = sums
    outer = jnp.stack([jnp.stack(row) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))])
    return energy / 2 * jnp.eye(3, dtype=energy.dtype) - outer
