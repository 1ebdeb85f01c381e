"""Checks in scan and while: what is kept of them is carried from step to step.

A record that a loop further in has made is not looked at again: it is carried around that loop
too, so that its first failure stays, and the steps until then are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.assertion.description import Check
from instar.core.assertion.rewriting.exposed import Bind, Exposed, emit_all
from instar.core.assertion.rewriting.memory import Memory
from instar.core.assertion.rewriting.record import Record
from instar.core.utils import jax_compat
from instar.core.utils.jax_compat import Program, as_program, holds_check, run_program

__all__ = ["rewrite_scan", "rewrite_while"]


class _Body:
    """A loop's body that takes and gives, in front of its carry, records and a step counter.

    The counter is there where something needs it: ``counted``, or checks of the body itself.
    """

    def __init__(
        self, program: Program, loop: str, length: int | None, *, counted: bool = False
    ) -> None:
        self._inner = Exposed(program)
        types = self._inner.types
        self._passing = _that_pass_through(self._inner.program, types)
        self._own = [i for i in range(len(types)) if i not in self._passing]
        self._memory = Memory(loop, length, [types[i] for i in self._own])
        through: list[Record] = [types[i][0] for i in self._passing]
        self._through = through
        self._batches = [types[i][1][0].shape[:-1] for i in self._passing]
        self._program = jax_compat.take_in(self._inner.program, [r.token for r in through])
        self._records = [*self._memory.records, *(r.inside(loop, length) for r in through)]
        self._counter = [np.int32(0)] if counted or self._own else []
        self.types = [jax.typeof(x) for x in (*self._counter, *self._blank())]

    def start(self) -> tuple[list[Any], list[Record]]:
        """What is carried into the first step, and descriptions to emit it with afterwards."""
        if self._memory.axes:
            return [*self._counter, *self._blank()], self._records
        arrays, records = [], []
        sizes = [1] * len(self._memory.records) + [2 + len(r.outer) for r in self._through]
        constants = iter([*self._memory.blank_constants(), *self._blank_constants()])
        for record, size in zip(self._records, sizes, strict=True):
            token = object()
            arrays += jax_compat.blank(token, [next(constants) for _ in range(size)])
            records.append(record.named(token))
        return [*self._counter, *arrays], records

    def __call__(
        self, consts: Sequence[Any], carried: Sequence[Any], rest: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """What is carried on, and the body's results."""
        counter, kept = carried[: len(self._counter)], carried[len(self._counter) :]
        own, passing = kept[: len(self._memory.records)], kept[len(self._memory.records) :]
        groups = self._by_record(passing)
        inputs = [x for pair in zip(self._through, groups, strict=True) for x in _reset(*pair)]
        results, checks = self._inner.split(run_program(self._program, *consts, *rest, *inputs))
        arrays = [Check(c.info, [jnp.asarray(x) for x in c.operands]) for c in checks]
        mine = [arrays[i] for i in self._own]
        memory = self._memory.after(counter[0], own, mine) if mine else []
        for i, record, (*_, count) in zip(self._passing, self._through, groups, strict=True):
            words = arrays[i].operands
            went_by = lax.convert_element_type(record.passed(words[0]), np.int32)
            memory += [*words, count + went_by]
        return [*(step + 1 for step in counter), *memory], results

    def checks(self, records: Sequence[Record], carried: Sequence[Any]) -> list[Check]:
        """The checks as they are seen from outside of the loop."""
        kept, checks = carried[len(self._counter) :], []
        for record in records:
            size = 1 + len(record.outer)
            checks.append(Check(record, kept[:size]))
            kept = kept[size:]
        return checks

    def _by_record(self, arrays: Sequence[Any]) -> list[Sequence[Any]]:
        groups, rest = [], list(arrays)
        for record in self._through:
            size = 2 + len(record.outer)
            groups.append(rest[:size])
            rest = rest[size:]
        return groups

    def _blank_constants(self) -> list[np.ndarray]:
        constants: list[np.ndarray] = []
        for record, batch in zip(self._through, self._batches, strict=True):
            none = np.zeros((*batch, len(record.kept)), np.int32)
            words = np.broadcast_to(record.blank, (*batch, record.size))
            constants += [words, *[none] * (1 + len(record.outer))]
        return constants

    def _blank(self) -> list[Array]:
        return [*self._memory.blank(), *map(jnp.asarray, self._blank_constants())]


def _reset(record: Record, arrays: Sequence[Any]) -> list[Any]:
    """What goes into the loop further in; where its length is unknown, counts start again."""
    words, *counts, _ = arrays
    if counts and record.length is None:
        passed = record.passed(words)
        counts = [lax.select(passed, lax.full_like(count, 0), count) for count in counts]
    return [words, *counts]


def _that_pass_through(program: Program, types: Sequence[tuple[Any, Sequence[Any]]]) -> list[int]:
    """Records whose blank form is made in this very program, with the same type."""
    blanks = jax_compat.blanks(program)

    def passes(info: Any, avals: Sequence[Any]) -> bool:
        made = blanks.get(info.token) if isinstance(info, Record) else None
        return made is not None and [a.shape for a in made] == [a.shape for a in avals]

    return [i for i, (info, avals) in enumerate(types) if passes(info, avals)]


def rewrite_scan(bind: Bind, args: Any, params: Any) -> Any:
    """A scan that carries a step counter and what is kept of its checks."""
    constants, carried = jax_compat.scan_layout(params)
    program, body = _rewritten_scan(params["jaxpr"], constants, params["length"])
    start, records = body.start()
    extra = len(start)
    new = jax_compat.scan_parameters(params, program, constants, carried + extra)
    out = bind(*args[:constants], *start, *args[constants:], **new)
    emit_all(body.checks(records, out[:extra]))
    return out[extra:]


@jax_compat.cached_by_program
def _rewritten_scan(program: Program, constants: int, length: int) -> tuple[Program, _Body]:
    body = _Body(program, "scan", length)
    return _extended(program, constants, body), body


def _extended(program: Program, constants: int, body: _Body) -> Program:
    extra = len(body.types)

    def run(*args: Any) -> list[Any]:
        consts, rest = args[:constants], args[constants:]
        carried, results = body(consts, rest[:extra], rest[extra:])
        return [*carried, *results]

    types = program.in_avals
    return as_program(run, [*types[:constants], *body.types, *types[constants:]])


def rewrite_while(bind: Bind, args: Any, params: Any) -> Any:
    """A while loop that carries a step counter and what is kept of its checks."""
    n, m = params["cond_nconsts"], params["body_nconsts"]
    if holds_check(params["cond_jaxpr"]):
        return _while_with_checked_condition(bind, args, params)
    condition, program, body = _rewritten_while(params["body_jaxpr"], params["cond_jaxpr"], n, m)
    start, records = body.start()
    new = {**params, "cond_jaxpr": condition, "body_jaxpr": program}
    out = bind(*args[: n + m], *start, *args[n + m :], **new)
    emit_all(body.checks(records, out[: len(start)]))
    return out[len(start) :]


@jax_compat.cached_by_program
def _rewritten_while(program: Program, condition: Program, n: int, m: int) -> Any:
    body = _Body(program, "while_loop", None)
    extra = len(body.types)

    def new_condition(*args: Any) -> list[Any]:
        return run_program(condition, *args[:n], *args[n + extra :])

    types = [*condition.in_avals[:n], *body.types, *program.in_avals[m:]]
    return as_program(new_condition, types), _extended(program, m, body), body


def _while_with_checked_condition(bind: Bind, args: Any, params: Any) -> Any:
    """The condition is worked out before the loop and at the end of its body, and carried."""
    n, m = params["cond_nconsts"], params["body_nconsts"]
    consts, body_consts, carry = args[:n], args[n : n + m], args[n + m :]
    rewritten = _rewritten_checked_while(params["body_jaxpr"], params["cond_jaxpr"], n, m)
    condition, goes_on, program, body, tested = rewritten
    start, records = body.start()
    (going,), checks = condition(*consts, *carry)
    kept = tested.after(jnp.int32(0), tested.blank(), checks)
    new = {
        **params,
        "cond_nconsts": 0,
        "cond_jaxpr": goes_on,
        "body_nconsts": n + m,
        "body_jaxpr": program,
    }
    out = bind(*consts, *body_consts, going, *kept, *start, *carry, **new)
    begin, end = 1 + len(kept), 1 + len(kept) + len(start)
    emit_all([Check(r, [x]) for r, x in zip(tested.records, out[1:begin], strict=True)])
    emit_all(body.checks(records, out[begin:end]))
    return out[end:]


@jax_compat.cached_by_program
def _rewritten_checked_while(program: Program, condition: Program, n: int, m: int) -> Any:
    body, test = _Body(program, "while_loop", None, counted=True), Exposed(condition)
    tested = Memory("the condition of while_loop", None, test.types)
    kept = [jax.typeof(x) for x in tested.blank()]
    begin, end = 1 + len(kept), 1 + len(kept) + len(body.types)

    def new_body(*args: Any) -> list[Any]:
        consts, body_consts, rest = args[:n], args[n : n + m], args[n + m :]
        carried, results = body(body_consts, rest[begin:end], rest[end:])
        (going,), checks = test(*consts, *results)
        return [going, *tested.after(carried[0], rest[1:begin], checks), *carried, *results]

    carry = [*condition.out_avals, *kept, *body.types, *program.in_avals[m:]]
    return (
        test,
        as_program(lambda going, *_: [going], carry),
        as_program(new_body, [*condition.in_avals[:n], *program.in_avals[:m], *carry]),
        body,
        tested,
    )
