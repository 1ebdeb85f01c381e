"""Run, read one boolean, repair, run again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.assertion import RuntimeAssertion
from instar.core.result import Result

__all__ = ["MAX_RETRIES", "Settling", "propagate_and_fix"]

MAX_RETRIES = 10_000
"""Repairs in a row that a check may ask for: by far more than exponential growth can need."""


class Settling:
    """Repairs of one run: goes on as long as each of them changes the state."""

    def __init__(self, max_retries: int) -> None:
        self._max_retries = max_retries
        self._retries = 0
        self._history: dict[str, list[str]] = {}

    def repaired[S](self, result: Result[Any], state: S) -> S:
        """The state with the repairs of a failed result, or the reason why there is none."""
        failed = result.failed_assertions
        for assertion in failed:
            self._history.setdefault(assertion.place, []).append(_asked(assertion))
        new = result.fix_or_raise(state)
        self._retries += 1
        if _same(new, state):
            raise self._given_up(failed[0], "its repair leaves the state as it is")
        if self._retries > self._max_retries:
            raise self._given_up(failed[0], f"{self._max_retries} repairs were not enough")
        return new

    def _given_up(self, assertion: RuntimeAssertion, why: str) -> RuntimeError:
        asked = self._history[assertion.place]
        shown = asked if len(asked) <= 8 else [*asked[:4], "…", *asked[-3:]]
        return RuntimeError(
            f"A check does not settle: {why}.\n{assertion.exception()}\n"
            f"It asked for {' → '.join(shown)}."
        )


def _asked(assertion: RuntimeAssertion) -> str:
    """The size that a check asked for; of several sizes, the largest of each batch."""
    leaves = jax.tree.leaves(assertion.fix_args)
    numbers = [leaf for leaf in leaves if _is_number(leaf)]
    sizes = [np.asarray(number) for number in numbers if np.size(number)]
    return ", ".join(str(size.max()) for size in sizes) or "a repair"


def _is_number(leaf: Any) -> bool:
    if isinstance(leaf, bool | int | float):
        return True
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, np.number)


def _same(new: Any, old: Any) -> bool:
    """Whether a repair changed nothing: neither structure, nor sizes, nor values."""
    if new is old:
        return True
    leaves, structure = jax.tree.flatten(new)
    old_leaves, old_structure = jax.tree.flatten(old)
    return structure == old_structure and all(map(_same_leaf, leaves, old_leaves))


def _same_leaf(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        a, b = jax.random.key_data(a), jax.random.key_data(b)
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def propagate_and_fix[S, T](
    fn: Callable[[S], Result[T]], state: S, max_retries: int = MAX_RETRIES
) -> tuple[T, S]:
    """Run ``fn(state)`` until all its checks pass; the value, and the repaired input state.

    A failed attempt leaves no trace: each starts from the state before it, repaired. As long as
    repairs change the state they go on, ``max_retries`` times at most; then `RuntimeError` says
    which check would not settle and what it asked for. A failed check that has no repair raises
    its exception.
    """
    settling = Settling(max_retries)
    while True:
        result = fn(state)
        if bool(np.asarray(result.all_assertions_pass).all()):
            return result.value, state
        state = settling.repaired(result, state)
