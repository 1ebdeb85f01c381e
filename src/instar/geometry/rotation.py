"""`Rotation`: turning rigid bodies, as unit quaternions.

A quaternion q = (w, x, y, z) of length one turns a vector v by

    v' = v + 2 u × (u × v + w v),   u = (x, y, z)

q and −q are the same rotation; (1, 0, 0, 0) is none at all.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass

__all__ = ["Rotation"]


@dataclass
class Rotation:
    """Rotations of space, one for each entry of the leading axes.

    ``quaternion`` (..., 4) has length one: make rotations with the functions below. Numbers off
    by rounding are repaired by `normalized`.
    """

    quaternion: Array

    @staticmethod
    def identity(*batch: int, dtype: Any = None) -> Rotation:
        """No rotation, for that many bodies."""
        one = jnp.zeros((*batch, 4), dtype)
        return Rotation(one.at[..., 0].set(1))

    @staticmethod
    def about(axis: Array, angle: Array | float) -> Rotation:
        """By ``angle`` (rad) about ``axis`` (any length but zero), counter-clockwise."""
        axis = axis / jnp.linalg.norm(axis, axis=-1, keepdims=True)
        half = jnp.asarray(angle, axis.dtype)[..., None] / 2
        shape = jnp.broadcast_shapes(axis.shape[:-1], half.shape[:-1])
        real = jnp.broadcast_to(jnp.cos(half), (*shape, 1))
        return Rotation(
            jnp.concatenate([real, jnp.broadcast_to(axis, (*shape, 3)) * jnp.sin(half)], -1)
        )

    @staticmethod
    def from_vector(vector: Array) -> Rotation:
        """By |vector| (rad) about its direction; differentiable at zero."""
        squared = jnp.sum(vector**2, axis=-1, keepdims=True)
        small = squared < jnp.finfo(vector.dtype).eps
        angle = jnp.sqrt(jnp.where(small, 1, squared))
        # sin(θ/2)/θ and cos(θ/2), by their series where θ is small
        sine = jnp.where(small, 0.5 - squared / 48, jnp.sin(angle / 2) / angle)
        cosine = jnp.where(small, 1 - squared / 8, jnp.cos(angle / 2))
        return Rotation(jnp.concatenate([cosine, sine * vector], axis=-1)).normalized()

    @staticmethod
    def random(key: Array, *batch: int, dtype: Any = None) -> Rotation:
        """Uniform over all rotations: four normal numbers, made of length one."""
        return Rotation(jax.random.normal(key, (*batch, 4), dtype)).normalized()

    @staticmethod
    def from_matrix(matrix: Array) -> Rotation:
        """From an orthogonal matrix R with v' = R v (determinant +1).

        All four ways to read q off R are worked out; the one that divides by the largest number
        is taken (Shepperd 1978).
        """
        m = [[matrix[..., i, j] for j in range(3)] for i in range(3)]
        t = m[0][0] + m[1][1] + m[2][2]
        sizes = jnp.stack([t, m[0][0], m[1][1], m[2][2]], axis=-1)
        a, b, c = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
        d, e, f = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
        rows = [
            jnp.stack([1 + t, a, b, c], axis=-1),
            jnp.stack([a, 1 + 2 * m[0][0] - t, d, e], axis=-1),
            jnp.stack([b, d, 1 + 2 * m[1][1] - t, f], axis=-1),
            jnp.stack([c, e, f, 1 + 2 * m[2][2] - t], axis=-1),
        ]
        chosen = jnp.argmax(sizes, axis=-1)[..., None]
        quaternion = rows[0]
        for k in range(1, 4):
            quaternion = jnp.where(chosen == k, rows[k], quaternion)
        return Rotation(quaternion).normalized()

    @property
    def matrix(self) -> Array:
        """R with v' = R v, (..., 3, 3)."""
        columns = [self.apply(axis) for axis in jnp.eye(3, dtype=self.quaternion.dtype)]
        return jnp.stack(columns, axis=-1)

    @property
    def inverse(self) -> Rotation:
        """The rotation back."""
        signs = jnp.array([1, -1, -1, -1], self.quaternion.dtype)
        return Rotation(self.quaternion * jnp.broadcast_to(signs, self.quaternion.shape))

    def apply(self, vectors: Array) -> Array:
        """Vectors (..., 3) turned; one rotation for all, or one each."""
        shape = jnp.broadcast_shapes(vectors.shape[:-1], self.quaternion.shape[:-1])
        q = jnp.broadcast_to(self.quaternion, (*shape, 4))
        v = jnp.broadcast_to(vectors, (*shape, 3))
        w, u = q[..., :1], q[..., 1:]
        return v + 2 * jnp.cross(u, jnp.cross(u, v) + w * v)

    def after(self, first: Rotation) -> Rotation:
        """``first``, then this one: the product of the quaternions."""
        shape = jnp.broadcast_shapes(self.quaternion.shape, first.quaternion.shape)
        p, q = (jnp.broadcast_to(r.quaternion, shape) for r in (self, first))
        (w, u), (v, t) = ((r[..., :1], r[..., 1:]) for r in (p, q))
        real = w * v - jnp.sum(u * t, axis=-1, keepdims=True)
        return Rotation(jnp.concatenate([real, w * t + v * u + jnp.cross(u, t)], -1))

    def normalized(self) -> Rotation:
        """Of length one again."""
        return Rotation(self.quaternion / jnp.linalg.norm(self.quaternion, axis=-1, keepdims=True))
