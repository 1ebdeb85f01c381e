"""SETTLE: rigid water in closed form (S. Miyamoto, P. A. Kollman, J. Comput. Chem. 13, 952, 1992).

The impulses of the three constraints lie in the plane of the triangle before the step, add up to
nothing and have no torque. So the centre of mass and the heights z of the atoms over that plane
are those of the free step; what is left is to turn the rigid triangle to these heights (angles φ,
ψ) and, about the normal of the plane, to where the torque is zero (angle θ).

With the oxygen A and the hydrogens B, C in the rigid triangle, its centre of mass at the origin:
A at (0, ra), B at (−rc, −rb), C at (rc, −rb).
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass
from instar.potentials.constraints.group import Correction, Ready, exact_einsum

__all__ = ["by_settle"]


@dataclass
class _Triangle:
    """Rigid waters: distances (waters,) in Å, masses (waters,) in amu."""

    oh: Array
    hh: Array
    oxygen: Array
    hydrogen: Array

    @property
    def height(self) -> Array:
        """From the oxygen to the middle of the hydrogens (Å)."""
        return jnp.sqrt(self.oh**2 - (self.hh / 2) ** 2)

    @property
    def share(self) -> Array:
        """The mass of one hydrogen over that of the molecule."""
        return self.hydrogen / (self.oxygen + 2 * self.hydrogen)


def by_settle(ready: Ready, moved: Array, before: Array, particles: int) -> Correction:
    """What brings waters back to their shape; bonds are O–H, O–H, H–H, (waters, 3, 3) in Å."""
    used = jnp.all(ready.used, axis=1)
    mass = 1 / ready.weight
    oxygen, hydrogen, other = mass[:, 0, 0], mass[:, 0, 1], mass[:, 1, 1]
    _check_hydrogens(ready, used, hydrogen, other)
    triangle = _Triangle(ready.length[:, 0], ready.length[:, 2], oxygen, hydrogen)
    height, half = triangle.height, triangle.hh / 2
    nothing = jnp.zeros_like(half)
    flat = jnp.stack([jnp.stack([height, y, nothing], axis=1) for y in (half, -half)], axis=1)
    there = used[:, None, None]
    old = jnp.where(there, before[:, :2], flat)  # an absent water must not reach gradients
    free = jnp.where(there, moved[:, :2], flat)
    atoms = _settled(triangle, old, free)
    centre = -triangle.share[:, None] * (free[:, 0] + free[:, 1])
    start = jnp.stack([centre, centre + free[:, 0], centre + free[:, 1]], axis=1)
    shift = jnp.where(there, atoms - start, 0)
    rows = jnp.concatenate([ready.rows[:, 0], ready.rows[:, 1, 1:]], axis=1)
    shifts = jnp.zeros((particles, 3), shift.dtype)
    shifts = shifts.at[rows.reshape(-1)].add(shift.reshape(-1, 3))
    moments = exact_einsum("wai,waj->wij", old, hydrogen[:, None, None] * shift[:, 1:])
    bonds = jnp.stack([atoms[:, b] - atoms[:, a] for a, b in ((0, 1), (0, 2), (1, 2))], axis=1)
    return Correction(shifts, moments, jnp.where(there, bonds, 0))


def _settled(triangle: _Triangle, before: Array, moved: Array) -> Array:
    """Atoms O, H, H (waters, 3, 3) from their common centre of mass, in Å.

    ``before`` and ``moved`` (waters, 2, 3) are the hydrogens as seen from the oxygen, before the
    step and after its free part.
    """
    share = triangle.share[:, None]
    centred = -share * (moved[:, 0] + moved[:, 1])
    atoms = jnp.stack([centred, centred + moved[:, 0], centred + moved[:, 1]], axis=1)
    axes = _axes(before, centred)
    old = exact_einsum("wax,wdx->wad", before, axes)
    new = exact_einsum("wax,wdx->wad", atoms, axes)
    flat = _tilted(triangle, new[:, :, 2])
    turned = _turned(flat, _sine(flat, old, new))
    return exact_einsum("wad,wdx->wax", jnp.concatenate([turned, new[:, :, 2:]], axis=2), axes)


def _axes(before: Array, oxygen: Array) -> Array:
    """Unit vectors x, y, z (waters, 3, 3): z normal to the old plane, the new oxygen at x = 0."""
    z = jnp.cross(before[:, 0], before[:, 1])
    x = jnp.cross(oxygen, z)
    y = jnp.cross(z, x)
    axes = jnp.stack([x, y, z], axis=1)
    return axes / jnp.sqrt(jnp.sum(axes**2, axis=2, keepdims=True))


def _tilted(triangle: _Triangle, heights: Array) -> Array:
    """The rigid triangle with its atoms at these heights: x and y (waters, 3, 2), before θ."""
    rb = triangle.height * (1 - 2 * triangle.share)
    ra, rc = triangle.height - rb, triangle.hh / 2
    sin_phi = heights[:, 0] / ra
    cos_phi = jnp.sqrt(1 - sin_phi**2)
    sin_psi = (heights[:, 1] - heights[:, 2]) / (2 * rc * cos_phi)
    cos_psi = jnp.sqrt(1 - sin_psi**2)
    lean = rc * sin_psi * sin_phi
    x = jnp.stack([jnp.zeros_like(rc), -rc * cos_psi, rc * cos_psi], axis=1)
    y = jnp.stack([ra * cos_phi, -rb * cos_phi - lean, -rb * cos_phi + lean], axis=1)
    return jnp.stack([x, y], axis=2)


def _sine(flat: Array, old: Array, new: Array) -> Array:
    """sin θ from α sin θ + β cos θ = γ: no torque about the normal of the old plane."""
    bx, by, cy = flat[:, 1, 0], flat[:, 1, 1], flat[:, 2, 1]
    (b0x, b0y), (c0x, c0y) = ((old[:, k, 0], old[:, k, 1]) for k in (0, 1))
    (b1x, b1y), (c1x, c1y) = ((new[:, k, 0], new[:, k, 1]) for k in (1, 2))
    alpha = bx * (b0x - c0x) + b0y * by + c0y * cy
    beta = bx * (c0y - b0y) + b0x * by + c0x * cy
    gamma = b0x * b1y - b1x * b0y + c0x * c1y - c1x * c0y
    norm = alpha**2 + beta**2
    return (alpha * gamma - beta * jnp.sqrt(norm - gamma**2)) / norm


def _turned(flat: Array, sine: Array) -> Array:
    """x and y (waters, 3, 2) turned by θ."""
    cosine = jnp.sqrt(1 - sine**2)
    x, y = flat[..., 0], flat[..., 1]
    sine, cosine = sine[:, None], cosine[:, None]
    return jnp.stack([x * cosine - y * sine, x * sine + y * cosine], axis=2)


def _check_hydrogens(ready: Ready, used: Array, one: Array, other: Array) -> None:
    unlike = used & (jnp.abs(one - other) > 1e-6 * one)
    worst = jnp.argmax(unlike)
    runtime_assert(
        ~jnp.any(unlike),
        "The hydrogens of the rigid water with the oxygen {oxygen} have the masses {one} and "
        "{other} amu.\nA water of two isotopes is held by three distance constraints.",
        fmt_args={
            "oxygen": ready.rows[worst, 0, 0],
            "one": one[worst],
            "other": other[worst],
        },
    )
