"""`Kind`: what a run asks of a kind of method. Molecular dynamics is one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ase import Atoms

from instar.app.config import Loaded
from instar.app.config.methods import Method
from instar.dynamics import DynamicState, Part
from instar.observables import Quantity

__all__ = ["Kind"]


class Kind:
    """States and steps of one kind of method, for a configuration; abstract."""

    METHOD: ClassVar[type[Method]]
    """The model of ``method:`` in configurations."""
    THERMO: ClassVar[Mapping[str, Quantity]]
    """The columns of the thermo table."""
    FRAME: ClassVar[Mapping[str, Quantity]]
    """The columns that a frame may have."""
    TELLS_END: ClassVar[bool] = False
    """Whether the last step has a row of thermo even where it is none of ``thermo_every``."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    def check(self) -> None:
        """Refuse what can't be run at all, before anything is planned."""

    def estimate(self, systems: range) -> int:
        """Bytes that these systems take at least: to see what can't fit without trying."""
        raise NotImplementedError

    def state(self, systems: range, blocks: int | None = None) -> DynamicState:
        """These systems at their beginning; what `ready` computes is still missing.

        ``blocks`` is in how many they move (`blocks_of`); left out, what is fastest.
        """
        raise NotImplementedError

    def blocks_of(self, state: Any) -> int:
        """In how many blocks the systems of a state move; 0 if they move together."""
        return 0

    def steps(self, systems: range) -> tuple[Part, ...]:
        """The step of each stage."""
        raise NotImplementedError

    def ready(self, state: Any) -> Any:
        """The state with all that a first step needs, where that does not make it (`prepares`)."""
        return state

    def placed(self, state: Any) -> Any:
        """The state on the devices where steps leave it."""
        raise NotImplementedError

    def structures(self, state: Any, systems: range) -> list[Atoms]:
        """These systems as they are now, with velocities if they have some."""
        raise NotImplementedError

    def thermo_row(self) -> Callable[[Any], dict[str, Any]]:
        """A function of the state: a row of the thermo table, in internal units."""
        raise NotImplementedError

    def frame(self) -> Callable[[Any], dict[str, Any]]:
        """A function of the state: a frame as it was asked for, in internal units."""
        raise NotImplementedError

    @property
    def frame_columns(self) -> dict[str, Quantity]:
        """The columns of frames that were asked for."""
        raise NotImplementedError
