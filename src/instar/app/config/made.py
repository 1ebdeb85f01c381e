"""`Potentials`: the potential that a run needs for some of its systems, made once."""

from __future__ import annotations

from collections.abc import Sequence

from ase import Atoms

from instar.app.ase.structures import structures_of
from instar.app.config.potentials import Recipe
from instar.potentials import Potential

__all__ = ["Potentials"]


class Potentials:
    """One potential for any systems where it is general, else the last that was made for some.

    Parameters
    ----------
    recipe
        What they are made from.
    structures
        One per system.
    first
        A potential that was made for the systems in ``numbers``, among which are all that differ.
    numbers
        These systems.
    """

    def __init__(
        self,
        recipe: Recipe,
        structures: Sequence[Atoms],
        first: Potential | None = None,
        numbers: Sequence[int] = (),
    ) -> None:
        self._recipe, self._structures = recipe, structures
        self._general = first if first is not None and first.is_general else None
        self._last = None if first is None else (tuple(numbers), first)
        self.moves_centre = first is not None and first.moves_centre
        """Whether it can set the centre of mass of a system in motion."""

    def of(self, systems: Sequence[int]) -> Potential:
        """The potential of these systems; what they lack for it is a `StructureError`."""
        if self._general is not None:
            return self._general
        known = tuple(systems)
        if self._last is None or self._last[0] != known:
            self._last = None  # two of them need not fit
            some = structures_of((self._structures[n] for n in known), self._recipe.charges)
            self._last = known, self._recipe.among(known).potential(some)
        return self._last[1]
