"""Work that needs ten times the memory that a process may have: planned, and all at once.

The process may take two GiB more than it holds after its imports. Frames are read from a file,
the budget is found from the limit, and the peak is the one that was predicted, or below.
"""

from __future__ import annotations

import math
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np
from memory_programs import PARTICLES, pairs

from instar.memory import Programs, evaluate, show
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


def planned(path: Path, name: str) -> None:
    frames = np.memmap(path, np.float32, "r", shape=SHAPE)
    few = np.arange(0, FRAMES, FRAMES // 50)
    expected = np.asarray(jax.jit(values)(np.array(frames[few])))
    whole = Programs(values).need(jax.ShapeDtypeStruct(SHAPE, np.float32)).bytes
    most = limit(name)
    found = evaluate(FUNCTION, Sample(frames, edges=Edges.all_pairs(PARTICLES)))
    outcome, plan = found.outcome, found.outcome.plan
    taken = outcome.measured_peak
    assert taken is not None
    np.testing.assert_allclose(found.value[few], expected, rtol=1e-5, atol=1e-5)
    print(f"{name} = {show(most)}, {show(MORE)} more than held; all frames at once: {show(whole)}")
    print(plan)
    verdict = "ok" if taken <= outcome.predicted_peak and not outcome.events else "MISSED"
    print(f"{'measured peak':16}{show(taken)} of {show(outcome.predicted_peak)} predicted")
    print(f"{len(few)} frames equal those computed directly   {verdict}")


def unplanned(path: Path, name: str) -> None:
    frames = np.memmap(path, np.float32, "r", shape=SHAPE)
    jax.block_until_ready(jax.jit(values)(np.array(frames[:10])))
    limit(name)
    try:
        jax.block_until_ready(jax.jit(values)(frames))
    except jax.errors.JaxRuntimeError as error:
        print(f"{name}, not planned: {str(error).splitlines()[0]}   ok")
    else:
        print(f"{name}, not planned: it finished   MISSED")


def hard_limits() -> None:
    with tempfile.TemporaryDirectory() as folder:
        room, size = shutil.disk_usage(folder).free, 4 * math.prod(SHAPE)
        if room < 2 * size:
            raise SystemExit(f"The frames take {show(size)}, but {folder} has {show(room)} left.")
        path = Path(folder) / "frames.raw"
        trajectory(path)
        for name in LIMITS:
            for way in ("planned", "unplanned"):
                print(flush=True)
                subprocess.run([sys.executable, __file__, way, str(path), name], check=False)


if __name__ == "__main__":
    {"planned": planned, "unplanned": unplanned}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
