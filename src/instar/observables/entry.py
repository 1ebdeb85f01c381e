"""`Observation`: one item under ``observe:`` of a configuration, and how functions become one.

    @observed("radius_of_gyration", unit="angstrom")
    def radius_of_gyration(state):
        '''√(Σ m |r − R|²/M) of all particles of a system.'''
        ...

is all that a quantity of one's own needs to be averaged in a run: a function of the state with one
number per system. What is not an average of numbers is a class of its own:

    @observation("radial_distribution")
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class RadialObservation(Observation): ...
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import jax
import numpy as np

from instar.core.lens import Lens
from instar.core.utils.declaration import Option, declare, option, options_of, record
from instar.observables.finding import Finding, Value
from instar.observables.observer import Observer
from instar.observables.running_blocks import RunningBlocks
from instar.observables.selection import ObserverError

__all__ = [
    "OBSERVERS",
    "Observation",
    "for_each_system",
    "observation",
    "observed",
    "unknown_labels",
]

OBSERVERS = "instar.observers"
"""The group of entry points for observers."""


def _plain_name(name: str | None) -> str | None:
    """A name that can be one of a file."""
    if name is not None and not re.fullmatch(r"\w([\w .+-]{0,78}[\w+])?", name):
        raise ValueError(
            "a name is made of letters, digits, spaces and _ . + -, and has 80 of them at most"
        )
    return name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Observation:
    """Something that a run measures on the way, over all looks of its production; abstract."""

    NAME: ClassVar[str] = ""
    MEASURES: ClassVar[str] = ""
    """The quantity, where a report would take it from frames if nothing had observed it."""

    every: int = option("steps between two looks", default=10, least=1, most=2**31)
    name: str | None = option(
        "what it is called in results; its type if left out", default=None, check=_plain_name
    )

    @property
    def title(self) -> str:
        """What it is called in results."""
        return self.name or self.NAME

    @property
    def fewest_looks(self) -> int:
        """How often it must look to find anything."""
        return 1

    def least_bytes(self, particles: int, itemsize: int) -> int:
        """Bytes that its observer holds at least, for numbers of so many bytes."""
        return 0

    def check(self, structures: Any) -> list[str]:
        """What keeps it from being measured in these structures.

        They have columns ``labels`` (atoms,) and ``periodic`` (structures, 3).
        """
        return []

    def made(self, state: Any, place: Lens[Any, Any]) -> Observer:
        """The observer of a state, at a place in it."""
        raise NotImplementedError(f"{type(self).__name__} observes nothing.")

    def found(self, observer: Any, interval: float | None) -> Finding:
        """What it has found; looks are ``interval`` apart (internal units), None: without time."""
        raise NotImplementedError(f"{type(self).__name__} finds nothing.")


def observation[T: Observation](name: str) -> Callable[[type[T]], type[T]]:
    """Decorator: a class of observations gets a name in configurations."""

    def decorate(cls: type[T]) -> type[T]:
        cls.NAME = name
        return declare(OBSERVERS, name, cls, options_of(cls))

    return decorate


def observed(
    name: str, unit: str = "", **options: Option
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for ``f(state, **options) -> (systems,)``: its mean and standard error.

    Values are in internal units and shown in ``unit``; ``options`` are further keys of the entry.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        about = {
            "FUNCTION": staticmethod(function),
            "UNIT": unit,
            "OPTIONS": tuple(options),
            "NAME": name,
            "__doc__": function.__doc__,
            "__module__": function.__module__,
        }
        cls = record(function.__name__, options, (_Averaged,), about)
        declare(OBSERVERS, name, cls, options_of(cls))
        return function

    return decorate


@dataclasses.dataclass(frozen=True)
class _Bound:
    """A function of the state with its options; equal to another of the same."""

    function: Callable[..., Any]
    options: tuple[tuple[str, Any], ...]

    def __call__(self, state: Any) -> Any:
        return self.function(state, **dict(self.options))


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Averaged(Observation):
    """The mean of a function of the state."""

    FUNCTION: ClassVar[Callable[..., Any]]
    UNIT: ClassVar[str]
    OPTIONS: ClassVar[tuple[str, ...]]

    def made(self, state: Any, place: Lens[Any, Any]) -> Observer:
        """Running averages, for each system."""
        options = tuple((key, getattr(self, key)) for key in self.OPTIONS)
        function = _Bound(type(self).FUNCTION, options)
        shapes = [leaf.shape for leaf in jax.tree.leaves(jax.eval_shape(function, state))]
        if shapes != [(len(state.systems),)]:
            raise ObserverError(
                f"There are {len(state.systems)} systems, but the function gave arrays of shapes "
                f"{shapes}: it must give one number per system."
            )
        return RunningBlocks.of(function, state)

    def found(self, observer: Any, interval: float | None) -> Finding:
        """Mean and standard error by blocking."""
        average = observer.result()
        return Finding(values={self.title: Value(average.mean, average.error, self.UNIT)})


def unknown_labels(labels: Sequence[str | None], structures: Any) -> list[str]:
    """A sentence for each label that no atom has."""
    known = sorted({str(name) for name in structures.labels})
    return [
        f"no atom is labelled {label!r}; there are {', '.join(known)}"
        for label in labels
        if label is not None and label not in known
    ]


def for_each_system(x: np.ndarray, systems: int) -> np.ndarray:
    """The same x for each system."""
    return np.broadcast_to(x, (systems, len(x)))
