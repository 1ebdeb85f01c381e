"""Programs whose checks have become results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from instar.core.assertion.collecting import emit, refuse_holder
from instar.core.assertion.description import Check
from instar.core.utils import jax_compat
from instar.core.utils.jax_compat import Program, run_program

__all__ = ["Bind", "Exposed", "all_passed", "emit_all", "flat", "regroup"]

type Bind = Callable[..., Any]
"""Binds the primitive in question, past its hook."""


class Exposed:
    """A program whose checks are results."""

    def __init__(self, program: Program) -> None:
        self.program, self._described, stuck = jax_compat.split_checks(program)
        if stuck is not None:
            refuse_holder(stuck)
        self.operands = sum(count for _, count in self._described)
        self.results = len(program.outvars if hasattr(program, "outvars") else program.out_avals)

    @property
    def types(self) -> list[tuple[Any, list[Any]]]:
        """Each check's description, and the types of its operands."""
        return [(check.info, list(check.operands)) for check in self.split(self._avals())[1]]

    def _avals(self) -> list[Any]:
        return [v.aval for v in getattr(self.program, "jaxpr", self.program).outvars]

    def split(self, results: Sequence[Any]) -> tuple[list[Any], list[Check]]:
        """The results that the program had, and its checks."""
        rest, checks = list(results[self.results :]), []
        for info, count in self._described:
            checks.append(Check(info, rest[:count]))
            rest = rest[count:]
        return list(results[: self.results]), checks

    def __call__(self, *args: Any) -> tuple[list[Any], list[Check]]:
        results, checks = self.split(run_program(self.program, *args))
        return results, [Check(c.info, [jnp.asarray(x) for x in c.operands]) for c in checks]


def emit_all(checks: Sequence[Check]) -> None:
    """Hand these checks to the trace that is current."""
    for check in checks:
        emit(check)


def flat(checks: Sequence[Check]) -> list[Any]:
    """All operands in turn."""
    return [operand for check in checks for operand in check.operands]


def regroup(types: Sequence[tuple[Any, Sequence[Any]]], arrays: Sequence[Any]) -> list[Check]:
    """Checks of these types from all their operands in turn."""
    rest, checks = list(arrays), []
    for info, avals in types:
        checks.append(Check(info, rest[: len(avals)]))
        rest = rest[len(avals) :]
    return checks


def all_passed(types: Sequence[tuple[Any, Sequence[Any]]]) -> list[Check]:
    """Checks of these types where they were not met."""
    return [
        Check(
            info,
            [
                jax_compat.constant_like(aval, fill)
                for aval, fill in zip(avals, info.when_passed(len(avals)), strict=True)
            ],
        )
        for info, avals in types
    ]
