"""The one place that knows what differs between JAX releases.

Nothing else in instar looks at JAX's version, its private modules, or options that come and go.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax._src.core as _core

__all__ = ["current_trace", "jit_options"]

_JIT_PARAMETERS = frozenset(inspect.signature(jax.jit).parameters)


def jit_options(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options that this JAX's ``jit`` has; one that it lost must be at its default."""
    kept: dict[str, Any] = {}
    for name, value in options.items():
        if name in _JIT_PARAMETERS:
            kept[name] = value
        elif value is not defaults[name]:
            raise TypeError(
                f"jit has no option {name!r} in JAX {jax.__version__}.\n"
                f"It was given as {value!r}; leave it out, or install a JAX release that has it."
            )
    return kept


def current_trace() -> object:
    """What JAX is tracing into at this moment; equal while no transform is entered or left."""
    return _core.trace_ctx.trace
