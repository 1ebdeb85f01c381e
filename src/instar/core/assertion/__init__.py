"""Checks inside compiled code.

Compiled code has fixed sizes and can't raise. `runtime_assert` states what must hold; on its own
it does nothing. `with_runtime_assertions` makes a function return the checks that it came by as
data, from inside of any transform, to be inspected, and where a check carries a fix, repaired,
on the host.
"""

from instar.core.assertion.collecting import (
    UncollectableError,
    collect,
    is_collecting,
    runtime_assert,
    with_outcome,
    with_runtime_assertions,
)
from instar.core.assertion.rewriting.interpreter import install as _install
from instar.core.assertion.runtime_assertion import Collected, RuntimeAssertion

__all__ = [
    "Collected",
    "RuntimeAssertion",
    "UncollectableError",
    "collect",
    "is_collecting",
    "runtime_assert",
    "with_outcome",
    "with_runtime_assertions",
]

_install()
