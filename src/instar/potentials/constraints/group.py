"""`Group`: clusters of constraints of one size class, and the small matrices that couple them.

Bond k of a cluster goes from particle iₖ to particle jₖ: rₖ = r_j − r_i, at the nearest image. A
constraint impulse λₖ sₖ pulls j along sₖ (the bond before the step) and i the other way. It
changes bond l by

    Δrₗ = Σₖ Aₗₖ λₖ sₖ,   Aₗₖ = (δ(jₗ,jₖ) − δ(jₗ,iₖ))/m_jₗ + (δ(iₗ,iₖ) − δ(iₗ,jₖ))/m_iₗ.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass, field
from instar.geometry import AllParticles
from instar.potentials.displacement import displacements

__all__ = ["Correction", "Group", "Ready", "exact_einsum", "solve"]

_UNROLLED = 16
"""Matrices up to this size are eliminated in the open, for all clusters at once."""


@dataclass
class Group:
    """Clusters side by side.

    atoms   (clusters, bonds, 2)  rows of particles, −1 where there is no bond
    length  (clusters, bonds)     Å
    whole   whether a cluster with an absent particle constrains nothing at all
    """

    atoms: Any
    length: Any
    whole: bool = field(static=True, default=False)

    def ready(self, masses: Array, everyone: AllParticles) -> Ready:
        """The clusters for these particles: which bonds count, and how they are coupled."""
        rows = jnp.asarray(self.atoms)
        inside = (rows >= 0) & (rows < masses.shape[0])
        rows = jnp.where(inside, rows, 0)
        used = jnp.all(inside & everyone.there[rows], axis=-1)
        if self.whole:
            used = jnp.broadcast_to(jnp.all(used, axis=1, keepdims=True), used.shape)
        masses = jnp.asarray(masses)
        _check(rows, used, masses, everyone)
        weight = 1 / jnp.where(used[..., None], masses[rows], 1)
        first, second = rows[..., 0], rows[..., 1]
        coupling = weight[..., 1, None] * (_same(second, second) - _same(second, first)).astype(
            weight.dtype
        ) + weight[..., 0, None] * (_same(first, first) - _same(first, second)).astype(weight.dtype)
        both = used[:, :, None] & used[:, None, :]
        length = jnp.asarray(self.length, masses.dtype)
        return Ready(rows, used, weight, jnp.where(both, coupling, 0), length)


@dataclass
class Ready:
    """A group made ready for the particles of a step."""

    rows: Array  # (clusters, bonds, 2) in bounds
    used: Array  # (clusters, bonds) whether it is a bond between particles that are there
    weight: Array  # (clusters, bonds, 2) 1/m of both particles, 1/amu
    coupling: Array  # (clusters, bonds, bonds) A, 1/amu
    length: Array  # (clusters, bonds) Å

    def separations(self, positions: Array, everyone: AllParticles) -> Array:
        """rₖ (clusters, bonds, 3) in Å; zero where there is no bond."""
        rows = self.rows.reshape(-1, 2)
        moved = dataclasses.replace(everyone, positions=positions)
        found = displacements(rows[:, 0], rows[:, 1], moved, self.used.reshape(-1))
        return found.reshape(*self.used.shape, 3)

    def differences(self, values: Array) -> Array:
        """x_j − x_i (clusters, bonds, 3); zero where there is no bond."""
        apart = values[self.rows[..., 1]] - values[self.rows[..., 0]]
        return jnp.where(self.used[..., None], apart, 0)

    def matrix(self, left: Array, right: Array) -> Array:
        """Aₖₗ uₖ·sₗ, with ones on the diagonal where there is no bond."""
        products = self.coupling * exact_einsum("cki,cli->ckl", left, right)
        free = jnp.where(self.used, 0, 1).astype(products.dtype)
        return products + free[:, :, None] * jnp.eye(free.shape[1], dtype=free.dtype)[None]

    def stretched(self, multipliers: Array, along: Array) -> Array:
        """Σₗ Aₖₗ λₗ sₗ: what the impulses do to each bond."""
        return exact_einsum("ckl,cli->cki", self.coupling, multipliers[..., None] * along)

    def shifts(self, multipliers: Array, along: Array, particles: int) -> Array:
        """What the impulses do to each particle (particles, 3): Σ ± λₖ sₖ/m."""
        pull = multipliers[..., None] * along
        each = jnp.stack([-pull, pull], axis=2) * self.weight[..., None]
        each = jnp.where(self.used[..., None, None], each, 0)
        return (
            jnp.zeros((particles, 3), each.dtype).at[self.rows.reshape(-1)].add(each.reshape(-1, 3))
        )

    def moments(self, multipliers: Array, along: Array) -> Array:
        """Σₖ sₖ ⊗ λₖ sₖ of each cluster (clusters, 3, 3)."""
        pull = jnp.where(self.used, multipliers, 0)[..., None] * along
        return exact_einsum("cki,ckj->cij", along, pull)

    def spread(self, values: Array, particles: int) -> Array:
        """Values of clusters, each laid on one of its particles: (particles, ...)."""
        bond = jnp.argmax(self.used, axis=1)
        row = jnp.take_along_axis(self.rows[..., 0], bond[:, None], axis=1)[:, 0]
        row = jnp.where(jnp.any(self.used, axis=1), row, particles)
        out = jnp.zeros((particles, *values.shape[1:]), values.dtype)
        return out.at[row].add(values, mode="drop")


@dataclass
class Correction:
    """What brings the bonds of a group back to their lengths."""

    shift: Array  # (particles, 3) Å
    moments: Array  # (clusters, 3, 3) amu Å², Σ r ⊗ m·shift
    bonds: Array  # (clusters, bonds, 3) Å, afterwards


def solve(matrix: Array, right: Array) -> Array:
    """x with matrix·x = right, for each cluster.

    The matrices are close to symmetric and positive, so that no pivots are sought.
    """
    size = right.shape[1]
    if size > _UNROLLED:
        return jnp.linalg.solve(matrix, right[..., None])[..., 0]
    both = jnp.concatenate([matrix, right[..., None]], axis=2)
    for k in range(size):
        row = both[:, k : k + 1] / both[:, k : k + 1, k : k + 1]
        others = (jnp.arange(size) != k).astype(right.dtype)[None, :, None]
        both = others * (both - both[:, :, k : k + 1] * row) + (1 - others) * row
    return both[:, :, size]


def exact_einsum(formula: str, *arrays: Array) -> Array:
    """jnp.einsum without the shorter numbers that some devices take for float32."""
    return jnp.einsum(formula, *arrays, precision=jax.lax.Precision.HIGHEST)


def _same(left: Array, right: Array) -> Array:
    return (left[:, :, None] == right[:, None, :]).astype(jnp.int32)


def _check(rows: Array, used: Array, masses: Array, everyone: AllParticles) -> None:
    own = everyone.system[rows]
    torn = used & (own[..., 0] != own[..., 1])
    place = jnp.argmax(torn)
    pairs = rows.reshape(-1, 2)
    runtime_assert(
        ~jnp.any(torn),
        "A constraint joins the particles {first} and {second}, which are in different systems.",
        fmt_args={"first": pairs[place, 0], "second": pairs[place, 1]},
    )
    light = used & ~jnp.all(masses[rows] > 0, axis=-1)
    place = jnp.argmax(light)
    runtime_assert(
        ~jnp.any(light),
        "A constraint between the particles {first} and {second}: both need a mass above zero.",
        fmt_args={"first": pairs[place, 0], "second": pairs[place, 1]},
    )
