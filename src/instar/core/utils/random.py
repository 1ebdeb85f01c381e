"""Keys of random numbers and the words drawn from them, on the host or inside compiled code.

Threefry-2x32 with 20 rounds: J. K. Salmon et al., SC11 (2011). On the host NumPy does it: JAX would
compile a program to make a key of a seed, and another to fold a number into it.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

__all__ = ["folded", "key_of", "module_of", "threefry", "words_of"]

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_KIND = "threefry2x32"


def module_of(array: Any) -> ModuleType:
    """What works with an array: NumPy with its own, `jax.numpy` with all others."""
    return np if isinstance(array, np.ndarray) else jnp


def threefry(first: Any, second: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Two random words from a key of two words and a counter of two words: uint32, of any shape."""
    module = module_of(x)
    first, second = (module.broadcast_to(word, x.shape) for word in (first, second))
    keys = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = x + first, y + second
    for turn in range(20):
        x = x + y
        rotation = _ROTATIONS[turn % 8]
        y = ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))) ^ x
        if turn % 4 == 3:
            block = turn // 4 + 1
            x = x + keys[block % 3]
            y = y + keys[(block + 1) % 3] + np.uint32(block)
    return x, y


def key_of(seed: int) -> Array:
    """What all random numbers of a seed come from; all its bits count, in either precision.

    It is ``jax.random.key(seed)`` of Threefry, and what is above 32 bits is folded into that.
    """
    if seed < 0:
        return jax.random.key(seed, impl=_KIND)
    key = _key(np.array([0, seed % 2**32], np.uint32))
    return folded(key, seed >> 32) if seed >= 2**32 else key


def folded(key: Array, number: int) -> Array:
    """``jax.random.fold_in(key, number)``, for a key that is known."""
    if jax.random.key_impl(key) != _KIND or not 0 <= number < 2**32:
        return jax.random.fold_in(key, number)
    first, second = words_of(key)
    counter = np.array([0], np.uint32), np.array([number], np.uint32)
    return _key(np.concatenate(threefry(first, second, *counter)))


def _key(words: Any) -> Array:
    return jax.random.wrap_key_data(words, impl=_KIND)


def words_of(key: Array) -> tuple[np.uint32, np.uint32]:
    """The two words of a key that is known."""
    first, second, *_ = np.asarray(jax.random.key_data(key)).ravel()
    return first, second
