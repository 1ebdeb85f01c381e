"""What is kept of the checks in a loop: one flat array of 32-bit integers.

A check in a loop fails if it fails in any step, and reports the values of the first step in
which it failed. A compiled loop pays for each array that it carries, so everything is written
into one: for each check the step in which it first failed, then predicates and values, as the
words that their bits make::

    [ first failing step of check 0, 1, … | words of check 0 | words of check 1 | … ]
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.assertion.description import NEVER, Check, Description
from instar.core.utils.transforms import is_traced

__all__ = [
    "Field",
    "Kept",
    "Record",
    "all_passed",
    "check_passed",
    "encode",
    "outer_steps",
    "pack_words",
    "unpack",
]


@dataclasses.dataclass(frozen=True)
class Field:
    """Where an array lies in a record, and what it is: without the dimensions of a batch."""

    start: int
    shape: tuple[int, ...]
    dtype: Any

    @property
    def stop(self) -> int:
        """Behind its last word."""
        return self.start + math.prod(self.shape) * _words(self.dtype)

    def moved(self, by: int) -> Field:
        """The same, further on."""
        return dataclasses.replace(self, start=self.start + by)

    def read(self, record: Any) -> Any:
        """The array, with the record's batch dimensions in front."""
        words = record[..., self.start : self.stop]
        decode = _decode_known if isinstance(record, np.ndarray) else _decode
        return decode(words, self.shape, self.dtype)


@dataclasses.dataclass(frozen=True)
class Kept:
    """One check in a record."""

    info: Description
    predicate: Field | None
    """None for a single boolean: that it failed says all."""
    values: tuple[Field, ...]
    steps: tuple[Field, ...]
    """Of the loops inside of the one that keeps the record, outermost first."""

    def moved(self, by: int) -> Kept:
        """The same, further on in a longer record."""
        return Kept(
            self.info,
            None if self.predicate is None else self.predicate.moved(by),
            tuple(f.moved(by) for f in self.values),
            tuple(f.moved(by) for f in self.steps),
        )


@dataclasses.dataclass(frozen=True)
class Record:
    """Description of a record, and of the loops around the one that keeps it.

    Its operands are the record and, for each loop further out, how many of its steps went by
    without a failure, for each check: innermost loop first.
    """

    kept: tuple[Kept, ...]
    size: int
    loop: str
    length: int | None
    """Steps of the outermost loop so far, where that is known."""
    outer: tuple[tuple[str, int | None], ...] = ()
    """Name of each loop further out, and the length of the loop just inside of it."""
    token: Any = dataclasses.field(default=None, compare=False)
    """Names the equation that makes the empty record, so that a loop around can carry it."""

    @property
    def message(self) -> str:
        """That of its first check."""
        return self.kept[0].info.message

    @property
    def place(self) -> str:
        """That of its first check."""
        return self.kept[0].info.place

    def passed(self, record: Any) -> Any:
        """Which of its checks have not failed, by lane."""
        return lax.slice_in_dim(record, 0, len(self.kept), axis=record.ndim - 1) == NEVER

    @property
    def owners(self) -> np.ndarray:
        """For each word of the record, the check that it belongs to."""
        owner = np.zeros(self.size, np.int32)
        for c, kept in enumerate(self.kept):
            owner[c] = c
            for f in (kept.predicate, *kept.values, *kept.steps):
                if f is not None:
                    owner[f.start : f.stop] = c
        return owner

    @property
    def blank(self) -> np.ndarray:
        """The record in which nothing has failed."""
        words = np.zeros(self.size, np.int32)
        words[: len(self.kept)] = NEVER
        return words

    def inside(self, loop: str, length: int | None) -> Record:
        """Seen from outside of one more loop."""
        return dataclasses.replace(
            self, length=length, outer=(*self.outer, (loop, self.length)), token=None
        )

    def when_passed(self, operands: int) -> list[Any]:
        """What its arrays hold where none of its checks was met."""
        return [self.blank, *[0] * (operands - 1)]

    def named(self, token: object) -> Record:
        """With the equation that makes its blank form."""
        return dataclasses.replace(self, token=token)

    def described(self, kept: Kept) -> Description:
        """One of its checks, with all the loops around it."""
        loops = (*(name for name, _ in self.outer[::-1]), self.loop, *kept.info.loops)
        return dataclasses.replace(kept.info, loops=loops)


def check_passed(check: Check) -> Any:
    """Whether it holds: by entry, or for a record by lane and check."""
    if isinstance(check.info, Record):
        return check.info.passed(check.operands[0])
    return check.predicate


def all_passed(checks: Sequence[Check]) -> Any:
    """Whether all of them hold, everywhere: one boolean."""
    fine: Any = None
    for check in checks:
        passed = check_passed(check)
        one = lax.reduce_and(passed, tuple(range(passed.ndim))) if passed.ndim else passed
        fine = one if fine is None else lax.bitwise_and(fine, one)
    return jnp.array(True) if fine is None else fine


def unpack(record: Record, operands: Sequence[Any]) -> list[Check]:
    """The checks of a record, each by itself.

    Words that are known are read on the host, where 64 bits are 64 bits in any setting.
    """
    if not is_traced(operands):
        operands = [np.asarray(operand) for operand in operands]
    module: Any = jnp if is_traced(operands) else np
    words, *counts = operands
    passed = words[..., : len(record.kept)] == NEVER
    checks = []
    for c, kept in enumerate(record.kept):
        fine = passed[..., c]
        predicate = fine
        if kept.predicate is not None:
            own = kept.predicate.read(words)
            predicate = own | fine.reshape(fine.shape + (1,) * (own.ndim - fine.ndim))
        around = [module.where(fine, NEVER, n[..., c]) for n in outer_steps(record, counts)]
        steps = [*around, words[..., c], *(f.read(words) for f in kept.steps)]
        values = [f.read(words) for f in kept.values]
        checks.append(Check(record.described(kept), [predicate, *values, *steps]))
    return checks


def outer_steps(record: Record, counts: Sequence[Any]) -> list[Any]:
    """Steps of the loops further out, outermost first, from how many of them went by in all.

    Where a loop runs ``n`` times in each step of the loop around it, and that one has done ``k``
    steps, ``n k`` of the steps that went by belong to those.
    """
    steps = []
    for level, count in enumerate(counts):
        runs = record.outer[level + 1][1] if level + 1 < len(counts) else None
        steps.append(count if runs is None else count - counts[level + 1] * np.int32(runs))
    return steps[::-1]


# ----------------------------------------------------------------- words of 32 bits


def _words(dtype: Any) -> int:
    """How many words an entry takes."""
    return max(1, jnp.dtype(dtype).itemsize // 4)


def encode(array: Any, batch: int) -> Any:
    """The array as words, in one dimension behind those of the batch."""
    shape = array.shape[:batch]
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        array = lax.concatenate(
            [lax.expand_dims(part, (array.ndim,)) for part in (lax.real(array), lax.imag(array))],
            array.ndim,
        )
    bits = jnp.dtype(array.dtype).itemsize * 8
    if array.dtype == bool or bits < 32:
        if jnp.issubdtype(array.dtype, jnp.floating):
            array = lax.bitcast_convert_type(array, jnp.dtype(f"int{bits}"))
        array = lax.convert_element_type(array, jnp.int32)
    elif array.dtype != jnp.int32:
        array = lax.bitcast_convert_type(array, jnp.int32)
    return lax.reshape(array, (*shape, math.prod(array.shape[batch:])))


def _decode_known(words: np.ndarray, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    shape = (*words.shape[:-1], *shape)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return (words != 0).reshape(shape)
    if dtype.itemsize < 4:
        small = words.astype(f"int{8 * dtype.itemsize}")
        floating = jnp.issubdtype(dtype, jnp.floating)
        return (small.view(dtype) if floating else small.astype(dtype)).reshape(shape)
    return np.ascontiguousarray(words).view(dtype).reshape(shape)


def _decode(words: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    batch = words.shape[:-1]
    if jnp.issubdtype(dtype, jnp.complexfloating):
        part = jnp.finfo(dtype).dtype
        parts = _decode(words, (*shape, 2), part)
        return lax.complex(parts[..., 0], parts[..., 1])
    each = _words(dtype)
    words = lax.reshape(words, (*batch, *shape, *((each,) if each > 1 else ())))
    bits = jnp.dtype(dtype).itemsize * 8
    if np.dtype(dtype) == np.dtype(bool):
        return words != 0
    if bits < 32:
        small = lax.convert_element_type(words, jnp.dtype(f"int{bits}"))
        if jnp.issubdtype(dtype, jnp.floating):
            return lax.bitcast_convert_type(small, dtype)
        return lax.convert_element_type(small, dtype)
    return words if dtype == jnp.int32 else lax.bitcast_convert_type(words, dtype)


def pack_words(parts: Sequence[Array]) -> Array:
    """One after the other, along the last dimension."""
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, parts[0].ndim - 1)
