"""Frames from wherever they are: arrays, memory maps, datasets of HDF5, arrays on a device."""

from __future__ import annotations

import math
import mmap
from typing import Any

import jax
import numpy as np

__all__ = ["padded_frames"]

ALIGNMENT = 64
"""Bytes; an array that starts at a multiple is used by the CPU's programs as it is."""

PIECE = 16 * 2**20
"""Bytes that are read from a file at a time."""


def padded_frames(source: Any, frames: range, length: int) -> Any:
    """Some frames on the device, the last of them repeated up to ``length``.

    They are read into memory that the CPU's programs use without another copy.
    """
    if isinstance(source, jax.Array):
        taken = source[frames.start : frames.stop]
        missing = length - len(frames)
        room = [(0, missing), *[(0, 0)] * (taken.ndim - 1)]
        return jax.numpy.pad(taken, room, mode="edge") if missing else taken
    native = np.dtype(source.dtype).newbyteorder("=")
    buffer = _aligned((length, *source.shape[1:]), native)
    part = slice(frames.start, frames.stop)
    if hasattr(source, "read_direct"):
        source.read_direct(buffer, part, slice(0, len(frames)))
    else:
        _read(source, part, buffer)
    buffer[len(frames) :] = buffer[len(frames) - 1]
    return jax.device_put(buffer)


def _read(source: Any, part: slice, buffer: np.ndarray) -> None:
    """Copy a part of the frames, some at a time, so that a file's pages are few."""
    row = max(1, math.prod(buffer.shape[1:]) * buffer.dtype.itemsize)
    some = max(1, PIECE // row)
    for start in range(part.start, part.stop, some):
        end = min(start + some, part.stop)
        buffer[start - part.start : end - part.start] = source[start:end]
        _let_go(source)


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


def _let_go(source: Any) -> None:
    """Pages of a file that were read need not stay: they would count as memory of the process."""
    if not isinstance(source, np.memmap) or source.mode not in ("r", "r+"):
        return  # pages of a private map may hold changes
    base: Any = source
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
