"""PDB files: atoms, residues, the cell, and bonds that are written down."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from ase.data import atomic_numbers
from ase.geometry import cellpar_to_cell

from instar.app.topology.base import Place

__all__ = ["PdbAtom", "PdbFile", "Residue", "read_pdb"]


@dataclass(frozen=True)
class PdbAtom:
    """One atom as it stands in the file."""

    index: int
    name: str
    element: str


@dataclass(frozen=True)
class Residue:
    """Consecutive atoms of one residue; ``chain`` counts what TER or another letter ends."""

    place: Place
    index: int
    name: str
    number: str
    letter: str
    chain: int
    atoms: list[PdbAtom] = field(default_factory=list)

    def __str__(self) -> str:
        return f"residue {self.name} {self.number} of chain {self.letter or '-'}"

    def named(self, name: str) -> PdbAtom | None:
        """Its atom of that name."""
        return next((atom for atom in self.atoms if atom.name == name), None)


@dataclass(frozen=True)
class PdbFile:
    """Residues, positions (Å), the cell if there is one, and pairs of atoms from CONECT."""

    place: Place
    residues: list[Residue]
    positions: np.ndarray
    cell: np.ndarray | None
    links: set[tuple[int, int]]


class _Reader:
    """What has been read so far."""

    def __init__(self, path: Path) -> None:
        self.place = Place(path)
        self.residues: list[Residue] = []
        self.positions: list[list[float]] = []
        self.cell: np.ndarray | None = None
        self.serials: dict[str, int | None] = {}
        self.links: set[tuple[int, int]] = set()
        self.chain = 0
        self.models = 0

    def line(self, row: str) -> None:
        record = row[:6].strip()
        if record in ("ATOM", "HETATM"):
            self.atom(row)
        elif record == "TER":
            self.chain += 1
        elif record == "CRYST1":
            self.cell = self.box(row)
        elif record == "CONECT":
            self.connect(row)
        elif record == "MODEL":
            self.models += 1
            if self.models > 1:
                raise self.place.error("there is more than one MODEL.", "Keep one of them.")

    def atom(self, row: str) -> None:
        if len(row.rstrip()) < 54:
            raise self.place.error("the line ends before the coordinates do (column 54).")
        residue = self.residue(row)
        name = row[12:16].strip()
        if residue.named(name) is not None:
            if row[16] != " ":  # another location of an atom that is there
                return
            raise self.place.error(f"{residue} has two atoms {name}.", "Number its residues.")
        serial, index = row[6:11].strip(), len(self.positions)
        self.serials[serial] = None if serial in self.serials else index
        residue.atoms.append(PdbAtom(index, name, self.element(row)))
        self.positions.append([self.number(row, 30 + 8 * a, 38 + 8 * a) for a in range(3)])

    def residue(self, row: str) -> Residue:
        name, letter, number = row[17:21].strip(), row[21].strip(), row[22:27].strip()
        last = self.residues[-1] if self.residues else None
        same = last and (last.name, last.letter, last.number, last.chain) == (
            name,
            letter,
            number,
            self.chain,
        )
        if last is not None and same:
            return last
        if last is not None and last.letter != letter and last.chain == self.chain:
            self.chain += 1
        place, index = self.place, len(self.residues)
        self.residues.append(Residue(place, index, name, number, letter, self.chain))
        return self.residues[-1]

    def element(self, row: str) -> str:
        symbol = row[76:78].strip().capitalize()
        if symbol in atomic_numbers:
            return symbol
        letters = row[12:16].strip().lstrip("0123456789").rstrip("0123456789+-")
        ion = letters.upper() == row[17:21].strip().rstrip("0123456789+-").upper()
        pair = letters[:2] if ion else row[12:14]
        if _is_element(pair) and (ion or (row[12] != " " and letters[:1] != "H")):
            return pair.capitalize()
        if letters[:1].upper() in atomic_numbers:
            return letters[0].upper()
        raise self.place.error(
            f"the element of the atom {row[12:16].strip()!r} is not known.",
            "Write its symbol into columns 77 and 78.",
        )

    def number(self, row: str, first: int, last: int) -> float:
        try:
            value = float(row[first:last])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.place.error(
                f"{row[first:last].strip()!r} is not a number (columns {first + 1} to {last})."
            )
        return value

    def box(self, row: str) -> np.ndarray | None:
        columns = [(6, 15), (15, 24), (24, 33), (33, 40), (40, 47), (47, 54)]
        values = [self.number(row, *column) for column in columns]
        if values[:3] in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0]):  # what stands for no cell
            return None
        if min(values) <= 0:
            raise self.place.error("a length or an angle of the cell is not above 0.")
        return np.asarray(cellpar_to_cell(values))

    def connect(self, row: str) -> None:
        words = [row[6 + 5 * n : 11 + 5 * n].strip() for n in range(5)]
        rows = [self.serial(word) for word in words if word]
        self.links |= {(min(rows[0], other), max(rows[0], other)) for other in rows[1:]}

    def serial(self, word: str) -> int:
        if word not in self.serials:
            raise self.place.error(f"there is no atom {word}.")
        row = self.serials[word]
        if row is None:
            raise self.place.error(f"there are several atoms {word}.", "Renumber them.")
        return row


def _is_element(text: str) -> bool:
    return len(text.strip()) == 2 and text.capitalize() in atomic_numbers


def read_pdb(path: Path) -> PdbFile:
    """A PDB file by its fixed columns; of several locations of an atom the first."""
    reader = _Reader(path)
    rows = path.read_text(encoding="utf-8", errors="replace").splitlines()
    connections = [(n, row) for n, row in enumerate(rows) if row.startswith("CONECT")]
    others = [(n, row) for n, row in enumerate(rows) if not row.startswith("CONECT")]
    for number, row in [*others, *connections]:
        reader.place = Place(path, number + 1)
        reader.line(row)
    if not reader.positions:
        raise Place(path).error("there are no atoms.")
    positions = np.array(reader.positions, float)
    return PdbFile(Place(path), reader.residues, positions, reader.cell, reader.links)
