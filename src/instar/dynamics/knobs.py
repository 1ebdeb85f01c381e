"""Knobs: numbers of a method, one for all systems or one each, that may change with the step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.typing import ArrayLike
from instar.core.utils.jax import dataclass, is_traced
from instar.core.utils.random import module_of
from instar.dynamics.state import DynamicState

__all__ = ["Knob", "Numbers", "Ramp", "checked", "checked_every", "knob", "known_knob", "scaled"]


@dataclass
class Ramp:
    """A number that changes linearly with the step number, in place of a temperature or a pressure.

        x(step) = start + (stop − start)·(step − first)/(last − first)

    and constant before ``first`` and after ``last``. It follows the step number alone, so that a
    run that is cut in pieces is the same run.

    Parameters
    ----------
    start, stop
        The values at both ends, in the unit of what it replaces; one for all systems or one per
        system.
    first, last
        The steps at which it has these values.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar import md
    >>> heating = md.Ramp(start=80.0, stop=90.0, first=0, last=100)
    >>> [float(heating.at(jnp.asarray(step), jnp.float32)) for step in (0, 50, 200)]
    [80.0, 85.0, 90.0]
    """

    start: Numbers
    stop: Numbers
    first: ArrayLike
    last: ArrayLike

    def at(self, step: Array, dtype: Any) -> Array:
        """The value at that step."""
        first, last, now = (jnp.asarray(n, dtype) for n in (self.first, self.last, step))
        fraction = jnp.clip((now - first) / jnp.maximum(last - first, 1), 0, 1)
        start, stop = jnp.asarray(self.start, dtype), jnp.asarray(self.stop, dtype)
        return start + fraction * (stop - start)


if TYPE_CHECKING:
    Numbers = float | Sequence[float] | np.ndarray | Array
    Knob = Numbers | Ramp
else:
    Numbers = Knob = Any  # what is none is refused in words, by `checked`


def knob(value: Knob, state: DynamicState) -> Array:
    """A knob at the step that is being made, (systems,)."""
    now = value.at(state.step, state.dtype) if isinstance(value, Ramp) else value
    return _one_per_system(jnp.asarray(now, state.dtype), len(state.systems))


def known_knob(value: Knob, state: DynamicState) -> np.ndarray:
    """A knob whose numbers are known; on the host."""
    now = value.at(state.step, state.dtype) if isinstance(value, Ramp) else value
    return _one_per_system(np.asarray(now, state.dtype), len(state.systems))


def _one_per_system(given: Any, systems: int) -> Any:
    if given.ndim and given.shape[0] not in (1, systems):
        raise ValueError(
            f"There are {systems} systems, but a setting with {given.shape[0]} values.\n"
            "Give one number for all systems, or one each."
        )
    return module_of(given).broadcast_to(given, (systems, *given.shape[1:]))


def checked(name: str, value: Any, least: Literal["above", "from", "any"] = "above") -> Any:
    """The knob, if its numbers are above zero, from zero up, or any; they may be traced."""
    if isinstance(value, Ramp):
        checked(name, value.start, least)
        checked(name, value.stop, least)
        first, last = value.first, value.last
        if not is_traced((first, last)) and np.any(np.less(last, first)):
            raise ValueError(f"A ramp of the {name} ends at step {last}, before step {first}.")
    elif not is_traced(value):
        rule, good = _RULES[least]
        if np.asarray(value).dtype.kind not in "fiu":
            raise ValueError(f"A {name} is a number in the units used inside, not {value!r}.")
        bad = [number for number in np.ravel(np.asarray(value, float)) if not good(number)]
        if bad:
            raise ValueError(f"A {name} is {rule}, not {bad[0]}.")
    return value


_RULES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "above": ("above zero", lambda x: 0 < x < np.inf),
    "from": ("not below zero", lambda x: 0 <= x < np.inf),
    "any": ("a finite number", lambda x: bool(np.isfinite(x))),
}


def checked_every(every: int) -> int:
    """The number of steps between moves of a cell."""
    if every < 1:
        raise ValueError(f"A cell moves every so many steps, 1 or more, not every {every}.")
    return every


def scaled(value: Any, factor: int | float) -> Any:
    """A knob that is always that many times as large."""
    if isinstance(value, Ramp):
        return Ramp(
            scaled(value.start, factor), scaled(value.stop, factor), value.first, value.last
        )
    return value * factor if isinstance(value, jax.Array) else np.asarray(value, float) * factor
