"""`Entry`: one item under ``potential:`` of a configuration, and how a formula becomes one.

    @configured("lennard_jones")
    @dataclass
    class LennardJones(Formula):
        epsilon: Parameter = option("depth of the well", unit="eV", least=0, example=0.0104)

is all that a pair potential needs to be used from YAML; likewise a `Bonded` term or an `External`
field. What needs more than its own fields is an `Entry` of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from instar.core.utils.declaration import declare, options_of
from instar.potentials.structures import Problem, Structures

if TYPE_CHECKING:
    from instar.potentials.potential import Potential

__all__ = ["POTENTIALS", "Entry", "configured", "entry_class"]

POTENTIALS = "instar.potentials"
"""The group of entry points for potentials."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Entry:
    """An item of a configuration that becomes a potential once structures are known; abstract."""

    NAME: ClassVar[str] = ""
    CHOOSES_REACH: ClassVar[bool] = False
    """Whether it takes the reach of the others into account: it is made last."""
    OF_CHARGES: ClassVar[bool] = False
    """Whether it is the interaction of charges, of which there can be one."""

    def check(self, structures: Structures) -> list[Problem]:
        """What it needs of the structures to be made at all."""
        return []

    @property
    def foreign(self) -> str:
        """What it may start or load that is not instar's own, in words; empty if there is nothing.

        Such an entry is made only if whoever is at the keyboard says so: see `Trust`.
        """
        return ""

    def untried(self) -> Potential:
        """What stands for something foreign where it must not be made: it computes nothing."""
        raise NotImplementedError(f"{type(self).__name__} has nothing that stands for it.")

    def made(self, structures: Structures, shortest: float) -> Potential | None:
        """The potential; pairs up to ``shortest`` (Å) are visited anyway. None if it is none."""
        raise NotImplementedError(f"{type(self).__name__} makes nothing.")

    def bonded_pairs(self) -> Sequence[tuple[int, int]]:
        """Pairs of atoms, counted within a structure or molecule, that are bonded by it."""
        return ()

    def among(self, chosen: Sequence[int]) -> Entry:
        """The same for some of the structures, which are counted from 0 again."""
        return self


def configured[T](name: str) -> Callable[[type[T]], type[T]]:
    """Decorator: a formula, potential or `Entry` gets a name in configurations."""

    def decorate(cls: type[T]) -> type[T]:
        return declare(POTENTIALS, name, cls, options_of(cls))

    return decorate


def entry_class(name: str, target: Any) -> type[Entry]:
    """The entry of something that was `configured`."""
    made = target if issubclass(target, Entry) else target.entry_class()
    return type(made.__name__, (made,), {"NAME": name, "__doc__": target.__doc__})
