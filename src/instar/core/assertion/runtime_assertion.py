"""A check that came out of a program: did it hold, what does it say, how is it repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from instar.core.assertion.description import Check, Description
from instar.core.assertion.report import report
from instar.core.assertion.rewriting.record import Record, all_passed, unpack
from instar.core.utils.pytree_dataclass import dataclass, field

__all__ = ["Collected", "RuntimeAssertion"]


@dataclass
class RuntimeAssertion:
    """A check that was met, whether it held, and how to repair a state if it did not.

    ``predicate`` has a batch dimension in front for each ``vmap`` around the check, and so have
    its arguments; ``steps`` holds, for each loop around it, outermost first, the step at which
    it first failed.
    """

    predicate: Any
    values: tuple[Any, ...]
    steps: tuple[Any, ...]
    info: Description = field(static=True)

    @classmethod
    def of(cls, check: Check) -> RuntimeAssertion:
        """From a check and its flat list of arrays."""
        info, (predicate, *arrays) = check
        n = info.num_values
        return cls(predicate, tuple(arrays[:n]), tuple(arrays[n:]), info)

    @property
    def message(self) -> str:
        """What is said when it fails, with its placeholders."""
        return self.info.message

    @property
    def exception_type(self) -> type[Exception]:
        """What is raised when it fails."""
        return self.info.exception_type

    @property
    def fix_fn(self) -> Callable[[Any, Any], Any] | None:
        """How a state is repaired, if it can be."""
        return self.info.fix_fn

    @property
    def place(self) -> str:
        """The user's line that states the check."""
        return self.info.place

    @property
    def fmt_args(self) -> dict[str, Any]:
        """The values that fill the message, from the first failing step."""
        return self.info.arguments(self.values)[0]

    @property
    def fix_args(self) -> Any:
        """What the repair needs to know, from the first failing step."""
        return self.info.arguments(self.values)[1]

    @property
    def valid(self) -> bool:
        """Whether the check held, for every entry of a batch."""
        return bool(np.all(self.predicate))

    @property
    def failed(self) -> bool:
        """Whether the check failed for any entry."""
        return not self.valid

    def exception(self) -> Exception:
        """The exception that describes the failure, in at most ten lines."""
        text = report(self.info, self.predicate, self.values, self.steps)
        try:
            return self.exception_type(text)
        except TypeError:  # one that takes something else than a text
            return AssertionError(f"{text}\nTo be raised as {self.exception_type.__name__}.")

    def check(self) -> None:
        """Raise if the check failed."""
        if self.failed:
            raise self.exception()

    def fix(self, state: Any) -> Any:
        """The repaired state; raises if the check carries no fix."""
        if self.fix_fn is None:
            raise self.exception()
        return self.fix_fn(state, self.fix_args)


@dataclass
class Collected:
    """All the checks that a function came by, in as few arrays as hold them."""

    operands: tuple[tuple[Any, ...], ...]
    infos: tuple[Description | Record, ...] = field(static=True)

    @classmethod
    def of(cls, checks: Sequence[Check]) -> Collected:
        """From checks as they were met."""
        return cls(tuple(tuple(c.operands) for c in checks), tuple(c.info for c in checks))

    @property
    def _checks(self) -> list[Check]:
        return [Check(info, arrays) for info, arrays in zip(self.infos, self.operands, strict=True)]

    @property
    def all_pass(self) -> Any:
        """One boolean, where the arrays are."""
        return all_passed(self._checks)

    def unpacked(self) -> tuple[RuntimeAssertion, ...]:
        """Each check by itself."""
        apart = [
            one
            for check in self._checks
            for one in (unpack(*check) if isinstance(check.info, Record) else [check])
        ]
        return tuple(map(RuntimeAssertion.of, apart))
