"""Structure files: formats that are known to be data and nothing else, of a size that is bounded.

Some formats that ASE reads are pickles, databases, or name further files and servers. Those below
are text, or tables of numbers with JSON beside them.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["StructureFileError", "check_size", "first_line", "honest_arrays", "read_structure"]

FORMATS = (
    "aims",
    "castep-cell",
    "cfg",
    "cif",
    "crystal",
    "cube",
    "dlp4",
    "dmol-car",
    "eon",
    "espresso-in",
    "extxyz",
    "gen",
    "gromacs",
    "gromos",
    "lammps-data",
    "lammps-dump-text",
    "mol",
    "proteindatabank",
    "rmc6f",
    "sdf",
    "siesta-xv",
    "traj",
    "turbomole",
    "v-sim",
    "vasp",
    "vasp-xdatcar",
    "xsf",
    "xyz",
)
"""What ASE calls the formats that are read."""

_MOST_BYTES = 128 * 2**20
"""Of a file, unpacked."""

_MOST_LINES = 4_000_000
"""About half a minute of reading."""

_BLOCK = 2**20
_LZMA_MEMORY = 256 * 2**20


class StructureFileError(ValueError):
    """A file that no structure is read from; the message begins with its path."""


def read_structure(path: Path, frame: int | str) -> Any:
    """One structure of a file, or with a slice a list of them.

    The file must be of a known format and of a bounded size.
    """
    check_size(path)
    try:
        with warnings.catch_warnings(), honest_arrays():
            warnings.simplefilter("ignore")
            return _read(path, frame)
    except StructureFileError:
        raise
    except (Exception, RecursionError) as error:
        reason = first_line(error)
        raise StructureFileError(f"{path} can't be read: {reason}") from error


@contextlib.contextmanager
def honest_arrays() -> Iterator[None]:
    """Meanwhile ASE makes no array from JSON that claims more numbers than are written there."""
    from ase.io import jsonio

    made: Any = jsonio.create_ndarray

    def checked(shape: Any, dtype: Any, data: Any) -> Any:
        if math.prod(shape) > np.size(data) or np.dtype(dtype).itemsize > _WIDEST:
            raise ValueError(f"an array claims the shape {shape}, and has {np.size(data)} numbers")
        return made(shape, dtype, data)

    jsonio.create_ndarray = checked
    try:
        yield
    finally:
        jsonio.create_ndarray = made


_WIDEST = 16
"""Bytes of a number."""


def _read(path: Path, frame: int | str) -> Any:
    import ase.io  # takes a while, and few need it
    from ase.io.formats import filetype

    name = str(path.absolute())  # a bare name could be taken for that of a server
    kind = filetype(name)
    if kind not in FORMATS:
        raise StructureFileError(
            f"{path} is of the format {kind!r}, which is not read, as it may hold more than data; "
            f"write the structure as extxyz, cif or pdb (read are {', '.join(FORMATS)})"
        )
    _check_counts(path, kind)
    return ase.io.read(name, index=frame, format=kind, do_not_split_by_at_sign=True)


def _check_counts(path: Path, kind: str) -> None:
    """Refuse a file that says it has more atoms than lines: readers would look for all of them."""
    if kind not in _COUNTS and kind not in ("extxyz", "xyz"):
        return
    content = b"".join(_blocks(path))
    lines = content.count(b"\n") + (not content.endswith(b"\n"))
    for count in _frame_counts(content) if kind not in _COUNTS else _counts(content, kind):
        if count > lines:
            raise StructureFileError(f"{path} says it has {count} atoms, and has {lines} lines")


def _counts(content: bytes, kind: str) -> Iterator[int]:
    for match in _COUNTS[kind].finditer(content):
        yield from (int(word[:30]) for word in match[1].split())


def _frame_counts(content: bytes) -> Iterator[int]:
    """The first line of each frame of an XYZ file, up to where there is none."""
    lines, first = content.split(b"\n"), 0
    while first < len(lines) and lines[first].strip().isdigit():
        yield (count := int(lines[first][:30]))
        first += count + 2


_COUNTS = {
    "cfg": re.compile(rb"^Number of particles\s*=\s*(\d+)", re.MULTILINE),
    "cube": re.compile(rb"\A[^\n]*\n[^\n]*\n\s*-?(\d+)"),
    "gromacs": re.compile(rb"\A[^\n]*\n\s*(\d+)"),
    "lammps-data": re.compile(rb"^\s*(\d+)\s+atoms\b", re.MULTILINE),
    "lammps-dump-text": re.compile(rb"^ITEM: NUMBER OF ATOMS\s*\n\s*(\d+)", re.MULTILINE),
    "vasp": re.compile(rb"\A(?:[^\n]*\n){5}(?:[^\n]*[A-Za-z][^\n]*\n)?([ \t\d]+)\n"),
    "vasp-xdatcar": re.compile(rb"\A(?:[^\n]*\n){5}(?:[^\n]*[A-Za-z][^\n]*\n)?([ \t\d]+)\n"),
    "xsf": re.compile(rb"^\s*(?:PRIM|CONV)COORD[^\n]*\n\s*(\d+)", re.MULTILINE),
}
"""Where a file says how many atoms it has, by its format; the rest count what is there."""


def first_line(error: BaseException) -> str:
    """What an error of a reader says, briefly."""
    text = str(error).strip()
    if isinstance(error, KeyError):
        text = f"{text} is unknown"
    if not text:
        text = f"it does not hold what its format needs ({type(error).__name__})"
    return text.splitlines()[0][:300]


def check_size(path: Path) -> None:
    """Refuse what is too large, counted block by block, so that nothing large is ever held."""
    size = lines = 0
    try:
        for block in _blocks(path):
            size, lines = size + len(block), lines + block.count(b"\n")
            if size > _MOST_BYTES or lines > _MOST_LINES:
                raise StructureFileError(
                    f"{path} holds more than {_MOST_BYTES >> 20} MiB or {_MOST_LINES} lines "
                    "(unpacked); keep only the frame that is needed"
                )
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        if isinstance(error, StructureFileError):
            raise
        raise StructureFileError(f"{path} can't be read: {first_line(error)}") from error


def _blocks(path: Path) -> Iterator[bytes]:
    """The content, unpacked as ASE would by the ending of its name."""
    if path.suffix == ".xz":
        yield from _lzma_blocks(path)
        return
    opened: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
    with opened(path, "rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _lzma_blocks(path: Path) -> Iterator[bytes]:
    """As `_blocks`; the file says how much memory unpacking takes, and is not believed."""
    unpacking = lzma.LZMADecompressor(memlimit=_LZMA_MEMORY)
    with open(path, "rb") as file:
        while not unpacking.eof:
            packed = file.read(_BLOCK) if unpacking.needs_input else b""
            if unpacking.needs_input and not packed:
                raise EOFError("the file ends before its end")
            yield unpacking.decompress(packed, _BLOCK)
        if file.read(1):
            raise ValueError("there is something after its end")
