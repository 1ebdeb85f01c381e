"""Propagators, ``(key, state) -> state``: how they compose, and how the host drives them."""

from instar.core.propagator.advance import Repair, advance, compilations, program, scan_steps
from instar.core.propagator.composition import Propagator, loop, palindrome, sequence, switch
from instar.core.propagator.settling import propagate_and_fix

__all__ = [
    "Propagator",
    "Repair",
    "advance",
    "compilations",
    "loop",
    "palindrome",
    "program",
    "propagate_and_fix",
    "scan_steps",
    "sequence",
    "switch",
]
