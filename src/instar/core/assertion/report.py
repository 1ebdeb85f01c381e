"""The text of a failed check: at most ten lines, for a person."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.assertion.description import NEVER, Description

__all__ = ["report"]

_MESSAGE_LINES = 6
_LINE_LENGTH = 500


def report(info: Description, predicate: Any, values: Sequence[Any], steps: Sequence[Any]) -> str:
    """The message with the values of the first failure, the place, the steps and the entry."""
    passed = np.asarray(predicate)
    batch = passed.ndim - info.rank
    entry = _first_failure(passed, [np.asarray(step) for step in steps], batch)
    own = [np.asarray(value)[entry[:batch]] for value in values]
    lines = _message(info, own)
    lines.append(f"Checked at {info.place}.")
    if info.loops:
        at = [int(np.asarray(step)[entry[:batch]]) for step in steps]
        walk = ", in ".join(f"step {i} of {loop}" for loop, i in _inwards(info.loops, at))
        lines.append(f"First failed in {walk} (counted from 0).")
    if passed.ndim:
        failures = f"{np.count_nonzero(~passed)} of {passed.size} entries failed"
        lines.append(f"{_position(entry, batch)}; {failures}.")
    return "\n".join(lines)


def _inwards(loops: Sequence[str], at: Sequence[int]) -> list[tuple[str, int]]:
    """Innermost first: where the reader's line is."""
    return list(zip(loops, at, strict=True))[::-1]


def _first_failure(passed: np.ndarray, steps: Sequence[np.ndarray], batch: int) -> tuple[int, ...]:
    """The entry that failed first in time; the first of these in the array."""
    candidates = ~passed
    own = tuple(range(batch, passed.ndim))
    for step in steps:  # outermost loop first: lexicographic order
        by_entry = np.broadcast_to(np.expand_dims(step, own), passed.shape)
        earliest = np.min(by_entry, where=candidates, initial=NEVER)
        candidates = candidates & (by_entry == earliest)
    return tuple(int(i) for i in np.argwhere(candidates)[0]) if passed.ndim else ()


def _position(entry: tuple[int, ...], batch: int) -> str:
    parts = []
    if batch:
        parts.append(f"Batch entry {_index(entry[:batch])}")
    if entry[batch:]:
        parts.append(f"{'entry' if parts else 'Entry'} {_index(entry[batch:])} of the predicate")
    return ", ".join(parts)


def _index(entry: tuple[int, ...]) -> str:
    return str(entry[0]) if len(entry) == 1 else str(entry)


def _message(info: Description, values: Sequence[Any]) -> list[str]:
    fmt_args, _ = info.arguments(values)
    try:
        text = _Lenient().vformat(info.message, (), fmt_args)
    except ValueError:  # braces of another meaning
        text = info.message
    lines = [line[:_LINE_LENGTH] for line in text.splitlines()] or [""]
    return lines if len(lines) <= _MESSAGE_LINES else [*lines[: _MESSAGE_LINES - 1], "…"]


class _Lenient(string.Formatter):
    """Fills in what there is, and leaves the rest of the message as it was written."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        try:
            return super().get_field(field_name, args, kwargs)
        except (LookupError, AttributeError, TypeError):
            return "{" + field_name + "}", field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        value = _shown(value)
        try:
            return format(value, format_spec)
        except (ValueError, TypeError):
            return str(value)


def _shown(value: Any) -> Any:
    """A number as it is, so that it can be formatted; anything larger on one line."""
    if not isinstance(value, jax.Array | np.ndarray | np.generic):
        return value
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    array = np.asarray(value)
    if array.ndim == 0:
        small = jnp.issubdtype(array.dtype, jnp.floating) and array.dtype.kind != "f"
        return float(array) if small else array[()]
    text = np.array2string(array, threshold=6, edgeitems=2, separator=", ")
    return " ".join(text.split())
