"""Key classes, protocols of data that has a certain column, and what NumPy makes an array of.

The key classes cost nothing at run time; they let a type checker reject
``systems[particle_index]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jax import Array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from instar.core.data import Index
else:
    # What is none is refused in words; and NumPy's own, taken literally as checks at run time do,
    # leaves out plain numbers and nested tuples.
    ArrayLike = Any

__all__ = [
    "ArrayLike",
    "ExclusionId",
    "GroupId",
    "HasLabels",
    "HasPositions",
    "HasSystem",
    "InclusionId",
    "Label",
    "MotifId",
    "ParticleId",
    "SystemId",
]


class SystemId(int):
    """Key of a system."""

    __slots__ = ()


class ParticleId(int):
    """Key of a particle."""

    __slots__ = ()


class GroupId(int):
    """Key of a group of particles, such as a molecule."""

    __slots__ = ()


class MotifId(int):
    """Key of a motif: the template that groups of one kind are copies of."""

    __slots__ = ()


class InclusionId(int):
    """Key of an inclusion class: particles that interact with each other."""

    __slots__ = ()


class ExclusionId(int):
    """Key of an exclusion class: particles that do not interact with each other."""

    __slots__ = ()


class Label(str):
    """Name of a kind, such as a species."""

    __slots__ = ()


@runtime_checkable
class HasSystem(Protocol):
    """Rows that belong to a system."""

    @property
    def system(self) -> Index[SystemId]:
        """The system of each row; out of bounds where the row is free."""
        ...


@runtime_checkable
class HasPositions(Protocol):
    """Rows that have a place in space."""

    @property
    def positions(self) -> Array:
        """Positions (Å), one row of coordinates each."""
        ...


@runtime_checkable
class HasLabels(Protocol):
    """Rows that are of a named kind."""

    @property
    def labels(self) -> Index[Label]:
        """The kind of each row."""
        ...
