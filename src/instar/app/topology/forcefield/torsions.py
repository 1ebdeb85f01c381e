"""Which torsions a graph of bonds has, and in which order the atoms of an improper stand.

The rules are those of OpenMM, whose force fields say by ``ordering`` which of them they mean.
OpenMM finds the order once for every four types, from the first such atoms of a file; here each
improper is ordered by itself, so that molecules don't depend on those before them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ase.data import atomic_masses, atomic_numbers

from instar.app.topology.forcefield.parameters import Definition

__all__ = ["Graph", "improper", "proper"]


@dataclass(frozen=True)
class Graph:
    """Atoms by row: type, element, residue, row in the residue's template; and their bonds."""

    types: list[str]
    elements: list[str]
    residues: list[int]
    template_rows: list[int]
    bonds: list[tuple[int, int]]
    neighbors: list[list[int]]

    def named(self, atoms: tuple[int, ...]) -> tuple[str, ...]:
        """The types of atoms."""
        return tuple(self.types[atom] for atom in atoms)

    def angles(self) -> list[tuple[int, int, int]]:
        """Every two neighbors of an atom, with it in the middle."""
        return [
            (a, center, b)
            for center, bonded in enumerate(self.neighbors)
            for a, b in itertools.combinations(bonded, 2)
        ]

    def propers(self) -> list[tuple[int, int, int, int]]:
        """Every path of four different atoms, once."""
        return [
            (a, b, c, d)
            for b, c in self.bonds
            for a in self.neighbors[b]
            for d in self.neighbors[c]
            if a != c and d not in (a, b)
        ]

    def impropers(self) -> list[tuple[int, int, int, int]]:
        """Every three neighbors of an atom, which stands first."""
        return [
            (center, *three)
            for center, bonded in enumerate(self.neighbors)
            for three in itertools.combinations(bonded, 3)
        ]


def proper(definitions: list[Definition], types: tuple[str, ...]) -> Definition | None:
    """The first definition without a wildcard, else the first."""
    fitting = [definition for definition in definitions if definition.fits(types)]
    return next((d for d in fitting if not d.wildcard), fitting[0] if fitting else None)


def improper(
    definitions: list[Definition], atoms: tuple[int, int, int, int], graph: Graph
) -> tuple[Definition, tuple[int, ...]] | None:
    """The definition for a center and three neighbors, and the order of the four in its term.

    The last one without a wildcard holds, else the first.
    """
    found: tuple[Definition, tuple[int, ...]] | None = None
    for definition in definitions:
        if found is not None and definition.wildcard:
            continue
        order = _fitting(definition, atoms, graph)
        if order is not None:
            found = definition, _ORDERS[definition.ordering](definition, order, graph)
    return found


def _fitting(
    definition: Definition, atoms: tuple[int, int, int, int], graph: Graph
) -> tuple[int, int, int, int] | None:
    """The center, then its neighbors in the first order that the definition is for."""
    for a, b, c in itertools.permutations(atoms[1:]):
        order = (atoms[0], a, b, c)
        if definition.fits_in_order(graph.named(order)):
            return order
    return None


Four = tuple[int, int, int, int]


def _default_order(definition: Definition, atoms: Four, graph: Graph) -> Four:
    """Carbon before other elements, heavy before light, and equal ones by their number."""
    center, a, b, last = atoms
    first, second = graph.elements[a], graph.elements[b]
    if first == second:
        a, b = min(a, b), max(a, b)
    elif first != "C" and (second == "C" or _mass(first) < _mass(second)):
        a, b = b, a
    return a, b, center, last


def _mass(element: str) -> float:
    return float(atomic_masses[atomic_numbers[element]]) if element else 0.0


def _charmm_order(definition: Definition, atoms: Four, graph: Graph) -> Four:
    """As the definition has it, with the center first, where it leaves no choice."""
    return _default_order(definition, atoms, graph) if definition.wildcard else atoms


def _amber_order(definition: Definition, atoms: Four, graph: Graph) -> Four:
    """Neighbors that can't be told apart in the order of their residues and templates."""
    center, *three = atoms
    alike = graph.elements if definition.wildcard else graph.types
    first, second, last = alike[three[0]], alike[three[1]], alike[three[2]]
    if first == last:
        _sort(three, 0, 2, graph)
    if second == last:
        _sort(three, 1, 2, graph)
    if first == second or definition.wildcard:
        _sort(three, 0, 1, graph)
    return three[0], three[1], center, three[2]


def _sort(atoms: list[int], one: int, other: int, graph: Graph) -> None:
    def rank(row: int) -> tuple[int, int]:
        return graph.residues[atoms[row]], graph.template_rows[atoms[row]]

    if rank(one) > rank(other):
        atoms[one], atoms[other] = atoms[other], atoms[one]


_ORDERS = {"default": _default_order, "charmm": _charmm_order, "amber": _amber_order}
