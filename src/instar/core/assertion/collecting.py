"""Stating checks, and collecting the ones that a function comes by."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import jax

from instar.core.assertion.description import Check, describe
from instar.core.assertion.rewriting.record import all_passed
from instar.core.assertion.runtime_assertion import Collected, RuntimeAssertion
from instar.core.utils import jax_compat

__all__ = [
    "UncollectableError",
    "collect",
    "emit",
    "is_collecting",
    "refuse_holder",
    "refusing",
    "runtime_assert",
    "with_outcome",
    "with_runtime_assertions",
]


class UncollectableError(NotImplementedError):
    """A check lies where it can't be carried out of the compiled program."""


class _Collection:
    """The checks met so far, and the trace that they must reach."""

    def __init__(self, trace: Any, refusal: str | None = None) -> None:
        self.checks: list[Check] = []
        self.trace = trace
        self.reached_by = jax_compat.where_rules_run(trace)
        self.refusal = refusal


# Part of JAX's trace caches: a function traced while nothing was collected is traced again.
_traced_with_checks = jax.make_user_context(default_value=False)
_innermost: ContextVar[_Collection | None] = ContextVar("instar_collection", default=None)


def is_collecting() -> bool:
    """Whether checks are being collected at this moment."""
    return _innermost.get() is not None


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
    ``fix_fn(state, fix_args)`` returns a repaired state.
    """
    if is_collecting():
        emit(describe(predicate, message, fmt_args, exception_type, fix_fn, fix_args))


def emit(check: Check) -> None:
    """Hand a check to the trace that is current."""
    _check_p.bind(*check.operands, info=check.info)


def _met(trace: Any, operands: Any, info: Any) -> bool:
    """A check has reached a trace: take it, if this is where checks are collected."""
    collection = _innermost.get()
    if collection is None:
        _refuse("nothing collects checks where it is run", info)
    elif collection.refusal is not None:
        _refuse(collection.refusal, info)
    elif any(trace is one for one in collection.reached_by):
        collection.checks.append(Check(info, operands))
        return True
    elif jax_compat.is_evaluating(trace):
        return _met_while_tracing(Check(info, operands))
    return False


def _met_while_tracing(check: Check) -> bool:
    """A check on what is known when tracing; the traced program will not hold it."""
    if not bool(all_passed([check])):
        _refuse("it fails already while tracing, on values that are computed then", check.info)
    return True


def _refuse(why: str, info: Any) -> None:
    raise UncollectableError(
        f"A check can't be carried out of the compiled program: {why}.\n"
        f"It says {info.message!r}, at {info.place}.\n"
        "Move the check out of that transform, or call with_runtime_assertions inside of it."
    )


_check_p = jax_compat.check_primitive(met=_met, refuse=_refuse)


@contextlib.contextmanager
def _collecting(collection: _Collection) -> Iterator[list[Check]]:
    token = _innermost.set(collection)
    try:
        with _traced_with_checks(True), jax_compat.set_current_trace(collection.trace):
            yield collection.checks
    finally:
        _innermost.reset(token)


def collect[R](fn: Callable[..., R], *args: Any, **kwargs: Any) -> tuple[R, list[Check]]:
    """The result, and the checks that were met, all in the trace that is current."""
    trace = jax_compat.eager_if_outermost(jax_compat.current_trace())
    held = jax_compat.effect_holders(trace)
    with _collecting(_Collection(trace)) as checks:
        result = fn(*args, **kwargs)
    stuck = [name for name in jax_compat.effect_holders(trace) if name not in held]
    if stuck:
        refuse_holder(stuck[0])
    return result, checks


def refuse_holder(name: str) -> None:
    """Raise for a check inside of a primitive that has no rule for it."""
    raise UncollectableError(
        f"A check lies inside of {name}, which can't carry it out.\n"
        "Move the check out of that transform, or call with_runtime_assertions inside of it."
    )


def refusing[**P, R](fn: Callable[P, R], why: str) -> Callable[P, R]:
    """A function that raises if it comes by a check while nothing collects."""

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_collecting():
            return fn(*args, **kwargs)
        with _collecting(_Collection(jax_compat.current_trace(), refusal=why)):
            return fn(*args, **kwargs)

    return wrapper


def with_outcome[**P, R](fn: Callable[P, R]) -> Callable[P, tuple[R, Any]]:
    """A function that returns ``(value, passed)``: one boolean for all of its checks.

    The checks themselves go on outwards, as if they had not been looked at.
    """

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> tuple[R, Any]:
        value, checks = collect(fn, *args, **kwargs)
        if is_collecting():
            for check in checks:
                emit(check)
        return value, all_passed(checks)

    return wrapper


def with_runtime_assertions[**P, R](
    fn: Callable[P, R],
) -> Callable[P, tuple[R, tuple[RuntimeAssertion, ...]]]:
    """A function with the same arguments that returns ``(value, assertions)``.

    Nothing stops early: the value is computed as usual, and every check that was met comes out
    with it, from inside of whatever transform it lies in.
    """

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> tuple[R, tuple[RuntimeAssertion, ...]]:
        value, checks = collect(fn, *args, **kwargs)
        return value, Collected.of(checks).unpacked()

    return wrapper
