"""Checks inside compiled code.

Compiled code has fixed sizes and can't raise. `runtime_assert` states what must hold; on its own
it does nothing. `with_runtime_assertions` makes a function return the checks that it came by as
data, from inside of any transform, to be inspected, and where a check carries a fix, repaired,
on the host.
"""

from instar.core.assertion.collecting import (
    UncollectableError,
    is_collecting,
    restate,
    runtime_assert,
    with_runtime_assertions,
)
from instar.core.assertion.interpreter import install as _install
from instar.core.assertion.runtime_assertion import RuntimeAssertion

__all__ = [
    "RuntimeAssertion",
    "UncollectableError",
    "is_collecting",
    "restate",
    "runtime_assert",
    "with_runtime_assertions",
]

_install()
