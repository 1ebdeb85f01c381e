"""Checks inside compiled code.

Compiled code has fixed sizes and can't raise. `runtime_assert` states what must hold; on its
own it does nothing. `with_runtime_assertions` makes a function return the checks that it came
by as data, to be inspected, and where a check carries a fix, repaired, on the host.

A check is collected in the function that is wrapped itself, compiled or not. One that lies
inside a further transform (``jit``, ``scan``, ``vmap``, ``grad`` called *by* that function)
can't be carried out yet: that is an error when tracing, never a lost check.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp

from instar.core.utils.jax_compat import current_trace
from instar.core.utils.pytree_dataclass import dataclass, field

__all__ = ["RuntimeAssertion", "is_collecting", "runtime_assert", "with_runtime_assertions"]


@dataclass
class RuntimeAssertion:
    """A check that was met, whether it held, and how to repair a state if it did not."""

    predicate: Any
    fmt_args: dict[str, Any]
    fix_args: Any
    message: str = field(static=True)
    exception_type: type[Exception] = field(static=True)
    fix_fn: Callable[[Any, Any], Any] | None = field(static=True)
    place: str = field(static=True)

    @property
    def valid(self) -> bool:
        """Whether the check held, for every entry of a batch."""
        return bool(jnp.all(self.predicate))

    @property
    def failed(self) -> bool:
        """Whether the check failed for any entry."""
        return not self.valid

    def exception(self) -> Exception:
        """The exception that describes the failure."""
        values = {name: _plain(value) for name, value in self.fmt_args.items()}
        text = self.message.format(**values)
        return self.exception_type(f"{text}\nChecked at {self.place}.")

    def check(self) -> None:
        """Raise if the check failed."""
        if self.failed:
            raise self.exception()

    def fix(self, state: Any) -> Any:
        """The repaired state; raises if the check carries no fix."""
        if self.fix_fn is None:
            raise self.exception()
        return self.fix_fn(state, self.fix_args)


def _plain(value: Any) -> Any:
    array = jnp.asarray(value)
    return array.item() if array.ndim == 0 else array


class _Collection:
    """The checks met so far, and the trace that they must belong to."""

    def __init__(self) -> None:
        self.assertions: list[RuntimeAssertion] = []
        self.trace = current_trace()


# Part of JAX's trace caches: a function traced while nothing was collected is traced anew.
_collecting = jax.make_user_context(default_value=False)
_collection: ContextVar[_Collection | None] = ContextVar("instar_collection", default=None)


def is_collecting() -> bool:
    """Whether checks are being collected at this moment."""
    return _collection.get() is not None


def runtime_assert(
    predicate: Any,
    message: str,
    *,
    fmt_args: Mapping[str, Any] | None = None,
    exception_type: type[Exception] = AssertionError,
    fix_fn: Callable[[Any, Any], Any] | None = None,
    fix_args: Any = None,
) -> None:
    """State that ``predicate`` must hold, for all of its entries.

    Does nothing unless checks are collected (`with_runtime_assertions`). ``message`` may hold
    ``{name}`` placeholders, filled from ``fmt_args`` when the failure is read;
    ``fix_fn(state, fix_args)`` gives a repaired state.
    """
    collection = _collection.get()
    if collection is None:
        return
    if current_trace() is not collection.trace:
        raise NotImplementedError(
            "A check inside a nested transform can't be collected yet.\n"
            f"It says {message!r}. Call with_runtime_assertions inside of that jit, vmap, grad, "
            "scan, while_loop or cond, on the function that makes the check."
        )
    collection.assertions.append(
        RuntimeAssertion(
            predicate=jnp.asarray(predicate),
            fmt_args={name: jnp.asarray(value) for name, value in (fmt_args or {}).items()},
            fix_args=jax.tree.map(jnp.asarray, fix_args),
            message=message,
            exception_type=exception_type,
            fix_fn=fix_fn,
            place=_caller(),
        )
    )


_LIBRARIES = ("/instar/core/", "/site-packages/jax/", "/jaxtyping/", "/beartype/")


def _caller() -> str:
    """The innermost line of the user's code."""
    frame = next(
        frame
        for frame in reversed(traceback.extract_stack())
        if not any(library in frame.filename for library in _LIBRARIES)
    )
    return f"{frame.filename}:{frame.lineno}, in {frame.name}"


def with_runtime_assertions[**P, R](
    fn: Callable[P, R],
) -> Callable[P, tuple[R, tuple[RuntimeAssertion, ...]]]:
    """A function with the same arguments that returns ``(value, assertions)``."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> tuple[R, tuple[RuntimeAssertion, ...]]:
        with _collecting(True):
            collection = _Collection()
            token = _collection.set(collection)
            try:
                value = fn(*args, **kwargs)
            finally:
                _collection.reset(token)
        return value, tuple(collection.assertions)

    return wrapper
