"""PDB: one file per system, whose models are the frames.

Cells are written as lengths and angles, so that a system is turned with a cell that does not have
its first vector along x and its second in the xy plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ase.data import chemical_symbols

from instar.app.results.export.format import ExportError, export_format, path_of
from instar.app.results.export.frames import Frames, frames_of, lengths_and_cosines
from instar.app.results.trajectory import Trajectory

__all__ = ["pdb", "write_pdb"]

_LOWEST, _HIGHEST = -999.9994, 9999.9994
"""Coordinates (Å) that take at most eight columns with three digits behind the point."""

_LONGEST = 99999.9994
"""A length of a cell (Å) that takes at most nine columns."""


@export_format("pdb")
def pdb(trajectory: Trajectory, folder: Path) -> list[Path]:
    """All frames of each system: elements, positions to 0.001 Å, cells."""
    paths = []
    for system in trajectory.recorded:
        paths.append(path_of(folder, trajectory, system, "pdb"))
        write_pdb(paths[-1], frames_of(trajectory, system), system)
    return paths


def write_pdb(path: Path, frames: Frames, system: int, count: int | None = None) -> None:
    """Write frames as models: all of them, or the first ``count``."""
    some = range(len(frames.steps))[:count]
    _check(frames, system, some)
    with open(path, "w", encoding="ascii") as file:
        for frame in some:
            file.writelines(f"{line}\n" for line in _model(frames, system, frame))


def _model(frames: Frames, system: int, frame: int) -> Iterator[str]:
    """One frame; its title tells the time (ps) as GROMACS writes and reads it.

    ASE takes every line that begins with END for the end of a frame, so that there is none
    beside ENDMDL.
    """
    yield f"TITLE     system {system} t= {frames.times[frame]:.5f} step= {frames.steps[frame]}"
    if frames.cells is not None:
        yield _cell(frames.cells[frame])
    yield f"MODEL     {frame + 1:4}"
    symbols = [chemical_symbols[number] for number in frames.numbers]
    for number, (symbol, place) in enumerate(zip(symbols, frames.positions[frame], strict=True), 1):
        x, y, z = place.tolist()
        yield (
            f"HETATM{number % 100_000:5} {symbol:>2}   MOL A   1    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {symbol.upper():>2}"
        )
    yield "ENDMDL"


def _cell(cell: np.ndarray) -> str:
    lengths, cosines = lengths_and_cosines(cell)
    a, b, c = lengths.tolist()
    alpha, beta, gamma = np.degrees(np.arccos(cosines)).tolist()
    return f"CRYST1{a:9.3f}{b:9.3f}{c:9.3f}{alpha:7.2f}{beta:7.2f}{gamma:7.2f} P 1           1"


def _check(frames: Frames, system: int, some: range) -> None:
    """Refuse what does not fit into the columns of the format."""
    positions = frames.positions[some.start : some.stop]
    outside = ~((positions >= _LOWEST) & (positions <= _HIGHEST))
    if outside.any():
        frame, atom, axis = np.argwhere(outside)[0]
        raise ExportError(
            f"Atom {atom} of system {system} is at {'xyz'[axis]} = "
            f"{positions[frame, atom, axis]:.3f} Å in frame {frame}, which does not fit into the "
            "columns of a PDB file (-999.999 to 9999.999 Å).\n"
            "Export to extxyz or h5md, which have no such limit."
        )
    if frames.cells is not None and (longest := _longest(frames.cells)) > _LONGEST:
        raise ExportError(
            f"The cell of system {system} is {longest:.3f} Å long, which does not fit into the "
            "columns of a PDB file (at most 99999.999 Å).\n"
            "Export to extxyz or h5md, which have no such limit."
        )


def _longest(cells: np.ndarray) -> float:
    return float(np.linalg.norm(cells, axis=-1).max())
