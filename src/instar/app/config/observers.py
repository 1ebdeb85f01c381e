"""``observe:`` of a configuration: what a run measures on the way."""

from __future__ import annotations

import collections
from typing import Any

from instar.app.config.base import ConfigurationError
from instar.app.config.entries import Entries
from instar.observables.entry import OBSERVERS, Observation

__all__ = ["OBSERVER_ENTRIES", "observations_of"]


def _class_of(name: str, target: Any) -> type[Observation]:
    """An observation is its own entry."""
    return target


OBSERVER_ENTRIES = Entries("observe", OBSERVERS, _class_of)
"""What validates the list under ``observe:``."""


def observations_of(given: Any) -> tuple[Observation, ...]:
    """What is to be observed; each under a name of its own."""
    if given is None:
        return ()
    if not isinstance(given, list):
        raise ConfigurationError("must be a list of entries, each with a type")
    found = OBSERVER_ENTRIES.validated(given)
    names = collections.Counter(one.title for one in found)
    twice = [
        (("observe", number), f"two observers are called {one.title!r}; give one of them a name")
        for number, one in enumerate(found)
        if names[one.title] > 1
    ]
    if twice:
        raise ConfigurationError(f"observe: {twice[0][1]}", twice)
    return tuple(found)
