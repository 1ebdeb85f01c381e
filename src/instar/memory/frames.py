"""A function of one frame over many: the work that `over_frames` plans and runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.memory.footprint import Sizes
from instar.memory.need import abstract
from instar.memory.padded_frames import padded_frames
from instar.memory.reduction import Reduction, folded
from instar.statefunc import Sample, StateFunction

__all__ = ["Carry", "FrameError", "Frames", "FramesWork", "frames_of", "native"]


class FrameError(ValueError):
    """Frames that can't be read, or that do not belong together."""


@dataclasses.dataclass(frozen=True)
class Frames:
    """Arrays with one row per frame, what all frames share, and how both make a frame."""

    rows: list[Any]
    shared: list[Any]
    join: Callable[[list[Any], list[Any]], Any]

    @property
    def count(self) -> int:
        """How many frames there are."""
        return int(self.rows[0].shape[0])

    def of_one(self) -> list[jax.ShapeDtypeStruct]:
        """The rows of one frame, as abstract arrays."""
        return [jax.ShapeDtypeStruct(row.shape[1:], native(row.dtype)) for row in self.rows]


def frames_of(frames: Any, function: Any) -> Frames:
    """Frames from an array, a tree of arrays, or a `Sample` whose edges may serve all frames."""
    if isinstance(frames, Sample):
        found = _of_sample(frames)
        _check_axes(function, frames.positions)
        return found
    if isinstance(frames, list):
        raise FrameError(
            "Frames are an array with one row per frame; stack a list: np.stack(list)."
        )
    leaves, structure = jax.tree.flatten(frames)
    wrap = Sample if isinstance(function, StateFunction) else _as_it_is
    found = Frames(leaves, [], lambda rows, _: wrap(jax.tree.unflatten(structure, rows)))
    _check(found)
    if isinstance(function, StateFunction):
        _check_axes(function, leaves[0])
    return found


def _check_axes(function: Any, positions: Any) -> None:
    own = 1 if isinstance(function, StateFunction) and not function.contract.on_particles else 2
    if len(positions.shape) <= own:
        raise FrameError(
            f"One frame of positions has {own} axes, and another one counts the frames; these have "
            f"the shape {tuple(positions.shape)}."
        )


def _as_it_is(frame: Any) -> Any:
    return frame


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _of_sample(sample: Sample) -> Frames:
    if sample.system is not None:
        raise FrameError(
            "A sample with a system column is one frame, not many.\nGive a function of positions "
            "that makes such a sample: lambda x: f(Sample(x, system=...))."
        )
    parts = (sample.positions, sample.velocities, dict(sample.columns), sample.mask, sample.edges)
    mask_each = sample.mask is not None and sample.mask.ndim > 1
    edges_each = sample.edges is not None and sample.edges.indices.ndim > 2
    each = (True, True, True, mask_each, edges_each)
    flat = [jax.tree.flatten(part) for part in parts]
    rows = [leaf for (leaves, _), own in zip(flat, each, strict=True) if own for leaf in leaves]
    shared = [
        leaf for (leaves, _), own in zip(flat, each, strict=True) if not own for leaf in leaves
    ]

    def join(rows: list[Any], shared: list[Any]) -> Sample:
        of_frame, of_all = iter(rows), iter(shared)
        x, v, columns, mask, edges = (
            structure.unflatten([next(of_frame if own else of_all) for _ in leaves])
            for (leaves, structure), own in zip(flat, each, strict=True)
        )
        return Sample(x, v, mask, edges, None, columns)

    found = Frames(rows, shared, join)
    _check(found)
    return found


def _check(frames: Frames) -> None:
    if not frames.rows:
        raise FrameError("There are no frames: give an array with one row per frame.")
    for row in frames.rows:
        if not _is_array(row):
            raise FrameError(f"Frames are arrays with one row per frame, not {type(row).__name__}.")
        if not row.shape:
            raise FrameError("Frames have an axis that counts them; this array has no axes.")
        if isinstance(row, np.ma.MaskedArray):
            raise FrameError("Masked arrays are not read: their masks would be lost.")
        if not _is_numeric(row.dtype):
            raise FrameError(f"Frames are numbers, not {row.dtype}.")
        if native(row.dtype) != jax.dtypes.canonicalize_dtype(native(row.dtype)):
            raise FrameError(
                f"Frames are in {row.dtype}, but double precision is switched off.\n"
                "Call under jax.enable_x64(True), or give the frames in single precision."
            )
    counts = sorted({int(row.shape[0]) for row in frames.rows})
    if len(counts) > 1:
        raise FrameError(f"All arrays have one row per frame, but there are {counts} rows.")


def native(dtype: Any) -> Any:
    """A dtype in the byte order of this machine."""
    return np.dtype(dtype).newbyteorder("=")


def _is_numeric(dtype: Any) -> bool:
    if jnp.issubdtype(dtype, jax.dtypes.extended):
        return False  # keys of random numbers
    known = np.dtype(dtype).kind in "biufc" or jnp.issubdtype(dtype, jnp.inexact)
    return bool(known) and np.dtype(dtype).itemsize <= 16 and np.dtype(dtype).char not in "gG"


class Carry:
    """A reduction's value so far; replaced after each batch."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


@dataclasses.dataclass(frozen=True)
class FramesWork:
    """Frames in batches: a value for each of them, or the carry of a reduction.

    The state is the function, if it is a tree of arrays: repairs of its checks make it grow.
    """

    function: Any
    frames: Frames
    held: int = 0
    reduction: Reduction | None = None
    carry: Carry = dataclasses.field(default_factory=Carry)

    @property
    def measures(self) -> Mapping[str, np.ndarray]:
        """Every frame counts once."""
        return {"frames": np.broadcast_to(np.int64(1), (self.frames.count,))}

    def program(self, state: Any, inputs: Any, /) -> Any:
        """Values of a batch, or the carry after it."""
        rows, shared, carry, count = inputs
        values = jax.vmap(lambda rows: self._of_frame(state, rows, shared))(rows)
        if self.reduction is None:
            return values
        return folded(self.reduction, carry, values, count)

    def abstract(self, sizes: Sizes) -> tuple[Any, Any]:
        """A batch of so many frames."""
        count = sizes["frames"]
        rows = [jax.ShapeDtypeStruct((count, *r.shape), r.dtype) for r in self.frames.of_one()]
        inputs = (rows, self.frames.shared, self.carry.value, np.int32(count))
        return abstract(self._state), abstract(inputs)

    def load(self, items: np.ndarray | range, sizes: Sizes) -> tuple[Any, Any]:
        """Frames in a row, the last repeated where there are fewer than the shape has."""
        part = range(int(items[0]), int(items[-1]) + 1)
        rows = [padded_frames(row, part, sizes["frames"]) for row in self.frames.rows]
        return self._state, (rows, self.frames.shared, self.carry.value, np.int32(len(part)))

    def grown(self, sizes: Sizes, larger: Any, repair: Callable[[Any], Any]) -> FramesWork:
        """With the function as it was repaired."""
        return dataclasses.replace(self, function=repair(self.function))

    def value_of_one(self) -> Any:
        """Shape and dtype of the value of one frame."""
        known = abstract(self._state), self.frames.of_one(), abstract(self.frames.shared)
        return jax.eval_shape(self._of_frame, *known)

    @property
    def _state(self) -> Any:
        return self.function if _is_tree(self.function) else ()

    def _of_frame(self, state: Any, rows: list[Any], shared: list[Any]) -> Any:
        function = state if _is_tree(self.function) else self.function
        return function(self.frames.join(rows, shared))


def _is_tree(function: Any) -> bool:
    """Whether a function is made of arrays and numbers, so that it can be an argument."""
    leaves = jax.tree.leaves(function)
    return all(_is_array(leaf) or isinstance(leaf, bool | int | float | complex) for leaf in leaves)
