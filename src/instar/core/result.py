"""A value together with the checks that were met while it was computed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from instar.core.assertion import RuntimeAssertion, with_runtime_assertions
from instar.core.utils.pytree_dataclass import dataclass

__all__ = ["Result", "as_result_function"]


@dataclass
class Result[T]:
    """A value and the checks that stand behind it.

    ``all_assertions_pass`` is one boolean, worked out where the value is: all that a host must
    read when nothing failed.
    """

    value: T
    assertions: tuple[RuntimeAssertion, ...]
    all_assertions_pass: Any = None

    def __post_init__(self) -> None:
        if self.all_assertions_pass is None:
            passes = [jnp.all(assertion.predicate) for assertion in self.assertions]
            together = jnp.all(jnp.stack(passes)) if passes else jnp.array(True)
            object.__setattr__(self, "all_assertions_pass", together)

    @property
    def failed_assertions(self) -> tuple[RuntimeAssertion, ...]:
        """The checks that failed; reads each of them."""
        return tuple(assertion for assertion in self.assertions if assertion.failed)

    def raise_assertion(self) -> None:
        """Raise the first failure, if there is one."""
        if not bool(jnp.all(self.all_assertions_pass)):
            for assertion in self.assertions:
                assertion.check()

    def fix_or_raise[S](self, state: S) -> S:
        """The state with the repairs of all failed checks; one that has no repair raises."""
        if not bool(jnp.all(self.all_assertions_pass)):
            failed = self.failed_assertions
            for assertion in failed:
                if assertion.fix_fn is None:
                    raise assertion.exception()
            for assertion in failed:
                state = assertion.fix(state)
        return state


def as_result_function[**P, R](fn: Callable[P, R]) -> Callable[P, Result[R]]:
    """A function with the same arguments that returns a `Result`."""
    collected = with_runtime_assertions(fn)

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Result[R]:
        value, assertions = collected(*args, **kwargs)
        return Result(value, assertions)

    return wrapper
