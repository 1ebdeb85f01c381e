"""`over_frames`: a function over a long trajectory, with its plan and progress on the screen."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from instar import memory
from instar.app.run.progress import Progress, in_notebook, progress_of
from instar.memory import Event, Plan, Watcher, show

__all__ = ["over_frames"]

if TYPE_CHECKING:
    OfFrame = Callable[[Any], Any]
else:
    OfFrame = Any  # what is none is refused in words

_WIDE = tuple(map(np.dtype, ("float64", "complex128", "int64", "uint64")))


def over_frames(
    function: OfFrame,
    frames: Any,
    *,
    budget: str | int | float | None = None,
    progress: bool | Progress | Callable[[int, int], None] | None = None,
    reduce: str | Callable[[Any, Any], Any] | None = None,
    initial: Any = None,
    out: Any = None,
) -> Any:
    """A function of one frame, for every frame of a trajectory, in batches that fit into memory.

    Parameters
    ----------
    function
        A state function, or anything that takes one frame and returns arrays. A failed check
        inside of it raises; if it carries a repair, the function is repaired and grows.
    frames
        An array with one row per frame, in memory, mapped from a file, or a dataset of HDF5; a
        dictionary or tuple of such arrays; or, for a state function, a `Sample` of them, whose
        edges may serve all frames. Frames in double precision are computed in it.
    budget
        "8 GiB", "60 %" of what is left, bytes, or None for all memory that is left.
    progress
        True to show it (a bar on a terminal and in a notebook, else lines on standard error),
        False for none, None to show it on a terminal and in a notebook; or a function that is
        called with what is done and with all there is to do (frames).
    reduce
        "sum", "mean", "min", "max", or ``f(carry, value) -> carry`` with ``initial``; without it
        the values of all frames are returned, or written to ``out``.
    initial
        The first carry of a function that reduces.
    out
        Arrays, memory maps or datasets of the right shape to write values to.

    Returns
    -------
    tree of arrays
        What the function returns, with an axis of frames in front; or reduced over it.

    Raises
    ------
    MemoryPlanError
        If one frame does not fit into the budget.
    FrameError
        If frames are not rows of arrays of one length.

    Examples
    --------
    >>> import numpy as np
    >>> import instar
    >>> frames = np.arange(12.0).reshape(4, 3)
    >>> print(instar.over_frames(lambda row: row.sum(), frames, progress=False))
    [ 3. 12. 21. 30.]
    """
    leaves = jax.tree.leaves(frames)
    wide = any(map(_is_wide, [*leaves, *jax.tree.leaves(initial)]))
    total = int(leaves[0].shape[0]) if leaves and getattr(leaves[0], "shape", ()) else 0
    precision = jax.enable_x64(True) if wide else contextlib.nullcontext()
    with precision, _watcher(progress, total) as watcher:
        return memory.over_frames(
            function,
            frames,
            budget=budget,
            reduce=reduce,
            initial=initial,
            out=out,
            watcher=watcher,
        ).value


def _is_wide(leaf: Any) -> bool:
    kind = getattr(leaf, "dtype", None)
    return isinstance(kind, np.dtype) and kind.newbyteorder("=") in _WIDE


class _Told(Watcher):
    """Tells whatever shows the progress of runs."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        progress.counted = "frame"

    def __enter__(self) -> _Told:
        self._progress.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.__exit__(*error)

    def planned(self, plan: Plan) -> None:
        self._progress.say(_headline(plan, self._total))

    def done(self, frames: int) -> None:
        self._progress.update(frames, self._total, "", {}, "")

    def happened(self, event: Event) -> None:
        self._progress.say(f"{event.kind}: {event.text}")


class _Shown(Watcher):
    """The plan in a line, then a bar."""

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._bar = Bar(
            TextColumn("[progress.description]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("frames"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._bar.add_task("evaluating", total=total)

    def __enter__(self) -> _Shown:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def planned(self, plan: Plan) -> None:
        self._console.print(_headline(plan, self._total), highlight=False)

    def done(self, frames: int) -> None:
        self._bar.update(self._task, completed=frames)

    def happened(self, event: Event) -> None:
        self._console.print(f"{event.kind}: {event.text}", highlight=False)


def _headline(plan: Plan, total: int) -> str:
    frames = max((shape.sizes["frames"] for shape in plan.shapes), default=0)
    count = len(plan.batches)
    return (
        f"{total} frames in {count} batch{'es' * (count != 1)} of {frames}; predicted peak "
        f"{show(plan.predicted_peak)} of {show(plan.budget.bytes)} ({plan.budget.source})"
    )


def _watcher(
    progress: bool | Progress | Callable[[int, int], None] | None, total: int
) -> _Told | _Shown:
    if progress in (True, None) and sys.stderr.isatty() and not in_notebook():
        return _Shown(Console(stderr=True), total)
    return _Told(progress_of(progress), total)
