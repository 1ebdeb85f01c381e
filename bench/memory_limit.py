"""Work that needs ten times the memory that a process may have: in batches, and all at once.

    make bench          (or: .venv/bin/python bench/memory_limit.py)

The process may take two GiB more than it holds after its imports. Frames are read from a file,
the budget is found from the limit, and the peak is the one that was predicted, or below.
"""

from __future__ import annotations

import dataclasses
import math
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from memory_programs import PARTICLES, pairs
from record import figure, written

from instar.memory import Evaluated, Programs, find_budget, over_frames, plan_work, run, show
from instar.memory.frames import FramesWork, frames_of
from instar.statefunc import Edges, Sample, derivative

FRAMES, MORE = 220_000, 2 * 2**30
SHAPE = FRAMES, PARTICLES, 3
LIMITS = {"RLIMIT_DATA": "VmData", "RLIMIT_AS": "VmSize"}
FUNCTION = derivative(pairs)


def values(frames: jax.Array) -> jax.Array:
    return FUNCTION(Sample(frames, edges=Edges.all_pairs(PARTICLES)))


def trajectory(path: Path) -> np.memmap:
    """Frames as a file, written some at a time."""
    frames = np.memmap(path, np.float32, "w+", shape=SHAPE)
    draw = np.random.default_rng(0)
    for start in range(0, FRAMES, 10_000):
        part = frames[start : start + 10_000]
        part[:] = draw.normal(0, 1.5, part.shape)
    frames.flush()
    return frames


def limit(name: str) -> int:
    """Forbid more than the process holds now, and two GiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    held = next(int(line.split()[1]) for line in status if line.startswith(LIMITS[name])) * 1024
    resource.setrlimit(getattr(resource, name), (held + MORE, held + MORE))
    return held + MORE


def in_largest_batches(frames: Sample) -> Evaluated:
    """What `over_frames` does, in batches as large as fit instead of such as are fast."""
    budget = find_budget()
    work = FramesWork(FUNCTION, frames_of(frames, FUNCTION))
    one = work.value_of_one()
    found = np.empty((FRAMES, *one.shape), one.dtype)

    def consume(items: range, value: Any) -> None:
        found[items.start : items.stop] = np.asarray(value)[: len(items)]

    work = dataclasses.replace(work, held=found.nbytes)
    return Evaluated(found, run(work, plan_work(work, budget), consume))


def in_batches(way: Callable[[Sample], Evaluated], path: Path, name: str) -> None:
    frames = np.memmap(path, np.float32, "r", shape=SHAPE)
    few = np.arange(0, FRAMES, FRAMES // 50)
    expected = np.asarray(jax.jit(values)(np.array(frames[few])))
    whole = Programs(values).need(jax.ShapeDtypeStruct(SHAPE, np.float32)).bytes
    most = limit(name)
    found = way(Sample(frames, edges=Edges.all_pairs(PARTICLES)))
    outcome, taken = found.outcome, found.outcome.measured_peak
    assert taken is not None
    np.testing.assert_allclose(found.value[few], expected, rtol=1e-5, atol=1e-5)
    print(f"{name} = {show(most)}, {show(MORE)} more than held; all frames at once: {show(whole)}")
    print(outcome.plan)
    verdict = "ok" if taken <= outcome.predicted_peak and not outcome.events else "MISSED"
    print(f"{'measured peak':16}{show(taken)} of {show(outcome.predicted_peak)} predicted")
    print(f"{len(few)} frames equal those computed directly   {verdict}")


def all_at_once(path: Path, name: str) -> None:
    frames = np.memmap(path, np.float32, "r", shape=SHAPE)
    jax.block_until_ready(jax.jit(values)(np.array(frames[:10])))
    limit(name)
    try:
        jax.block_until_ready(jax.jit(values)(frames))
    except jax.errors.JaxRuntimeError as error:
        print(f"{name}, all at once: {str(error).splitlines()[0]}   ok")
    else:
        print(f"{name}, all at once: it finished   MISSED")


def hard_limits() -> None:
    with tempfile.TemporaryDirectory() as folder:
        room, size = shutil.disk_usage(folder).free, 4 * math.prod(SHAPE)
        if room < 2 * size:
            raise SystemExit(f"The frames take {show(size)}, but {folder} has {show(room)} left.")
        path = Path(folder) / "frames.raw"
        trajectory(path)
        for name, way in RUNS:
            print(flush=True)
            command = [sys.executable, __file__, way, str(path), name]
            ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            print(ended.stdout, end="")
            if ended.returncode:
                print(f"{name}, {way}: it failed   MISSED")
            kept = ended.returncode == 0 and "MISSED" not in ended.stdout
            figure(f"{name}, {way}: keeps to its limit", int(kept), 1, said=ended.stdout)


WAYS: dict[str, Callable[[Path, str], None]] = {
    "in batches": partial(in_batches, partial(over_frames, FUNCTION)),
    "largest batches": partial(in_batches, in_largest_batches),
    "all at once": all_at_once,
}

RUNS = [("RLIMIT_DATA", way) for way in WAYS]
RUNS += [("RLIMIT_AS", way) for way in ("in batches", "all at once")]


if __name__ == "__main__":
    if sys.argv[1:]:
        WAYS[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
    else:
        with written("memory_limit"):
            hard_limits()
