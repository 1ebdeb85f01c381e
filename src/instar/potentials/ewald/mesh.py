"""The reciprocal part of an Ewald sum on a mesh: smooth particle-mesh Ewald.

Charges are spread onto a mesh with B-splines of order p, convolved with the influence function by
FFT, and the potential is read back with the same splines (Essmann et al., J. Chem. Phys. 103,
8577 (1995)):

    U = ½ Σ_k G(k) |b₁b₂b₃|² |Q̂(k)|²,    G(k) = (4πkₑ/V) e^(−k²/4α²)/k²

|b(n)|⁻² = |Σ_j M_p(j + 1) e^(2πi nj/K)|². Forces are −∂U/∂r of just this U, so energy is conserved;
they add up to zero only to within the error of the mesh. A spline touches p³ points, which are one
window of a mesh that has a margin of p − 1 points before its beginning.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh as Devices

from instar.core.data import Index, Table
from instar.core.typing import SystemId
from instar.core.utils.jax import dataclass, field
from instar.geometry import Cell
from instar.geometry.constants import COULOMB_CONSTANT
from instar.kernels.choice import by_platform
from instar.potentials.ewald.devices import divided
from instar.potentials.ewald.mesh_kernel import by_kernel, has_kernel
from instar.potentials.ewald.splines import moduli_of, multiplicity_of, splines_of
from instar.potentials.ewald.waves import NOBODY, Reciprocal

__all__ = ["Mesh", "fast_size"]

AT_ONCE = 32
"""Particles whose windows are worked on together: they stay in a core's cache."""


@dataclass
class Mesh:
    """Systems that share one shape of mesh, and their particles."""

    systems: Index[SystemId]  # (group,)
    members: Array  # (group, particles) int32: rows of particles, NOBODY where there is none
    shape: tuple[int, int, int] = field(static=True)
    order: int = field(static=True)
    devices: Devices | None = field(static=True, default=None)

    @staticmethod
    def of(
        systems: Index[SystemId],
        members: list[np.ndarray],
        shape: tuple[int, int, int],
        order: int,
        devices: Devices | None = None,
    ) -> Mesh:
        """For these systems, with the rows of the particles of each."""
        most = max(len(rows) for rows in members)
        most += -most % (AT_ONCE * (1 if devices is None else devices.size))
        rows = np.full((len(members), most), NOBODY, np.int32)
        for number, own in enumerate(members):
            rows[number, : len(own)] = own
        return Mesh(systems, jnp.asarray(rows), shape, order, devices)

    def reciprocal(self, positions: Array, charges: Array, cell: Cell, alpha: Array) -> Reciprocal:
        """Everything that the mesh says about these charges; zero for systems not on it."""
        there = self.members != NOBODY
        rows = jnp.where(there, self.members, 0)
        charge = jnp.where(there, charges[rows], 0)
        own = Table(self.systems.vocabulary, (cell.inverse, cell.volume, alpha))[self.systems]
        inverse = own[0]
        place = jnp.einsum("gpx,gxk->gpk", positions[rows], inverse, precision="highest")
        grid = Grid(self.shape, self.order, self.devices)
        energy, potential, forces, virial = _of_all(grid, (place, charge, *own))
        count, dtype = positions.shape[0], positions.dtype
        at = self.members.reshape(-1)
        return Reciprocal(
            self.systems.sum_over(energy).data,
            jnp.zeros(count, dtype).at[at].add(potential.reshape(-1), mode="drop"),
            jnp.zeros((count, 3), dtype).at[at].add(forces.reshape(-1, 3), mode="drop"),
            self.systems.sum_over(virial).data,
        )


class Grid(NamedTuple):
    """What the systems of a group share."""

    shape: tuple[int, int, int]
    order: int
    devices: Devices | None


def _of_all(grid: Grid, operands: Any) -> tuple[Array, Array, Array, Array]:
    """Energies, q φ, forces and virials of the systems of a group."""
    plain = functools.partial(_by_jax, grid)
    if not has_kernel(grid.order, operands[0].dtype):
        return plain(operands)
    return by_platform(functools.partial(by_kernel, grid), plain, operands)


def _by_jax(grid: Grid, operands: Any) -> tuple[Array, Array, Array, Array]:
    energy, potential, slopes, virial = lax.map(lambda one: _of_one(grid, *one), operands)
    forces = jnp.einsum("gpd,gxd->gpx", -slopes, operands[2], precision="highest")
    return energy, potential, forces, virial


def _of_one(
    mesh: Grid,
    place: Array,
    charges: Array,
    inverse: Array,
    volume: Array,
    alpha: Array,
) -> tuple[Array, Array, Array, Array]:
    """Energy, q φ, ∂U/∂(fractional coordinates) and virial of one system."""
    shape, order = mesh.shape, mesh.order
    sizes = np.array(shape, place.dtype)
    turned = (place - jnp.floor(lax.stop_gradient(place))) * sizes[None]
    # Rounding may put a particle at the very end of the cell: it is one spacing after the last.
    corner = jnp.minimum(jnp.floor(lax.stop_gradient(turned)), sizes[None] - 1)
    first = corner.astype(jnp.int32)
    splines = splines_of(turned - corner, order)
    spread = _spread(first, splines, charges, mesh)
    density = jnp.fft.rfftn(spread)
    influence, k = _influence(shape, order, inverse, volume, alpha)
    often = jnp.asarray(multiplicity_of(shape), place.dtype)[None, None]
    each = often * influence * (density.real**2 + density.imag**2)
    answer = lax.complex(influence * density.real, influence * density.imag)
    field = jnp.fft.irfftn(answer, s=shape) * math.prod(shape)
    potential, slopes = _read(first, splines, field, mesh)
    virial = _virial(each, k, alpha)
    scale = sizes[None] * charges[:, None]
    return jnp.sum(each) / 2, charges * potential, slopes * scale, virial


def _in_blocks(array: Array) -> Array:
    """(particles, ...) → (blocks, AT_ONCE, ...)."""
    return array.reshape(-1, AT_ONCE, *array.shape[1:])


def _spread(first: Array, splines: tuple[Array, Array], charges: Array, mesh: Grid) -> Array:
    """Charges on the mesh."""
    shape, margin = mesh.shape, mesh.order - 1
    values = jnp.moveaxis(splines[0], 0, 1)  # (particles, p, 3)

    def block(wide: Array, one: tuple[Array, Array, Array]) -> tuple[Array, None]:
        corner, value, charge = one
        x, y, z = (value[..., k] for k in range(3))
        x = x * charge[:, None]
        window = x[:, :, None, None] * (y[:, None, :, None] * z[:, None, None, :])
        numbers = lax.ScatterDimensionNumbers((1, 2, 3), (), (0, 1, 2))
        return lax.scatter_add(
            wide,
            corner,
            window,
            numbers,
            indices_are_sorted=False,
            unique_indices=False,
            mode="promise_in_bounds",
        ), None

    def share(blocks: tuple[Array, Array, Array], empty: Array) -> Array:
        return lax.scan(block, empty, blocks)[0]

    empty = jnp.zeros(tuple(size + margin for size in shape), charges.dtype)
    blocks = (_in_blocks(first), _in_blocks(values), _in_blocks(charges))
    wide = divided(share, blocks, empty, mesh.devices, add=True)
    for axis in range(3):
        size = shape[axis]
        head = lax.slice_in_dim(wide, 0, margin, axis=axis)
        rest = lax.slice_in_dim(wide, margin, margin + size, axis=axis)
        kept = lax.slice_in_dim(rest, 0, size - margin, axis=axis)
        end = lax.slice_in_dim(rest, size - margin, size, axis=axis)
        wide = jnp.concatenate([kept, end + head], axis=axis)
    return wide


def _read(
    first: Array, splines: tuple[Array, Array], field: Array, mesh: Grid
) -> tuple[Array, Array]:
    """φ and its slopes along the mesh at each particle."""
    margin = mesh.order - 1
    for axis in range(3):
        size = field.shape[axis]
        end = lax.slice_in_dim(field, size - margin, size, axis=axis)
        field = jnp.concatenate([end, field], axis=axis)
    by_particle = (first, *(jnp.moveaxis(a, 0, 1) for a in splines))
    return divided(_read_share, by_particle, field, mesh.devices, add=False)


def _read_share(particles: tuple[Array, Array, Array], field: Array) -> tuple[Array, Array]:
    """Lines of a window along z are summed for all particles at once, one after the other."""
    first, *splines = particles
    value, slope = (jnp.moveaxis(a, 1, 0) for a in splines)
    order = value.shape[0]
    _, rows, columns = field.shape
    corner = (first[:, 0] * rows + first[:, 1]) * columns + first[:, 2]
    field = field.reshape(-1)
    z, dz = value[:, :, 2], slope[:, :, 2]

    def line(sums: tuple[Array, ...], number: Array) -> tuple[tuple[Array, ...], None]:
        along_x, along_y = number // order, number % order
        start = corner + (along_x * rows + along_y) * columns
        points = [field.at[start + j].get(mode="promise_in_bounds") for j in range(order)]
        plain = functools.reduce(operator.add, (z[j] * points[j] for j in range(order)))
        tilted = functools.reduce(operator.add, (dz[j] * points[j] for j in range(order)))
        x, dx = value[along_x, :, 0], slope[along_x, :, 0]
        y, dy = value[along_y, :, 1], slope[along_y, :, 1]
        parts = (x * y * plain, dx * y * plain, x * dy * plain, x * y * tilted)
        return tuple(a + b for a, b in zip(sums, parts, strict=True)), None

    zero = jnp.zeros_like(field, shape=corner.shape)
    lines = jnp.arange(order * order, dtype=jnp.int32)
    potential, *slopes = lax.scan(line, (zero,) * 4, lines)[0]
    return potential, jnp.stack(slopes, axis=-1)


def _influence(
    shape: tuple[int, int, int], order: int, inverse: Array, volume: Array, alpha: Array
) -> tuple[Array, tuple[Array, ...]]:
    """G(k)|b₁b₂b₃|² (eV/e²) and the components of k (1/Å) at each wave of the transform."""
    axes = [np.fft.fftfreq(n, 1 / n) for n in shape[:2]] + [np.arange(shape[2] // 2 + 1.0)]
    dtype = inverse.dtype
    numbers = [
        jnp.asarray(n, dtype).reshape(tuple(-1 if k == axis else 1 for k in range(3)))
        for axis, n in enumerate(axes)
    ]
    full = (shape[0], shape[1], shape[2] // 2 + 1)
    k = tuple(
        2
        * math.pi
        * sum(
            (jnp.broadcast_to(n, full) * inverse[x, d] for d, n in enumerate(numbers)),
            jnp.zeros(full, dtype),
        )
        for x in range(3)
    )
    squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2]
    zero = np.zeros(full, bool)
    zero[0, 0, 0] = True
    squared = jnp.where(zero, 1, squared)
    size = 4 * math.pi * COULOMB_CONSTANT / volume * jnp.exp(-squared / (4 * alpha**2)) / squared
    moduli = [moduli_of(n, order)[: full[axis]] for axis, n in enumerate(shape)]
    product = moduli[0][:, None, None] * moduli[1][None, :, None] * moduli[2][None, None, :]
    return jnp.where(zero, 0, size * jnp.asarray(product, dtype)), k


def _virial(each: Array, k: tuple[Array, ...], alpha: Array) -> Array:
    """½ Σ U_k [1 − 2 (1/k² + 1/4α²) k ⊗ k]; ``each`` is zero for k = 0."""
    squared = k[0] * k[0] + k[1] * k[1] + k[2] * k[2]
    shape = each * (1 / jnp.where(squared > 0, squared, 1) + 1 / (4 * alpha**2))
    rows = [[jnp.sum(shape * k[i] * k[j]) for j in range(3)] for i in range(3)]
    outer = jnp.stack([jnp.stack(row) for row in rows])
    return jnp.sum(each) / 2 * jnp.eye(3, dtype=each.dtype) - outer


def fast_size(least: int | float) -> int:
    """The next number of points that is even and has only small factors."""
    size = max(2, 2 * math.ceil(least / 2))
    while not _is_smooth(size):
        size += 2
    return size


def _is_smooth(number: int) -> bool:
    for factor in (2, 3, 5, 7):
        while number % factor == 0:
            number //= factor
    return number == 1
