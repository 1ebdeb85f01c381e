"""A value together with the checks that were met while it was computed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from instar.core.assertion import Collected, RuntimeAssertion, collect
from instar.core.utils.pytree_dataclass import dataclass

__all__ = ["Result", "as_result_function"]


@dataclass(init=False)
class Result[T]:
    """A value and the checks that stand behind it.

    ``all_assertions_pass`` is one boolean, worked out where the value is: all that a host must
    read when nothing failed.
    """

    value: T
    all_assertions_pass: Any
    collected: Any

    def __init__(
        self,
        value: T,
        assertions: Collected | tuple[RuntimeAssertion, ...] = (),
        all_assertions_pass: Any = None,
    ) -> None:
        if all_assertions_pass is None:
            all_assertions_pass = _all_pass(assertions)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "all_assertions_pass", all_assertions_pass)
        object.__setattr__(self, "collected", assertions)

    @property
    def assertions(self) -> tuple[RuntimeAssertion, ...]:
        """Every check that was met."""
        packed = isinstance(self.collected, Collected)
        return self.collected.unpacked() if packed else self.collected

    @property
    def failed_assertions(self) -> tuple[RuntimeAssertion, ...]:
        """The checks that failed; reads each of them."""
        return tuple(assertion for assertion in self.assertions if assertion.failed)

    def raise_assertion(self) -> None:
        """Raise the first failure, if there is one."""
        if not bool(np.all(self.all_assertions_pass)):
            for assertion in self.assertions:
                assertion.check()

    def fix_or_raise[S](self, state: S) -> S:
        """The state with the repairs of all failed checks; one that has no repair raises."""
        if not bool(np.all(self.all_assertions_pass)):
            failed = self.failed_assertions
            for assertion in failed:
                if assertion.fix_fn is None:
                    raise assertion.exception()
            for assertion in failed:
                state = assertion.fix(state)
        return state


def _all_pass(assertions: Collected | tuple[RuntimeAssertion, ...]) -> Any:
    if isinstance(assertions, Collected):
        return assertions.all_pass
    passes = [jnp.all(assertion.predicate) for assertion in assertions]
    return jnp.all(jnp.stack(passes)) if passes else jnp.array(True)


def as_result_function[**P, R](fn: Callable[P, R]) -> Callable[P, Result[R]]:
    """A function with the same arguments that returns a `Result`."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Result[R]:
        value, checks = collect(fn, *args, **kwargs)
        return Result(value, Collected.of(checks))

    return wrapper
