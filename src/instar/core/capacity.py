"""Sizes of buffers inside compiled code: what happens when one is too small.

Growing capacities follow the same protocol; a `FixedCapacity` only checks.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp

from instar.core.assertion import is_collecting, runtime_assert
from instar.core.utils.pytree_dataclass import dataclass, field
from instar.core.utils.transforms import is_traced

__all__ = ["Capacity", "CapacityError", "FixedCapacity"]


class CapacityError(ValueError):
    """A capacity was exceeded, and nobody repaired it."""


@runtime_checkable
class Capacity[Value](Protocol):
    """How much room a buffer has, and what to do when it needs more."""

    @property
    def size(self) -> Value:
        """The room: an int, or a tree of ints for several buffers that resize on their own."""
        ...

    def generate_assertion(self, required_capacity: Any) -> Capacity[Value]:
        """State that the room suffices for this need; gives the capacity to go on with."""
        ...

    def multiply(self, factor: int) -> Capacity[Value]:
        """A capacity for ``factor`` times as much."""
        ...


@dataclass
class FixedCapacity:
    """A size that never changes: too large a need is an error.

    Outside of compiled code, while nothing collects checks, the error is raised at once.
    """

    size: int = field(static=True)
    error_msg: str = field(static=True, default="")

    def generate_assertion(self, required_capacity: Any) -> FixedCapacity:
        """State that ``size`` suffices for the largest of ``required_capacity``."""
        message = "Insufficient capacity: {needed} > {size}."
        if self.error_msg:
            message += "\n" + self.error_msg.replace("{", "{{").replace("}", "}}")
        if not is_traced(required_capacity) and not is_collecting():
            needed = max(0, math.ceil(jnp.max(jnp.asarray(required_capacity), initial=0).item()))
            if needed > self.size:
                raise CapacityError(message.format(needed=needed, size=self.size))
            return self
        needed = jnp.max(jnp.asarray(required_capacity), initial=0)
        runtime_assert(
            needed <= self.size,
            message,
            fmt_args={"needed": needed, "size": self.size},
            exception_type=CapacityError,
        )
        return self

    def multiply(self, factor: int) -> FixedCapacity:
        """A fixed capacity of ``factor`` times the size, with the same message."""
        return FixedCapacity(math.ceil(self.size * factor), self.error_msg)
