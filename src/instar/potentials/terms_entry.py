"""Terms between named atoms as an entry of a configuration: bonds, angles, constraints."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.core.utils.declaration import Option, option, options_of, record
from instar.potentials.entry import Entry
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.structures import Structures

__all__ = ["PlacedEntry", "countable", "terms_entry"]


_MOST = 2**31 - 1
"""Numbers of atoms and of structures are not larger."""


def countable[T](value: T) -> T:
    """Refuse numbers that no atom and no structure can have, within lists of any depth."""
    if (largest := _largest(value)) > _MOST:
        raise ValueError(f"there is nothing with the number {largest}")
    return value


def _largest(value: Any) -> int:
    return max(map(_largest, value), default=0) if isinstance(value, tuple) else value or 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlacedEntry(Entry):
    """Something between atoms that are counted within a structure, from 0; abstract.

    It holds for each of the ``structures`` that are named by number, for all if none is named.
    With ``molecule``, a number of atoms, it is that of one molecule of so many, and holds for
    every molecule of a structure that is made of such molecules, one after the other.
    """

    structures: tuple[int, ...] | None = option(
        "numbers of the structures that it is for; all if left out",
        default=None,
        least=0,
        check=countable,
    )
    molecule: int | None = option(
        "atoms of one molecule, if it holds for every molecule",
        default=None,
        least=1,
        check=countable,
    )

    def check_numbers(self, count: int) -> None:
        """Refuse structures with a number that there is not."""
        for number in self.structures or ():
            if number >= count:
                raise PotentialError(
                    f"{self.NAME}: there is no structure {number}; there are {count}, counted "
                    "from 0."
                )

    def among(self, chosen: Sequence[int]) -> PlacedEntry:
        """For some of the structures; numbers that there are not would be lost."""
        if self.structures is None:
            return self
        kept = tuple(chosen.index(n) for n in self.structures if n in chosen)
        return dataclasses.replace(self, structures=kept)

    def chosen(self, structures: Structures) -> list[int]:
        """The numbers of the structures that it is for."""
        count = len(structures)
        if self.structures is None or count == 0:
            return list(range(count))
        self.check_numbers(count)
        return sorted(set(self.structures))

    def placed(
        self, structures: Structures, atoms: Sequence[Sequence[int]], columns: int
    ) -> Index[ParticleId]:
        """The particles of all terms wherever they hold, (places · terms, columns)."""
        local = np.array(atoms, np.int64).reshape(-1, columns)
        for number in self.chosen(structures):
            self._check(local, number, int(self.molecule or structures.counts[number]))
        rows = self._first_atoms(structures)[:, None, None] + local[None]
        rows = rows.reshape(-1, columns).astype(np.int32)
        return Index.integer(rows, n=len(structures.positions), label=ParticleId)

    def repeated(self, structures: Structures, values: Sequence[Any]) -> np.ndarray:
        """One value (or row of values) per term, in the order of `placed`."""
        column = np.array(values, np.float64)
        places = len(self._first_atoms(structures))
        return np.tile(column, (places, *(1,) * (column.ndim - 1)))

    def _first_atoms(self, structures: Structures) -> np.ndarray:
        """The first atom of each place where the terms hold: a structure, or a molecule."""
        chosen = self.chosen(structures)
        if self.molecule is None:
            return structures.starts[chosen]
        for number in chosen:
            if structures.counts[number] % self.molecule:
                raise PotentialError(
                    f"{self.NAME}: structure {number} has {structures.counts[number]} atoms, which "
                    f"are not a whole number of molecules of {self.molecule}.\nName the structures "
                    "that the terms are for: structures: [...]."
                )
        ranges = [
            structures.starts[number] + np.arange(0, structures.counts[number], self.molecule)
            for number in chosen
        ]
        return np.concatenate([np.zeros(0, np.int64), *ranges])

    def _check(self, atoms: np.ndarray, number: int, count: int) -> None:
        if atoms.size and atoms.max() >= count:
            term = int(np.argmax((atoms >= count).any(axis=1)))
            raise PotentialError(
                f"{self.NAME}: term {term} is between the atoms {atoms[term].tolist()}, but "
                f"{'a molecule' if self.molecule else f'structure {number}'} has {count} atoms, "
                "counted from 0.\nName the structures that the terms are for: structures: [...]."
            )
        ordered = np.sort(atoms, axis=1)
        same = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if same.any():
            term = int(np.argmax(same))
            raise PotentialError(
                f"{self.NAME}: term {term} names an atom twice: {atoms[term].tolist()}."
            )


def terms_entry(
    potential: type[Any], columns: int, bonds: Sequence[tuple[int, int]] = ()
) -> type[Entry]:
    """The entry of a potential with ``atoms`` (terms, columns) and one parameter per term.

    ``bonds`` are the columns between which there is a bond.
    """
    name = potential.__name__
    example = list(range(columns))
    atoms = Option(
        f"{columns} atoms, counted from 0",
        kind=tuple[int, ...],
        convert=_atoms(columns),
        example=example,
    )
    check = getattr(potential, "check_term", None)
    term = record(
        f"{name}Term",
        {"atoms": atoms, **options_of(potential)},
        namespace={} if check is None else {"__post_init__": check},
    )
    terms = Option(
        "one row of atoms and parameters per term", kind=tuple[term, ...], convert=_listed
    )
    about = {"POTENTIAL": potential, "COLUMNS": columns, "BONDS": tuple(bonds)}
    return record(f"{name}Entry", {"terms": terms}, (TermsEntry,), about)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TermsEntry(PlacedEntry):
    """Terms of one kind, each with its atoms and parameters."""

    POTENTIAL: ClassVar[type[Any]]
    COLUMNS: ClassVar[int]
    BONDS: ClassVar[tuple[tuple[int, int], ...]]

    def made(self, structures: Structures, shortest: float) -> Potential:
        """The potential with all terms, wherever they hold."""
        terms = self._terms
        atoms = self.placed(structures, [term.atoms for term in terms], self.COLUMNS)
        columns = {
            name: self.repeated(structures, [getattr(term, name) for term in terms])
            for name in options_of(self.POTENTIAL)
        }
        return self.POTENTIAL(atoms, **columns)

    def bonded_pairs(self) -> list[tuple[int, int]]:
        """The two atoms of each bond."""
        return [(term.atoms[a], term.atoms[b]) for term in self._terms for a, b in self.BONDS]

    @property
    def _terms(self) -> Any:
        return getattr(self, "terms")  # noqa: B009 (a field of the classes that are made)


def _atoms(count: int) -> Callable[[Any], tuple[int, ...]]:
    """So many different atoms, counted within a structure from 0."""

    def checked(value: Any) -> tuple[int, ...]:
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != count:
            raise ValueError(f"{count} atoms are needed, such as {list(range(count))}")
        for atom in value:
            whole = hasattr(atom, "__index__") and not isinstance(atom, bool)
            if not whole or not 0 <= operator.index(atom) <= _MOST:
                raise ValueError(f"atoms are whole numbers, counted from 0; {atom!r} is none")
        if len(set(value)) < count:
            raise ValueError(f"an atom is named twice: {list(value)}")
        return tuple(operator.index(atom) for atom in value)

    return checked


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of terms is needed")
    return value
