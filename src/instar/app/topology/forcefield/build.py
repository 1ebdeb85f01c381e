"""A PDB file and a force field as a topology."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms

from instar.app.config.units import quantity
from instar.app.topology.base import Entries, Place, Term, Topology
from instar.app.topology.forcefield.links import find_links
from instar.app.topology.forcefield.options import ForceFieldOptions
from instar.app.topology.forcefield.parameters import (
    Definition,
    Nonbonded,
    Parameters,
    read_parameters,
)
from instar.app.topology.forcefield.pdb import PdbFile, read_pdb
from instar.app.topology.forcefield.templates import Match, matched
from instar.app.topology.forcefield.torsions import Graph, improper, proper
from instar.app.topology.forcefield.xml import ForceField, read_files

__all__ = ["read_force_field"]

_EVERYWHERE = 1000.0  # Å: a cutoff that no pair without a cell reaches


def read_force_field(path: Path, options: ForceFieldOptions) -> Topology:
    """Structure and potential of a PDB file."""
    force_field = read_files(options.files)
    parameters = read_parameters(force_field)
    pdb = read_pdb(path)
    links = find_links(pdb)
    matches = matched(pdb, links, force_field)
    graph = _graph(pdb, matches, links.between, force_field)
    atoms = _atoms(pdb, matches, graph, force_field, parameters.nonbonded)
    bonded = _Bonded(graph, parameters, options, pdb.place)
    waters = _waters(pdb, graph) if options.rigid_water else []
    entries = bonded.entries(waters)
    nonbonded = _nonbonded(atoms, parameters.nonbonded, options, pdb.place)
    return Topology(atoms, [*nonbonded, *entries, *_exclusions(graph, parameters.nonbonded)])


def _graph(
    pdb: PdbFile, matches: list[Match], between: list[tuple[int, int]], force_field: ForceField
) -> Graph:
    types, residues, rows = [], [], []
    bonds = set(between)
    for residue, match in zip(pdb.residues, matches, strict=True):
        first = residue.atoms[0].index
        places = {row: first + n for n, row in enumerate(match.rows)}
        bonds |= {_sorted(places[a], places[b]) for a, b in match.template.bonds}
        types += [match.template.atoms[row].type for row in match.rows]
        residues += [residue.index] * len(residue.atoms)
        rows += match.rows
    neighbors: list[list[int]] = [[] for _ in types]
    for a, b in sorted(bonds):
        neighbors[a].append(b)
        neighbors[b].append(a)
    elements = [force_field.types[name].element or "" for name in types]
    ordered = [sorted(bonded) for bonded in neighbors]
    return Graph(types, elements, residues, rows, sorted(bonds), ordered)


def _sorted(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def _atoms(
    pdb: PdbFile,
    matches: list[Match],
    graph: Graph,
    force_field: ForceField,
    nonbonded: Nonbonded,
) -> Atoms:
    own = [match.template.atoms[row].charge for match in matches for row in match.rows]
    charges = []
    for name, charge in zip(graph.types, own, strict=True):
        found = charge if nonbonded.from_residue else None
        found = nonbonded.charges.get(name) if found is None else found
        if nonbonded.factors is not None and (found is None or name not in nonbonded.lennard_jones):
            what = "charge" if found is None else "entry in <NonbondedForce>"
            raise pdb.place.error(f"the atom type {name!r} has no {what} in the force field.")
        charges.append(found or 0.0)
    periodic = pdb.cell is not None
    atoms = Atoms(
        [element or "X" for element in graph.elements],
        pdb.positions,
        cell=pdb.cell,
        pbc=periodic,
        masses=[force_field.types[name].mass for name in graph.types],
        charges=charges,
    )
    atoms.set_array("labels", np.array(graph.types, str))
    return atoms


class _Bonded:
    """Terms between the atoms of a graph of bonds."""

    def __init__(
        self, graph: Graph, parameters: Parameters, options: ForceFieldOptions, place: Place
    ) -> None:
        self.graph, self.parameters, self.place = graph, parameters, place
        self.constraints = options.constraints
        self.found: dict[tuple[Any, ...], Definition | None] = {}

    def entries(self, waters: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
        entries = Entries()
        rigid = {center for center, _, _ in waters}
        for pair in self.graph.bonds:
            self.bond(entries, pair, rigid)
        for triple in self.graph.angles():
            if triple[1] not in rigid:
                self.add(entries, self.needed("angle", triple), triple)
        for definitions in self.parameters.torsions:
            self.torsions(entries, definitions.propers, definitions.impropers)
        for water in waters:
            self.water(entries, water)
        return entries.mappings()

    def torsions(
        self, entries: Entries, propers: list[Definition], impropers: list[Definition]
    ) -> None:
        seen: dict[tuple[str, ...], Definition | None] = {}
        for four in self.graph.propers() if propers else ():
            types = self.graph.named(four)
            if types not in seen:
                seen[types] = proper(propers, types)
            self.add(entries, seen[types], four)
        for four in self.graph.impropers() if impropers else ():
            match = improper(impropers, four, self.graph)
            if match is not None:
                self.add(entries, *match)

    def add(self, entries: Entries, definition: Definition | None, atoms: tuple[int, ...]) -> None:
        for term in definition.terms if definition else ():
            entries.add(term, atoms)

    def bond(self, entries: Entries, pair: tuple[int, int], rigid: set[int]) -> None:
        if rigid & set(pair):
            return
        definition = self.needed("bond", pair)
        hydrogen = "H" in (self.graph.elements[atom] for atom in pair)
        if self.constraints == "allbonds" or (self.constraints == "hbonds" and hydrogen):
            length = definition.terms[0].parameters["r0"]
            entries.add(Term("distance_constraint", {"r0": length}), pair)
        else:
            self.add(entries, definition, pair)

    def water(self, entries: Entries, water: tuple[int, int, int]) -> None:
        center, one, other = water
        lengths = [self.needed("bond", (center, h)).terms[0].parameters["r0"] for h in (one, other)]
        if not math.isclose(*lengths):
            text = "a water molecule has bonds of two lengths."
            raise self.place.error(text, "Set rigid_water=False.")
        angle = self.needed("angle", (one, center, other)).terms[0].parameters["theta0"]
        across = 2 * lengths[0] * math.sin(angle / 2)
        entries.add(Term("rigid_water", {"oh": lengths[0], "hh": across}), water)

    def needed(self, what: str, atoms: tuple[int, ...]) -> Definition:
        """The first definition for these atoms; there must be one."""
        types = self.graph.named(atoms)
        if types not in self.found:
            known = self.parameters.bonds if what == "bond" else self.parameters.angles
            self.found[types] = next((d for d in known if d.fits(types)), None)
        definition = self.found[types]
        if definition is None:
            raise self.place.error(
                f"the force field has no {what} for the types {' - '.join(types)}.",
                "Add it; where there should be none, add one of stiffness 0.",
            )
        return definition


def _waters(pdb: PdbFile, graph: Graph) -> list[tuple[int, int, int]]:
    """Residues of one oxygen that is bonded to two hydrogens, and to nothing else."""
    found = []
    for residue in pdb.residues:
        indices = [atom.index for atom in residue.atoms]
        rows = sorted(indices, key=lambda row: graph.elements[row] == "H")
        formula = [graph.elements[row] for row in rows]
        if formula == ["O", "H", "H"] and graph.neighbors[rows[0]] == rows[1:]:
            found.append((rows[0], rows[1], rows[2]))
    return found


def _nonbonded(
    atoms: Atoms, nonbonded: Nonbonded, options: ForceFieldOptions, place: Place
) -> list[dict[str, Any]]:
    if nonbonded.factors is None:
        return []
    periodic = bool(atoms.pbc.any())
    if periodic and options.cutoff is None:
        raise place.error("there is a cell, so a cutoff is needed: read_topology(..., cutoff=10).")
    given = _EVERYWHERE if options.cutoff is None else options.cutoff
    cutoff = quantity(given, (0, 1, 0, 0, 0, 0))
    present = sorted(set(atoms.arrays["labels"].tolist()))
    entry: dict[str, Any] = {
        "type": "lennard_jones",
        "cutoff": cutoff,
        "truncation": options.truncation,
        "mixing": "lorentz_berthelot",
        "parameters": {name: nonbonded.lennard_jones[name] for name in present},
    }
    if options.inner is not None:
        entry["inner"] = options.inner
    if periodic:
        return [entry, {"type": "coulomb", "accuracy": options.accuracy}]
    return [entry, {"type": "cutoff_coulomb", "cutoff": _EVERYWHERE, "method": "plain"}]


def _exclusions(graph: Graph, nonbonded: Nonbonded) -> list[dict[str, Any]]:
    if nonbonded.factors is None or not graph.bonds:
        return []
    pair, coulomb = nonbonded.factors
    bonds = [list(bond) for bond in graph.bonds]
    factors = {"pair": [0.0, 0.0, pair], "coulomb": [0.0, 0.0, coulomb], "bonds": bonds}
    return [{"type": "exclusions"} | factors]
