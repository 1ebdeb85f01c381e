"""Whether one checkout is as fast as another: steps of molecular dynamics, and force passes.

    .venv/bin/python bench/checkouts.py OLD NEW [--pairs 9] [--rows nve langevin ...]

Each checkout has a worker process of its own, which imports `instar` from there. Workers take
turns, old new new old ..., one at a time. Each row prints the speed of the new one over that of
the old: the median over all pairs, the middle half of them, and the extremes; by the clock on the
wall, and by the time that processors spent, which other programs disturb less.

Lennard-Jones at ρ* = 0.8442, cutoff 2.5 σ, float64, two cores (two host devices).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BEST_OF = 10
"""Short runs of which a turn takes the fastest: other programs leave some of them alone."""


def nve(atoms: int = 4000, steps: int = 20) -> Iterator[Any]:
    """Steps of one system, on both cores."""
    from fluid import TIME_STEP, both_cores
    from md import moving

    from instar.dynamics import md

    yield from advanced(md.nve(TIME_STEP), moving([atoms], mesh=both_cores()), steps)


def langevin(atoms: int = 4000, steps: int = 20) -> Iterator[Any]:
    """The same with friction and noise."""
    from fluid import TEMPERATURE, TIME_STEP, both_cores
    from md import KELVIN, moving

    from instar.dynamics import md

    step = md.langevin(TIME_STEP, TEMPERATURE * KELVIN / 2, 1.0)
    yield from advanced(step, moving([atoms], mesh=both_cores()), steps)


def batch(systems: int = 1000, atoms: int = 64, steps: int = 4) -> Iterator[Any]:
    """NVE steps of many small systems in one state."""
    from fluid import TIME_STEP, both_cores
    from md import moving

    from instar.dynamics import md

    state = moving([atoms] * systems, steps=20, mesh=both_cores())
    yield from advanced(md.nve(TIME_STEP), state, steps)


def blocks(systems: int = 1000, atoms: int = 64, steps: int = 4) -> Iterator[Any]:
    """NVE steps of many small systems, a few at a time."""
    from fluid import TIME_STEP
    from md import copies, moving, run_blocks

    from instar.dynamics import md

    count = 40
    states = copies(moving([atoms] * (systems // count), steps=100), count)
    while True:
        states = run_blocks(md.nve(TIME_STEP), states, steps)
        yield states


def advanced(step: Any, state: Any, steps: int) -> Iterator[Any]:
    """The state after some steps, and after some more, and so on."""
    import jax

    from instar.core.propagator import advance

    state = step.begin(state)
    while True:
        state = advance(step, jax.random.key(1), state, steps, start=int(state.step))
        yield state.particles.data.positions


def force_pass(atoms: int, passes: int, **wanted: Any) -> Iterator[Any]:
    """Forces on a list that stays as it is."""
    import jax
    from fluid import POTENTIAL, both_cores, fluid, melted

    from instar.potentials import evaluate

    state = melted(fluid([atoms], 0.3, both_cores()), 50)
    compute = jax.jit(
        lambda s: evaluate(POTENTIAL, s.particles, s.systems, s.neighbors, **wanted).forces
    )
    while True:
        for _ in range(passes):
            jax.block_until_ready(compute(state))
        yield None


ROWS: dict[str, Callable[[], Iterator[Any]]] = {
    "nve": nve,
    "langevin": langevin,
    "blocks": blocks,
    "batch": batch,
    "forces-4000": lambda: force_pass(4000, 10, energy=False),
    "virial-4000": lambda: force_pass(4000, 10, virial=True),
    "forces-32000": lambda: force_pass(32_000, 2, energy=False),
    "virial-32000": lambda: force_pass(32_000, 2, virial=True),
}


# Worker --------------------------------------------------------------------------------------


def work(row: str) -> None:
    """Make a turn for every line that comes in; tell the times (s) of the fastest run."""
    sys.path.insert(0, str(Path(__file__).parent))
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax

    jax.config.update("jax_enable_x64", True)
    runs = ROWS[row]()
    jax.block_until_ready(next(runs))
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        times = [timed(lambda: jax.block_until_ready(next(runs))) for _ in range(BEST_OF)]
        print(json.dumps([min(each) for each in zip(*times, strict=True)]), flush=True)


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Time on the wall and of the processors (s)."""
    begin = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


# Both side by side ---------------------------------------------------------------------------


class Worker:
    """A process that runs a row with the `instar` of a checkout."""

    def __init__(self, checkout: Path, row: str) -> None:
        source = checkout.resolve() / "src"
        if not (source / "instar").is_dir():
            raise SystemExit(f"{checkout} is not a checkout of instar: it has no src/instar.")
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work", row],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def turn(self) -> tuple[float, float]:
        """Times of one turn (s): on the wall, and of the processors."""
        assert self._process.stdin is not None
        print("go", file=self._process.stdin, flush=True)
        wall, processors = self._read()
        return wall, processors

    def end(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A worker has failed; its message is above.")
        return json.loads(line)


def compare(old: Path, new: Path, row: str, pairs: int) -> None:
    """Print the ratios of a row."""
    workers = [Worker(old, row), Worker(new, row)]
    ratios = []
    for pair in range(pairs):
        order = (0, 1) if pair % 2 == 0 else (1, 0)
        times = {which: workers[which].turn() for which in order}
        ratios.append([before / after for before, after in zip(times[0], times[1], strict=True)])
    for worker in workers:
        worker.end()
    wall, processors = zip(*ratios, strict=True)
    print(f"{row:14} wall {summary(wall)}   processors {summary(processors)}", flush=True)
    from record import figure  # imports `instar`, which a worker takes from its checkout

    for clock, found in (("wall", wall), ("processors", processors)):
        figure(f"{row}, {clock}", statistics.median(found), ">= 0.98", ratios=list(found))


def summary(ratios: tuple[float, ...]) -> str:
    """Median, the middle half, and the extremes."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} … {high:.3f}, all {min(ratios):.3f} … {max(ratios):.3f})"


def main() -> None:
    """Compare two checkouts, row by row."""
    parser = argparse.ArgumentParser(description="Speed of one checkout over that of another.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    given = parser.parse_args()
    print(f"speed of {given.new} over {given.old}, {given.pairs} pairs; goal >= 0.98")
    from record import written

    with written("checkouts"):
        for row in given.rows:
            compare(given.old, given.new, row, max(2, given.pairs))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
