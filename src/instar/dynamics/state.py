"""`DynamicState`: what a step changes, as tables. Every kind of dynamics has one of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax
from jax import Array

from instar.core.data import Table
from instar.core.typing import SystemId

__all__ = ["DynamicState", "check_state"]


class DynamicState:
    """A table of systems, tables of what belongs to them, and a step number; abstract.

    A kind of dynamics derives a dataclass from it that has these fields, and its own tables.
    ``step`` is the number of the next step; ``observed`` holds what is measured on the way. Columns
    of ``systems`` that steps, random numbers and containment rely on:

        stream      (systems,) uint32: names the random numbers of a system
        frozen      (systems,) whether the system could not make a step and is left as it was before
        frozen_at   (systems,) uint32: the step that could not be made

    Every other table has a column ``system``, an Index[SystemId]. Where it also has ``number``
    (which one of its system a row is) and ``suspect``, containment notes there which rows were no
    longer finite.
    """

    CHANGED: ClassVar[tuple[str, ...]] = ("systems", "step")
    """Fields that steps change: what a checkpoint holds."""
    ADVICE: ClassVar[str] = ""
    """What to do about systems that explode."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    systems: Table[SystemId, Any]
    step: Array
    observed: Any

    @property
    def dtype(self) -> Any:
        """The precision."""
        raise NotImplementedError(f"{type(self).__name__} does not say its precision.")

    def vital(self) -> Mapping[str, Any]:
        """Columns that must stay finite, by the name of their table; "systems" is one of them."""
        raise NotImplementedError(f"{type(self).__name__} does not say what must stay finite.")

    def accounted(self, stored: Array) -> DynamicState:
        """The state with the energy (systems,) in eV that its step stores, if that is kept."""
        return self

    @property
    def makes_strides(self) -> bool:
        """Whether it is faster to make several steps before it is looked at."""
        return False

    def stride(self, step: Any, key: Array, first: Any, last: Any) -> tuple[Any, Any]:
        """The state after one or more steps, of which ``last`` is not made, and the next number."""
        return step(jax.random.fold_in(key, first), self), first + 1

    @property
    def sizes(self) -> dict[str, int]:
        """Room that may grow while it runs, by name."""
        return {}

    def resized(self, sizes: Mapping[str, int]) -> DynamicState:
        """The state with room as it was elsewhere (`sizes`)."""
        if sizes:
            raise ValueError(f"{type(self).__name__} has no room called {next(iter(sizes))}.")
        return self

    def with_columns[S: DynamicState](self: S, table: str, **columns: Any) -> S:
        """The state with other columns of one of its tables."""
        known = getattr(self, table)
        data = dataclasses.replace(known.data, **columns)
        return self.with_tables({table: data})

    def with_tables[S: DynamicState](self: S, data: Mapping[str, Any]) -> S:
        """The state with other data in some of its tables."""
        changed: dict[str, Any] = {
            name: dataclasses.replace(getattr(self, name), data=new) for name, new in data.items()
        }
        return dataclasses.replace(self, **changed)

    def with_systems[S: DynamicState](self: S, **columns: Any) -> S:
        """The state with other columns of systems."""
        return self.with_columns("systems", **columns)


def check_state(state: object) -> None:
    """Refuse what is not a state, such as the structures that one is made of."""
    if not isinstance(state, DynamicState):
        raise TypeError(
            f"A state, such as instar.md_state makes of structures, is needed; not {state!r:.100}."
        )
