"""Bonds of a PDB file that are known before its residues are: CONECT, polymers, disulfides."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from ase.geometry import find_mic

from instar.app.topology.forcefield.pdb import PdbFile, Residue

__all__ = ["Links", "find_links", "near"]

_CHAINS = (("C", "N"), ("O3'", "P"))
"""Names of atoms that join a residue to the next: proteins, nucleic acids."""
_REACH = 2.5  # Å: longer than any such bond, shorter than a gap
_SULFUR = 3.0


@dataclass(frozen=True)
class Links:
    """Bonds between residues, how many each atom has, and bonds within residues from CONECT."""

    between: list[tuple[int, int]]
    external: list[int]
    inside: dict[int, list[tuple[int, int]]]


def find_links(pdb: PdbFile) -> Links:
    """Bonds between residues from CONECT, from the order of a chain, and between sulfurs."""
    owner = [residue.index for residue in pdb.residues for _ in residue.atoms]
    between = {(a, b) for a, b in pdb.links if owner[a] != owner[b]}
    between |= _close(pdb, _consecutive(pdb.residues), _REACH)
    between |= _close(pdb, _sulfurs(pdb.residues), _SULFUR)
    inside: dict[int, list[tuple[int, int]]] = {}
    for a, b in pdb.links:
        if owner[a] == owner[b]:
            inside.setdefault(owner[a], []).append((a, b))
    external = [0] * len(owner)
    for a, b in between:
        external[a] += 1
        external[b] += 1
    return Links(sorted(between), external, inside)


def near(pdb: PdbFile, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distances (Å) of pairs of atoms, to the nearest image where there is a cell."""
    offsets = pdb.positions[second] - pdb.positions[first]
    if pdb.cell is None or not len(offsets):
        return np.linalg.norm(offsets, axis=1)
    return np.asarray(find_mic(offsets, pdb.cell)[1])


def _consecutive(residues: list[Residue]) -> list[tuple[int, int]]:
    pairs = []
    for one, other in itertools.pairwise(residues):
        for end, start in _CHAINS:
            a, b = one.named(end), other.named(start)
            if one.chain == other.chain and a is not None and b is not None:
                pairs.append((a.index, b.index))
    return pairs


def _sulfurs(residues: list[Residue]) -> list[tuple[int, int]]:
    """Pairs of sulfurs of cysteines without their hydrogen."""
    free = [r.named("SG") for r in residues if r.named("SG") and not r.named("HG")]
    rows = [atom.index for atom in free if atom is not None]
    return [(a, b) for n, a in enumerate(rows) for b in rows[n + 1 :]]


def _close(pdb: PdbFile, pairs: list[tuple[int, int]], reach: float) -> set[tuple[int, int]]:
    if not pairs:
        return set()
    rows = np.array(pairs)
    distances = near(pdb, rows[:, 0], rows[:, 1])
    return {pair for pair, distance in zip(pairs, distances, strict=True) if distance < reach}
