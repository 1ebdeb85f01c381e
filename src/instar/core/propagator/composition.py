"""Larger propagators from smaller ones.

Each part gets a key of its own, folded from the whole's key and the part's place, so that a part
may be random without knowing of the others.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.pytree_dataclass import dataclass, field
from instar.core.utils.transforms import is_traced

__all__ = ["Propagator", "loop", "palindrome", "sequence", "switch"]


@runtime_checkable
class Propagator[S](Protocol):
    """One step: a random key and a state give the next state."""

    def __call__(self, key: Array, state: S, /) -> S: ...


@dataclass
class _Sequence:
    parts: tuple[Any, ...]

    def __call__(self, key: Array, state: Any, /) -> Any:
        for place, part in enumerate(self.parts):
            state = part(jax.random.fold_in(key, place), state)
        return state


@dataclass
class _Loop:
    part: Any
    times: int = field(static=True)

    def __call__(self, key: Array, state: Any, /) -> Any:
        def body(state: Any, i: Array) -> tuple[Any, None]:
            return self.part(jax.random.fold_in(key, i), state), None

        return lax.scan(body, state, jnp.arange(self.times, dtype=jnp.uint32))[0]


@dataclass
class _Switch:
    parts: tuple[Any, ...]
    probabilities: Any

    def __call__(self, key: Array, state: Any, /) -> Any:
        # The part whose share of [0, 1) holds a uniform number.
        bounds = jnp.cumsum(jnp.asarray(self.probabilities))[:-1]
        number = jax.random.uniform(jax.random.fold_in(key, 0), (), bounds.dtype)
        chosen = jnp.sum(bounds <= number, dtype=jnp.int32)
        return lax.switch(chosen, self.parts, jax.random.fold_in(key, 1), state)


def sequence(*parts: Propagator[Any]) -> Propagator[Any]:
    """One part after the other."""
    return _Sequence(parts)


def loop(part: Propagator[Any], times: int) -> Propagator[Any]:
    """One part, that many times."""
    if times < 0:
        raise ValueError(f"A loop can't run {times} times.")
    return _Loop(part, times)


def switch(parts: tuple[Propagator[Any], ...], probabilities: Any) -> Propagator[Any]:
    """One of the parts, drawn again at each step with these probabilities."""
    if len(parts) != len(probabilities):
        raise ValueError(
            f"{len(parts)} parts need as many probabilities, not {len(probabilities)}."
        )
    if not is_traced(probabilities):
        given = np.asarray(probabilities)
        if (given < 0).any() or not np.isclose(given.sum(), 1, atol=1e-5):
            raise ValueError(
                f"Probabilities are not negative and add up to 1; these are {given.tolist()}."
            )
    return _Switch(tuple(parts), jnp.asarray(probabilities, float))


def palindrome(*parts: Propagator[Any]) -> Propagator[Any]:
    """The parts there and back, the last of them once: a, b, c, b, a.

    Built from parts that each undo themselves when time runs backwards, the whole does so too.
    """
    return _Sequence((*parts, *parts[-2::-1]))
