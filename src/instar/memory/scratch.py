"""What routines of the CPU take beside the buffers that the compiler reports.

Sorts, the largest of a row, Fourier transforms and factorisations work in memory of their own;
products pack their operands first. Counted is what they allocate, though not all of it is always
touched. The rules are held against measured memory in ``bench/memory.py``; a GPU's libraries ask
the compiler for their room, so it reports all of it.
"""

from __future__ import annotations

import collections
import math
import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from instar.core.utils.jax_compat import sorts_pairs_as_pairs

__all__ = ["runtime_bytes", "scratch_bytes"]

RUNTIME, THREAD = 4 * 2**20, 2**19
"""Code that is read when it is first run, and small blocks that are kept for the next time; in
all, and for each core."""

LIBRARIES = {"products": 12 * 2**20, "factorisations": 8 * 2**20}
"""Kernels and buffers that a library makes once and keeps."""

SORTED_VALUE, SORTED_LIST = 16, 40
"""Bytes that a general sort takes for a value, whatever its own size; and for each place once its
values, more than four, are held in a list."""

GATHERED = 2**16
"""Pairs that are apart in memory are gathered before they are sorted, up to this many."""

BY_ONE_THREAD = 2**18
"""Products of fewer terms are multiplied by one thread, within a small block."""

ONE_SLICE, FILLING = 128, 2**11
"""Up to so many terms a product's sums are packed as a whole, for all rows and columns; these
are filled up to whole blocks, by half of them or so many at most."""

SLICE, WIDE_SLICE = 320, 480
"""Longer sums are packed in slices, one while another is multiplied, of at most so many terms;
the second number is that of single precision. How many it really are depends on the caches."""

LINES = 16
"""Lines of a Fourier transform that a thread takes together."""

SMOOTH, CHIRP = 50, 9
"""Lengths with a larger prime factor are transformed by a convolution, in so many lines."""

COPIES = {"syevd": 2, "heevd": 2, "gesdd": 4, "geev": 3, "gees": 2}
"""Square matrices that a factorisation works in."""

PANEL = 64
"""Columns that other factorisations work in."""

_LINE = re.compile(r"%(\S+) = (\(.*?\)|\S+) ([\w-]+)\((.*)")
_SHAPE = re.compile(r"\b([a-z]+)(\d+)?\w*\[([\d,]*)\](?:\{(\d+))?")
_OPERAND = re.compile(r"%([^\s,)]+)")
_LAPACK = re.compile(r'custom_call_target="lapack_[sdcz]([a-z]+)')


class _Shape(NamedTuple):
    kind: str
    itemsize: int
    dims: tuple[int, ...]
    nearest: int  # the axis whose neighbors are side by side in memory

    @property
    def size(self) -> int:
        return math.prod(self.dims)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize


class _Operation(NamedTuple):
    name: str
    results: list[_Shape]
    operands: list[_Shape]
    rest: str
    level: int  # products that must be done one after the other up to here

    def numbers(self, attribute: str) -> list[int]:
        """The numbers of an attribute such as ``dimensions={0}``."""
        found = re.search(rf"\b{attribute}=\{{([\d,]*)\}}", self.rest)
        return [int(n) for n in found[1].split(",") if n] if found else []


class _Scratch(NamedTuple):
    own: int
    library: str = ""


def scratch_bytes(program: str) -> int:
    """Bytes of a compiled program, given as text, that are in none of the compiler's figures."""
    each, libraries, products = [], set[str](), collections.Counter[int]()
    for operation in _operations(program):
        own, library = _RULES[operation.name](operation)
        each.append(own)
        libraries |= {library} & set(LIBRARIES)
        if operation.name == "dot":
            products[operation.level] += own
    # Each core runs an operation, and so does the thread that called; products that need not wait
    # for each other are all begun.
    largest = sum(sorted(each, reverse=True)[: _cores() + 1])
    at_once = max(largest, *products.values(), 0)
    return runtime_bytes() + at_once + sum(LIBRARIES[name] for name in libraries)


def runtime_bytes() -> int:
    """Bytes that any program takes when it is first run."""
    return RUNTIME + THREAD * _cores()


def _cores() -> int:
    return os.cpu_count() or 1


def _operations(program: str) -> Iterator[_Operation]:
    """The operations that may have scratch, with the shapes that they take and give."""
    known: dict[str, list[_Shape]] = {}
    levels: dict[str, int] = {}
    for line in program.splitlines():
        match = _LINE.search(line)
        if match is None:
            continue
        result, shapes, name, rest = match.groups()
        known[result] = [_shape(*parts) for parts in _SHAPE.findall(shapes)]
        given = _OPERAND.findall(rest.partition(")")[0])
        levels[result] = max((levels.get(each, 0) for each in given), default=0) + (name == "dot")
        operands = [shape for operand in given for shape in known.get(operand, [])]
        if name in _RULES and operands and known[result]:
            yield _Operation(name, known[result], operands, rest, levels[result])


def _shape(kind: str, bits: str, dims: str, nearest: str) -> _Shape:
    sizes = tuple(int(n) for n in dims.split(",") if n)
    return _Shape(kind, max(1, int(bits or 8) // 8), sizes, int(nearest or 0))


def _of_sort(operation: _Operation) -> _Scratch:
    """A copy of each row that is being sorted, in one thread each; without order, none."""
    shapes = operation.results
    (axis, *_), dims = operation.numbers("dimensions") or [0], shapes[0].dims
    if "is_stable=true" not in operation.rest or not dims:
        return _Scratch(0)
    length, apart = dims[axis], axis != shapes[0].nearest
    at_once = min(shapes[0].size // max(1, length), _cores())
    return _Scratch(_sorted_value(shapes, length, apart) * length * at_once)


def _sorted_value(shapes: list[_Shape], length: int, apart: bool) -> int:
    """Bytes for each place of a row: a number, a pair, or anything."""
    sizes = [shape.itemsize for shape in shapes]
    if len(shapes) == 1 and shapes[0].kind in ("s", "u"):
        return sizes[0]
    as_pairs = sorts_pairs_as_pairs() and len(shapes) == 2 and max(sizes) <= 8
    if as_pairs and (not apart or length <= GATHERED):
        return 2 * max(sizes) + (sum(sizes) if apart else 0)
    return SORTED_VALUE * len(shapes) + (SORTED_LIST if len(shapes) > 4 else 0)


def _of_product(operation: _Operation) -> _Scratch:
    """Rows and columns, packed; all products of a batch may be under way at once."""
    left, right = operation.operands[0], operation.operands[-1]
    terms = math.prod(left.dims[axis] for axis in operation.numbers("lhs_contracting_dims"))
    batch = math.prod(left.dims[axis] for axis in operation.numbers("lhs_batch_dims"))
    rows, columns = (side.size // max(1, batch * terms) for side in (left, right))
    if min(rows, columns) <= 1:
        return _Scratch(0)
    single = left.kind in ("f", "bf") and left.itemsize <= 4
    library = "products" if single else ""
    if rows * columns * terms < BY_ONE_THREAD:
        return _Scratch(0, library)
    lines = rows + columns
    if terms <= ONE_SLICE:
        packed = terms * (lines + min(FILLING, lines // 2))
    else:
        packed = 2 * min(terms, WIDE_SLICE if single else SLICE) * lines
    return _Scratch(batch * packed * left.itemsize, library)


def _of_convolution(operation: _Operation) -> _Scratch:
    return _Scratch(operation.results[0].nbytes, "products")


def _of_transform(operation: _Operation) -> _Scratch:
    """Lines in each direction, one direction after the other.

    Back to real numbers, waves are copied if there is more than one direction.
    """
    shapes = (*operation.results, *operation.operands)
    itemsize, size = (max(getattr(s, of) for s in shapes) for of in ("itemsize", "size"))
    lengths = operation.numbers("fft_length")
    copied = "fft_type=IRFFT" in operation.rest and len(lengths) > 1
    needs = [0]
    for length in lengths:
        lines = max(1, size // max(1, length))
        held = min(lines, LINES * _cores())
        if _largest_factor(length) > SMOOTH:
            held += CHIRP * min(lines, _cores())
        needs.append(held * length * itemsize)
    return _Scratch(max(needs) + (operation.operands[0].nbytes if copied else 0))


def _largest_factor(number: int) -> int:
    factor = 2
    while factor * factor <= number:
        if number % factor:
            factor += 1
        else:
            number //= factor
    return number


def _of_call(operation: _Operation) -> _Scratch:
    """The largest of each row, from their places in one row; or a factorisation.

    Matrices of a batch are factorised one after the other.
    """
    given = operation.operands[0]
    if '"TopK"' in operation.rest:
        return _Scratch(4 * given.dims[-1])
    routine = _LAPACK.search(operation.rest)
    if routine is None or not given.dims:
        return _Scratch(0)
    sides = given.dims[-2:]
    square = COPIES.get(routine[1], 0) * min(sides) ** 2
    return _Scratch((square + PANEL * max(sides)) * given.itemsize, "factorisations")


_RULES: dict[str, Callable[[_Operation], _Scratch]] = {
    "sort": _of_sort,
    "dot": _of_product,
    "convolution": _of_convolution,
    "fft": _of_transform,
    "custom-call": _of_call,
}
