"""Random numbers that belong to a system, whatever else is in its batch.

The key of a system is folded from the key of the step and the stream that the system carries.
From it every particle draws by its number within the system, by counting: Threefry-2x32 with 20
rounds (J. K. Salmon et al., SC11, 2011). So neither the place of a system in a batch, nor room
for particles, nor other systems change what it draws.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.random import module_of, threefry, words_of
from instar.dynamics.state import DynamicState

__all__ = [
    "chi_squared",
    "known_normals",
    "normals",
    "system_matrices",
    "system_normals",
    "system_uniforms",
]


def normals(key: Array, state: Any) -> Array:
    """Three standard normal numbers for each particle."""
    data = state.particles.data
    first, second = state.systems.set_data(_system_words(key, state))[data.system]
    number = jnp.stack([data.number.astype(jnp.uint32)] * 2)  # both blocks at once: half a program
    words = threefry(first, second, number, lax.broadcasted_iota(jnp.uint32, number.shape, 0))
    radial, angular = lax.optimization_barrier(words)
    (x, z), (y, _) = box_muller(radial, angular, state.dtype)
    # Without the barrier all of this would be worked out once for each use.
    return lax.optimization_barrier(jnp.stack([x, y, z], axis=1))


def known_normals(
    key: Array, stream: np.ndarray, system: np.ndarray, number: np.ndarray, dtype: Any
) -> np.ndarray:
    """As `normals` draws them, up to rounding, for columns that are known; on the host."""
    blank = np.zeros_like(stream)
    one, other = threefry(*words_of(key), np.zeros(2, np.uint32), np.arange(2, dtype=np.uint32))
    first, second = one ^ other
    words = threefry(first, second, stream, blank)
    there = (system >= 0) & (system < len(stream))
    first, second = (np.where(there, word[np.where(there, system, 0)], 0) for word in words)
    number = number.astype(np.uint32)
    blocks = [threefry(first, second, number, np.full_like(number, n)) for n in range(2)]
    (x, y), (z, _) = (box_muller(radial, angular, dtype) for radial, angular in blocks)
    return np.stack([x, y, z], axis=1)


def system_normals(key: Array, state: DynamicState, count: int) -> Array:
    """That many standard normal numbers for each system: (systems, count)."""
    first, second = (words[:, None] for words in _system_words(key, state))
    number = jnp.broadcast_to(jnp.arange(count, dtype=jnp.uint32), (len(state.systems), count))
    return box_muller(*threefry(first, second, number, jnp.full_like(number, 2)), state.dtype)[0]


def system_matrices(key: Array, state: DynamicState) -> Array:
    """Symmetric matrices (systems, 3, 3) of normal numbers: variance 1, and ½ off the diagonal."""
    drawn = system_normals(key, state, 9).reshape(-1, 3, 3)
    return (drawn + jnp.swapaxes(drawn, 1, 2)) / 2


def system_uniforms(key: Array, state: DynamicState) -> Array:
    """A number (systems,) evenly distributed within (0, 1]."""
    first, second = _system_words(key, state)
    counter = jnp.zeros_like(first)
    return _uniform(threefry(first, second, counter, jnp.full_like(counter, 6))[0], state.dtype)


def chi_squared(key: Array, state: DynamicState, degrees: Array) -> Array:
    """A number (systems,) distributed as the sum of that many squared normal numbers.

    2·Gamma(degrees/2) by G. Marsaglia and W. W. Tsang, ACM Trans. Math. Softw. 26, 363 (2000):
    d·(1 + x/√9d)³ with d = a − ⅓ is accepted where ln u < ½x² + d − d·v + d·ln v. Below a = 1 it is
    drawn for a + 1 and multiplied by u^(1/a). No degrees of freedom give zero.
    """
    half = degrees.astype(state.dtype) / 2
    none = half <= 0
    shape = jnp.where(none, 1, half)
    small = shape < 1
    d = jnp.where(small, shape + 1, shape) - 1 / 3
    first, second = _system_words(key, state)

    def attempt(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        tried, done, value = carry
        counter = jnp.broadcast_to(tried, first.shape)
        x, _ = box_muller(*threefry(first, second, counter, jnp.full_like(counter, 3)), state.dtype)
        u, _ = threefry(first, second, counter, jnp.full_like(counter, 4))
        v = (1 + x / jnp.sqrt(9 * d)) ** 3
        safe = jnp.where(v > 0, v, 1)
        accepted = (v > 0) & (
            jnp.log(_uniform(u, state.dtype)) < x**2 / 2 + d - d * safe + d * jnp.log(safe)
        )
        return tried + 1, done | accepted, jnp.where(~done & accepted, d * safe, value)

    start = (jnp.zeros((), jnp.uint32), none, jnp.zeros_like(half))
    _, _, value = lax.while_loop(lambda c: ~jnp.all(c[1]), attempt, start)
    counter = jnp.zeros_like(first)
    u, _ = threefry(first, second, counter, jnp.full_like(counter, 5))
    boost = jnp.where(small, _uniform(u, state.dtype) ** (1 / shape), 1)
    return 2 * value * boost


def _system_words(key: Array, state: DynamicState) -> tuple[Array, Array]:
    """Two words (systems,) that are the key of each system, from the key and its stream."""
    first, second = jax.random.bits(key, (2,), jnp.uint32)
    stream = state.systems.data.stream
    return threefry(first, second, stream, jnp.zeros_like(stream))


def box_muller(radial: Any, angular: Any, dtype: np.dtype) -> tuple[Any, Any]:
    """Two standard normal numbers from two words: r = √(−2 ln u), at a random angle.

    Tails reach 6.7 standard deviations. Sine and cosine are Taylor series within ±π/4, turned by
    the quadrant that two bits of the word choose: by far faster than general ones.
    """
    module = module_of(radial)
    radius = module.sqrt(-2 * module.log(_uniform(radial, dtype)))
    quadrant = angular >> np.uint32(30)
    within = (angular & np.uint32(2**30 - 1)).astype(jnp.int32) - 2**29
    x = (within.astype(dtype) + 0.5) * (math.pi / 2**31)
    square = x * x
    sine, cosine = module.zeros_like(x), module.zeros_like(x)
    for power in range(14, 0, -2):
        cosine = (1 + cosine) * square * (-1 / (power * (power - 1)))
        sine = (1 + sine) * square * (-1 / (power * (power + 1)))
    sine, cosine = x * (1 + sine), 1 + cosine
    odd = quadrant % 2 == 1
    along, across = module.where(odd, sine, cosine), module.where(odd, cosine, sine)
    along = module.where((quadrant == 1) | (quadrant == 2), -along, along)
    across = module.where(quadrant >= 2, -across, across)
    return radius * along, radius * across


def _uniform(word: Any, dtype: np.dtype) -> Any:
    """A number within (0, 1], evenly spaced by 2⁻³²."""
    return (word.astype(dtype) + 0.5) * 2.0**-32
