"""Is the predicted peak what a program really takes? (`memory_limit`: does a plan keep to it?)

    make bench          (or: .venv/bin/python bench/memory.py [row ...])

Each program runs in processes of its own: it is compiled, the high-water mark of the process is
reset, its arguments are made, it runs. Measured is by how much more memory was resident at most
than before the arguments were made. The prediction must not be below that, nor, except for the
smallest program, above 1.3 times of it.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
from memory_programs import CASES
from record import figure, spreads, written
from statefunc import best_times

from instar.core.utils.jax_compat import planning_options
from instar.memory import HighWater, Programs, show

REPEATS, MOST = 2, 1.3
SMALLEST = ("pair sum", 50)
ROWS = [
    SMALLEST,
    ("monomials", 12_000),
    ("einsum of features", 20_000),
    ("pair sum", 10_000),
    ("pair sum, derivative by own particle", 4_000),
    ("pair sum, derivative across particles", 4_000),
    ("pair sum, gradient", 8_000),
    ("fluids of different sizes, float64", 40),
    ("sort", 10_000_000),
    ("argsort of columns", 1_000_000),
    ("top_k", 10_000_000),
    ("x @ x.T", 8_000),
    ("norm(exp(-x @ x.T) @ x)", 8_000),
    ("eigh", 4_000),
    ("Fourier transform", 300),
]


def measured(name: str, size: int) -> dict[str, int]:
    """Predicted, reported and measured bytes of a program, in this process."""
    jax.config.update("jax_enable_x64", "float64" in name)
    case = CASES[name](size)
    make = Programs(case.arguments)(*case.given)
    program = Programs(case.function)(*jax.eval_shape(case.arguments, *case.given))
    gc.collect()
    peak = HighWater()
    arguments = jax.block_until_ready(make(*case.given))
    result = jax.block_until_ready(program(*arguments))
    taken = peak.growth()
    assert taken is not None
    assert bool(getattr(result, "all_assertions_pass", True))
    need = program.need
    return {"predicted": need.bytes, "reported": need.reported, "measured": taken}


def in_new_process(*arguments: str) -> Any:
    run = [sys.executable, __file__, "--here", *arguments]
    return json.loads(subprocess.run(run, check=True, capture_output=True).stdout)


def table(rows: list[tuple[str, int]]) -> None:
    print(f"{'':<42}{'size':>10}{'predicted':>11}{'reported':>11}{'measured':>22}{'ratio':>7}")
    for name, size in rows:
        found = [in_new_process(name, str(size)) for _ in range(REPEATS)]
        taken = sorted(each["measured"] for each in found)
        predicted, reported = found[0]["predicted"], found[0]["reported"]
        within = predicted <= MOST * taken[0] or (name, size) == SMALLEST
        verdict = "ok" if predicted >= taken[-1] and within else "MISSED"
        figures = f"{size:>10}{show(predicted):>11}{show(reported):>11}"
        spread = f"{show(taken[0])} … {show(taken[-1])}"
        ratio = f"{predicted / taken[-1]:>7.2f}"
        note = " (the smallest)" if (name, size) == SMALLEST else ""
        print(f"{name:<42}{figures}{spread:>22}{ratio} {verdict}{note}", flush=True)
        sizes = {"predicted": predicted, "reported": reported, "measured": taken}
        ratios = [predicted / each for each in taken]
        figure(f"{name}, {size}", min(ratios), f"1 to {MOST}", ratios=ratios, bytes=sizes)


def cost_of_options(size: int = 4096) -> None:
    """Time of a product with the compiler options of plans over that with the default ones."""
    x = jnp.ones((size, size))
    lowered = jax.jit(jnp.matmul).lower(x, x)
    options: list[dict[str, Any]] = [planning_options(jax.default_backend()), {}]
    runs = [lowered.compile(compiler_options=each) for each in options]
    best = best_times([lambda run=run: run(x, x) for run in runs])
    print(f"\nproduct, {size} × {size}: planned / default options, time: {best[0] / best[1]:.2f}")
    figure(f"product, {size} × {size}: planned / default options, time", best[0] / best[1])


def speed_of_batches(most: int = 4096) -> None:
    """Time for a frame by the size of a batch, over that of the fastest."""
    name = "pair sum, derivative by own particle"
    programs = Programs(CASES[name](1).function)
    runs, sizes = [], [2**k for k in range(4, 13, 2)]
    for frames in sizes:
        (x,) = Programs(CASES[name](frames).arguments)()()
        program = programs(x)
        runs.append(lambda x=x, p=program: [p(x) for _ in range(most // len(x))][-1])
    times = best_times(runs, repeats=3)
    print(f"\n{name}: what a batch takes, time for a frame")
    for frames, each, spread in zip(sizes, times, spreads(), strict=True):
        taken = programs.need(jax.ShapeDtypeStruct((frames, 50, 3), jnp.float32)).reported
        print(f"{show(taken):>10}{each / min(times):>7.2f}")
        what = f"{name}: time for a frame in a batch of {frames}"
        figure(what, each / min(times), seconds=[spread])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(measured(sys.argv[2], int(sys.argv[3]))))
    else:
        chosen = sys.argv[1:]
        with written("memory"):
            table([row for row in ROWS if not chosen or row[0] in chosen])
            if not chosen:
                cost_of_options()
                speed_of_batches()
