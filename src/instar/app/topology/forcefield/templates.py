"""Residues of a PDB file matched to those of a force field.

A template fits if its atoms have the names and elements of the residue's, and the same atoms have
bonds to other residues. Where no names agree, the graph of bonds is compared: that of CONECT, else
of atoms that are near each other. Of several that fit, the one with the residue's name is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from ase.data import atomic_numbers, covalent_radii

from instar.app.topology.base import TopologyError
from instar.app.topology.forcefield.links import Links, near
from instar.app.topology.forcefield.pdb import PdbFile, Residue
from instar.app.topology.forcefield.xml import ForceField, Template

__all__ = ["Match", "matched"]


@dataclass(frozen=True)
class Match:
    """A template, and the row in it of each atom of a residue."""

    template: Template
    rows: tuple[int, ...]


def matched(pdb: PdbFile, links: Links, force_field: ForceField) -> list[Match]:
    """The template of each residue."""
    by_formula: dict[tuple[str, ...], list[Template]] = {}
    for template in force_field.templates.values():
        by_formula.setdefault(_formula(template, force_field), []).append(template)
    seen: dict[tuple[object, ...], Match] = {}
    matches = []
    for residue in pdb.residues:
        outside = tuple(links.external[atom.index] for atom in residue.atoms)
        named = tuple((atom.name, atom.element) for atom in residue.atoms)
        key = (residue.name, named, outside, _local(links, residue))
        if key not in seen:
            formula = tuple(sorted(atom.element for atom in residue.atoms))
            fits = _fits(pdb, residue, links, by_formula.get(formula, []), force_field)
            seen[key] = _chosen(residue, fits, force_field)
        matches.append(seen[key])
    return matches


def _formula(template: Template, force_field: ForceField) -> tuple[str, ...]:
    return tuple(sorted(_elements(template, force_field)))


def _elements(template: Template, force_field: ForceField) -> list[str]:
    found = []
    for atom in template.atoms:
        if atom.type not in force_field.types:
            raise template.place.error(
                f"the residue {template.name!r} has an atom of the type {atom.type!r}, which is "
                "not among the <AtomTypes>.",
                "Name the file that has it as well.",
            )
        found.append(force_field.types[atom.type].element or "")
    return found


def _local(links: Links, residue: Residue) -> tuple[tuple[int, int], ...]:
    """Bonds within a residue that are written down, counted from its first atom."""
    first = residue.atoms[0].index
    inside = links.inside.get(residue.index, ())
    return tuple(sorted((a - first, b - first) for a, b in inside))


def _fits(
    pdb: PdbFile, residue: Residue, links: Links, templates: list[Template], force_field: ForceField
) -> list[Match]:
    external = [links.external[atom.index] for atom in residue.atoms]
    found = []
    for template in templates:
        rows = _by_names(residue, template, force_field, external)
        if rows is not None:
            found.append(Match(template, rows))
    if found or not templates:
        return found
    bonds = _local(links, residue) or _near(pdb, residue)
    elements = [atom.element for atom in residue.atoms]
    graph = _Graph(elements, external, bonds)
    for template in templates:
        counts = Counter(template.external)
        theirs = _Graph(
            _elements(template, force_field),
            [counts[row] for row in range(len(template.atoms))],
            tuple(template.bonds),
        )
        rows = next(_isomorphisms(graph, theirs), None)
        if rows is not None:
            found.append(Match(template, rows))
    return found


def _by_names(
    residue: Residue, template: Template, force_field: ForceField, external: list[int]
) -> tuple[int, ...] | None:
    places = {atom.name: row for row, atom in enumerate(template.atoms)}
    elements, counts = _elements(template, force_field), Counter(template.external)
    rows = []
    for atom, outside in zip(residue.atoms, external, strict=True):
        row = places.get(atom.name)
        if row is None or elements[row] != atom.element or counts[row] != outside:
            return None
        rows.append(row)
    return tuple(rows)


def _near(pdb: PdbFile, residue: Residue) -> tuple[tuple[int, int], ...]:
    """Atoms of a residue that are as near as bonded ones: within 1.25 of the sum of their radii."""
    rows = [atom.index for atom in residue.atoms]
    radii = np.array([covalent_radii[atomic_numbers[atom.element]] for atom in residue.atoms])
    first, second = np.triu_indices(len(rows), 1)
    distances = near(pdb, np.array(rows)[first], np.array(rows)[second])
    bonded = distances < 1.25 * (radii[first] + radii[second])
    return tuple((int(a), int(b)) for a, b in zip(first[bonded], second[bonded], strict=True))


class _Graph:
    """Atoms as nodes that are told apart by element, bonds to the outside, and neighbors."""

    def __init__(
        self, elements: list[str], external: list[int], bonds: tuple[tuple[int, int], ...]
    ) -> None:
        self.neighbors: list[set[int]] = [set() for _ in elements]
        for a, b in bonds:
            self.neighbors[a].add(b)
            self.neighbors[b].add(a)
        rows = zip(elements, external, self.neighbors, strict=True)
        own = [(element, outside, len(bonded)) for element, outside, bonded in rows]
        self.colors = [(own[n], tuple(sorted(own[m] for m in ms))) for n, ms in self._items()]

    def _items(self) -> list[tuple[int, set[int]]]:
        return list(enumerate(self.neighbors))

    def order(self) -> list[int]:
        """Every node, each after one of its neighbors where that is possible."""
        order: list[int] = []
        left = list(range(len(self.neighbors)))
        while left:
            frontier = {m for n in order for m in self.neighbors[n]}
            node = next((n for n in left if n in frontier), left[0])
            left.remove(node)
            order.append(node)
        return order


def _isomorphisms(graph: _Graph, other: _Graph) -> Iterator[tuple[int, ...]]:
    """For each node of the one its node in the other, such that bonds go to bonds."""
    if sorted(graph.colors) != sorted(other.colors):
        return
    order = graph.order()
    chosen: dict[int, int] = {}

    def extended(depth: int) -> Iterator[tuple[int, ...]]:
        if depth == len(order):
            yield tuple(chosen[n] for n in range(len(order)))
            return
        node = order[depth]
        for image in range(len(order)):
            if image in chosen.values() or graph.colors[node] != other.colors[image]:
                continue
            placed = graph.neighbors[node] & chosen.keys()
            if all(chosen[n] in other.neighbors[image] for n in placed):
                chosen[node] = image
                yield from extended(depth + 1)
                del chosen[node]

    yield from extended(0)


def _chosen(residue: Residue, fits: list[Match], force_field: ForceField) -> Match:
    named = [match for match in fits if match.template.name == residue.name] or fits
    if not named:
        raise _no_match(residue, force_field)
    if len({_meaning(match) for match in named}) > 1:
        names = ", ".join(match.template.name for match in named)
        raise residue.place.error(
            f"{residue} matches several residues of the force field: {names}.",
            "Give it the name of the one that is meant.",
        )
    template = named[0].template
    if template.unsupported is not None:
        raise template.place.error(
            f"<{template.unsupported}> of the residue {template.name!r} is not supported.",
            "Take a force field whose residues are atoms and bonds only.",
        )
    return named[0]


def _meaning(match: Match) -> tuple[object, ...]:
    atoms = [match.template.atoms[row] for row in match.rows]
    return tuple((atom.type, atom.charge) for atom in atoms)


def _no_match(residue: Residue, force_field: ForceField) -> TopologyError:
    template = force_field.templates.get(residue.name)
    advice = "Add what is missing (often hydrogens or CONECT records), or name its XML file."
    if force_field.patches:
        advice += " The force field has patches, which are not applied."
    if template is None:
        return residue.place.error(
            f"{residue} matches no residue of the force field, and none has its name.", advice
        )
    ours = {atom.name for atom in residue.atoms}
    theirs = {atom.name for atom in template.atoms}
    missing, more = sorted(theirs - ours), sorted(ours - theirs)
    details = [f"it lacks {', '.join(missing)}"] if missing else []
    details += [f"it has {', '.join(more)} too many"] if more else []
    reason = "; ".join(details) or "its bonds to other residues are not those of the force field"
    text = f"{residue} matches no residue of the force field: {reason}."
    return residue.place.error(text, advice)
