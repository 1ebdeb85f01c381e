"""Fourier features.

f_{2k} = cos(q_k · g),   f_{2k+1} = sin(q_k · g)
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from instar.core.utils.jax import dataclass
from instar.statefunc.contract import ContractError
from instar.statefunc.footprint import Buffers, Sizes
from instar.statefunc.node import StateFunction
from instar.statefunc.parameters import as_parameter
from instar.statefunc.state import State

__all__ = ["Fourier", "fourier", "wavevectors"]


@dataclass(repr=False, eq=False)
class Fourier(StateFunction):
    """Cosine and sine of a vector along each of ``wavevectors`` (1/Å), in turn."""

    wavevectors: Any
    steps = 2

    def values_at(self, state: State) -> Any:
        values = self.child.values_at(state)[:, 0]
        waves = jnp.asarray(self.wavevectors, values.dtype)
        phase = jnp.einsum("ka,a...->k...", waves, values)
        both = jnp.stack([jnp.cos(phase), jnp.sin(phase)], axis=1)
        return both.reshape(self.n_features, *phase.shape[1:])

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """The phases are the result of a matrix product, and so written down."""
        phases = self.hold("the phases of {}", sizes.numbers(self) // 2)
        return super().buffers(sizes, loop) | phases

    def formula(self) -> str:
        return f"exp(i qₖ·{self.child.within(2)})"


def fourier(of: StateFunction, wavevectors: Any) -> Fourier:
    """Cosine and sine of a vector along each of ``wavevectors`` (1/Å), as features."""
    if of.rank != 1 or of.n_features != 1:
        raise ContractError(
            f"fourier takes one vector, such as coordinates(3); {of.formula()} has {of.contract}."
        )
    waves = as_parameter(wavevectors)
    shape = waves.shape
    if len(shape) != 2 or shape[1] != of.dim:
        raise ContractError(
            f"{of.formula()} has dimension {of.dim}, but the wave vectors the shape {shape}.\n"
            f"Give one row each: (n, {of.dim})."
        )
    return Fourier(of.contract.but(rank=0, n_features=2 * shape[0]), (of,), waves)


def wavevectors(lengths: Any, order: int) -> np.ndarray:
    """The wave vectors (1/Å) of a periodic box with edges ``lengths`` (Å), up to ``order``.

    Each pair ±q is there once, q = 0 is not.
    """
    lengths = np.atleast_1d(np.asarray(lengths, float))
    numbers = itertools.product(range(-order, order + 1), repeat=len(lengths))
    half = [n for n in numbers if n > (0,) * len(lengths)]
    return 2 * math.pi * np.array(half, float).reshape(-1, len(lengths)) / lengths
