"""How a loop remembers the first failure of the checks in its body.

The steps in which all is well must cost next to nothing: all predicates are joined into one, and
only when that is false does a branch look closer and write the record.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.assertion.description import NEVER, Check, Description
from instar.core.assertion.rewriting.record import (
    Field,
    Kept,
    Record,
    all_passed,
    check_passed,
    encode,
    outer_steps,
    pack_words,
)
from instar.core.utils.jax_compat import varies_over, vary_over

__all__ = ["Memory"]

type Types = Sequence[tuple[Description | Record, Sequence[Any]]]


class Memory:
    """The records of one loop: one for the checks of each shape of batch."""

    def __init__(self, loop: str, length: int | None, types: Types) -> None:
        self._groups = [
            _Group(loop, length, batch, [(i, *types[i]) for i in members])
            for batch, members in _by_batch(types).items()
        ]
        self.records = [group.record for group in self._groups]
        self.axes = frozenset[str]().union(*(varies_over(a) for _, avals in types for a in avals))

    def blank_constants(self) -> list[np.ndarray]:
        """The records before the first step, as constants."""
        return [np.broadcast_to(g.record.blank, (*g.batch, g.record.size)) for g in self._groups]

    def blank(self) -> list[Array]:
        """The records before the first step."""
        return [vary_over(self.axes, jnp.asarray(c)) for c in self.blank_constants()]

    def after(self, step: Array, memory: Sequence[Array], checks: Sequence[Check]) -> list[Array]:
        """The records after a step in which these checks were met."""

        def look_closer(memory: Sequence[Array]) -> list[Array]:
            pairs = zip(self._groups, memory, strict=True)
            return [vary_over(self.axes, g.first_failure(kept, checks, step)) for g, kept in pairs]

        if jax.default_backend() != "cpu":  # a branch there waits for the device
            return look_closer(memory)
        fine = all_passed(checks)
        return lax.cond(fine, lambda memory: memory, look_closer, list(memory))


def _batch(info: Description | Record, avals: Sequence[Any]) -> tuple[int, ...]:
    own = 1 if isinstance(info, Record) else info.rank
    return avals[0].shape[: avals[0].ndim - own]


def _by_batch(types: Types) -> dict[tuple[int, ...], list[int]]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, (info, avals) in enumerate(types):
        groups.setdefault(_batch(info, avals), []).append(i)
    return groups


class _Group:
    """Checks with one shape of batch, and their record."""

    def __init__(
        self,
        loop: str,
        length: int | None,
        batch: tuple[int, ...],
        members: Sequence[tuple[int, Description | Record, Sequence[Any]]],
    ) -> None:
        self.batch = batch
        self._members = [i for i, _, _ in members]
        count = sum(len(info.kept) if isinstance(info, Record) else 1 for _, info, _ in members)
        kept: list[Kept] = []
        start = count
        for _, info, avals in members:
            new, start = _laid_out(info, [(a.shape[len(batch) :], a.dtype) for a in avals], start)
            kept += new
        self.record = Record(tuple(kept), start, loop, length)

    def first_failure(self, memory: Array, checks: Sequence[Check], step: Array) -> Array:
        """The record, with what is new of the checks that fail for the first time."""
        mine = [checks[i] for i in self._members]
        batch = len(self.batch)
        count = len(self.record.kept)
        failing = ~pack_words([_passed_by_check(check, batch) for check in mine])
        new = failing & self.record.passed(memory)
        words = [word for check in mine for word in _payload(check, batch)]
        now = pack_words([jnp.broadcast_to(step, (*self.batch, count)), *words])
        owners = self.record.owners
        by_word = (
            jnp.broadcast_to(new, now.shape) if count == 1 else jnp.take(new, owners, axis=batch)
        )
        return jnp.where(by_word, now, memory)


def _passed_by_check(check: Check, batch: int) -> Any:
    """Of shape batch + (number of checks,)."""
    passed = check_passed(check)
    if isinstance(check.info, Record):
        return passed
    return lax.expand_dims(lax.reduce_and(passed, tuple(range(batch, passed.ndim))), (batch,))


def _payload(check: Check, batch: int) -> list[Any]:
    """The words of a check, in the order of `_laid_out`."""
    if isinstance(check.info, Record):
        words, *counts = check.operands
        return [words, *outer_steps(check.info, counts)]
    skip = 0 if check.info.rank else 1
    return [encode(operand, batch) for operand in check.operands[skip:]]


def _laid_out(
    info: Description | Record, types: Sequence[tuple[tuple[int, ...], Any]], start: int
) -> tuple[list[Kept], int]:
    """Where the words of a check go, and where the next may begin."""
    if isinstance(info, Record):
        return _nested(info, start)
    fields: list[Field] = []
    for shape, dtype in types if info.rank else types[1:]:
        fields.append(Field(fields[-1].stop if fields else start, shape, np.dtype(dtype)))
    predicate = fields.pop(0) if info.rank else None
    end = fields[-1].stop if fields else (predicate.stop if predicate else start)
    n = info.num_values
    return [Kept(info, predicate, tuple(fields[:n]), tuple(fields[n:]))], end


def _nested(info: Record, start: int) -> tuple[list[Kept], int]:
    """A record inside of a record: its own steps become fields."""
    count, behind = len(info.kept), start + info.size

    def kept(c: int, inner: Kept) -> Kept:
        moved = inner.moved(start)
        around = [Field(behind + k * count + c, (), NEVER.dtype) for k in range(len(info.outer))]
        steps = (*around, Field(start + c, (), NEVER.dtype), *moved.steps)
        return dataclasses.replace(moved, info=info.described(inner), steps=steps)

    everything = [kept(c, inner) for c, inner in enumerate(info.kept)]
    return everything, behind + count * len(info.outer)
