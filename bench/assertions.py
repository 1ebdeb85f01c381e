"""What checks inside compiled code cost: ratios measured in one run.

    .venv/bin/python bench/assertions.py

Each row compares a program with checks to the same program without them, taken in turns, so that
a busy machine slows both alike. The same conditions run next to ours in `jax.experimental.checkify`
and, where it is installed, `equinox.error_if`. These remember less: checkify the first failure of
all, equinox a fixed text; ours each check's own first failure, with its step and its values.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.experimental import checkify
from record import figure, timed, written

from instar.core.assertion import runtime_assert
from instar.core.capacity import LensCapacity
from instar.core.lens import lens
from instar.core.propagator import advance
from instar.core.result import as_result_function
from instar.core.utils.jax import dataclass, field

try:
    equinox: Any = importlib.import_module("equinox")
except ImportError:
    equinox = None

STEPS = 10_000
CHECKS = 10
DEPTH = 8

type Check = Callable[[Array, int], Array]
"""``check(x, k)`` states the k-th condition on a scalar, and hands the scalar on."""
type Program = Callable[[Array], Array]


class Contender(NamedTuple):
    """A way to state checks, to collect them, and where the value is in what comes out."""

    name: str
    check: Check
    collect: Callable[[Program], Callable[..., Any]] = lambda program: program
    value: Callable[[Any], Any] = lambda out: out


def holds(x: Array, k: int) -> Array:
    """Conditions that a compiler can't join into one."""
    return x * (k + 0.5) < 100.0


def check_with_instar(x: Array, k: int) -> Array:
    runtime_assert(holds(x, k), "{x} is too large for {k}", fmt_args={"x": x, "k": k})
    return x


def check_with_checkify(x: Array, k: int) -> Array:
    checkify.check(holds(x, k), f"{{x}} is too large for {k}", x=x)
    return x


def check_with_equinox(x: Array, k: int) -> Array:
    return equinox.error_if(x, ~holds(x, k), f"x is too large for {k}")


def with_user_checks(program: Program) -> Callable[..., Any]:
    return checkify.checkify(program, errors=checkify.user_checks)


BARE = Contender("no checks", lambda x, k: x)
OURS = Contender("instar", check_with_instar, as_result_function, lambda out: out.value)
CHECKIFY = Contender("checkify", check_with_checkify, with_user_checks, lambda out: out[1])
EQUINOX = Contender("equinox", check_with_equinox)
CONTENDERS = [BARE, OURS, CHECKIFY, *([EQUINOX] if equinox else [])]

# ------------------------------------------------------------------------- programs


def step(x: Array) -> Array:
    return jnp.sin(x) * 0.999 + jnp.cos(0.3 * x)


def ten(check: Check, x: Array) -> Array:
    for k in range(CHECKS):
        x = check(x, k)
    return x


def short_steps(check: Check, steps: int = STEPS) -> Program:
    """About 20 ns each: one scalar."""
    body = lambda x, _: (ten(check, step(x)), None)  # noqa: E731
    return lambda x: lax.scan(body, x, None, length=steps)[0]


def long_steps(check: Check, steps: int = STEPS) -> Program:
    """More than 10 µs each: the same for many numbers; the checks look at their mean."""

    def body(v: Array, _: None) -> tuple[Array, None]:
        v = step(v)
        return v + 0.001 * ten(check, jnp.mean(v)), None

    return lambda x: lax.scan(body, jnp.full(8192, x), None, length=steps)[0]


def nested_scans(check: Check, depth: int, everywhere: bool = False) -> Program:
    """A check in the body of the innermost scan, or of each."""

    def body(level: int, x: Array) -> Array:
        x = check(step(x), level) if everywhere else step(x)
        return scan(level + 1, x) if level < depth else check(step(x), 0)

    def scan(level: int, x: Array) -> Array:
        return lax.scan(lambda x, _: (body(level, x), None), x, None, length=10)[0]

    return lambda x: scan(1, x)


# --------------------------------------------------------------------------- timing


def show(what: str, times: dict[str, float], goal: float | None = None) -> None:
    """A row for each contender; the goal is ours."""
    bare = times[BARE.name]
    digits = 1 if bare > 1e-6 else 4
    for name, seconds in times.items():
        if name != BARE.name:
            ratio = seconds / bare
            numbers = f"{seconds * 1e6:>11.{digits}f} {bare * 1e6:>11.{digits}f} {ratio:>7.2f}"
            wanted = f"{goal:>6} {'ok' if ratio <= goal else 'MISSED'}" if goal else ""
            verdict = wanted if name == OURS.name else ""
            print(f"{what + ': ' + name:<50} {numbers} {verdict}".rstrip())
            figure(f"{what}: {name}", ratio, goal if name == OURS.name else None)


def compiled(program: Callable[[Check], Program]) -> dict[str, Program]:
    """The program with each contender's checks, ready to run; one that can't says why."""
    runs: dict[str, Program] = {}
    for name, check, collect, value in CONTENDERS:
        call = jax.jit(collect(program(check)))
        run = lambda x, call=call, value=value: value(call(x))  # noqa: E731
        try:
            run(jnp.float32(0.5)).block_until_ready()
        except Exception as error:
            print(f"{name} can't do this one: {type(error).__name__}: {str(error)[:200]}")
        else:
            runs[name] = run
    return {**runs, "no checks, again": runs[BARE.name]}


def best_times(runs: dict[str, Program], repeats: int) -> dict[str, float]:
    """Shortest time of each until its value is there, taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    x = jnp.float32(0.5)
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run(x).block_until_ready()
            times[name].append(time.perf_counter() - start)
    for name, taken in times.items():
        timed(taken, name)
    return {name: min(taken) for name, taken in times.items()}


def build_times[K](
    programs: dict[K, Callable[[], Any]], repeats: int, *, compiling: bool
) -> tuple[dict[K, float], dict[K, float]]:
    """Median times to trace, and to compile, with nothing kept from before, taken in turns.

    Each program is made again, by a function that returns it jitted.
    """
    traces: dict[K, list[float]] = {key: [] for key in programs}
    compilations: dict[K, list[float]] = {key: [] for key in programs}
    for _ in range(repeats):
        for key, program in programs.items():
            jax.clear_caches()
            gc.collect()  # what is thrown away is not the next program's cost
            start = time.perf_counter()
            traced = program().trace(jnp.float32(0.5))
            middle = time.perf_counter()
            if compiling:
                traced.lower().compile()
            traces[key].append(middle - start)
            compilations[key].append(time.perf_counter() - middle)
    for key in programs:
        both = zip(traces[key], compilations[key], strict=True)
        timed([trace + compilation for trace, compilation in both], str(key))
    medians = [{k: statistics.median(taken[k]) for k in taken} for taken in (traces, compilations)]
    return medians[0], medians[1]


def nested(contender: Contender, depth: int, everywhere: bool = False) -> Callable[[], Any]:
    return lambda: jax.jit(contender.collect(nested_scans(contender.check, depth, everywhere)))


# ------------------------------------------------------------------------- sections


def all_notice_a_failure() -> None:
    """What is timed does check: a NaN is below no limit."""
    nan = jnp.float32(jnp.nan)
    assert not jax.jit(as_result_function(short_steps(OURS.check)))(nan).all_assertions_pass
    assert jax.jit(with_user_checks(short_steps(CHECKIFY.check)))(nan)[0].get() is not None
    if equinox is None:
        print("No rows for equinox, which is not installed; to see them: pip install equinox")
        return
    try:
        equinox.filter_jit(short_steps(EQUINOX.check))(nan).block_until_ready()
    except RuntimeError:
        return
    raise AssertionError("equinox did not notice the NaN")


def run_time_of_long_steps() -> None:
    times = best_times(compiled(long_steps), 12)
    tenth = best_times(compiled(lambda check: long_steps(check, STEPS // 10)), 60)
    per_step = times[BARE.name] / STEPS * 1e6
    print(f"scan of {STEPS} steps of {per_step:.1f} µs (at least 10), {CHECKS} checks in each")
    show("run", times, 1.05)
    show("a tenth of the steps", tenth)  # more often left alone by a busy machine


def run_time_of_short_steps() -> None:
    times = best_times(compiled(short_steps), 300)
    once = best_times(compiled(lambda check: short_steps(check, 1)), 300)
    per_step = {name: (times[name] - once[name]) / (STEPS - 1) for name in times}
    nanoseconds = times[BARE.name] / STEPS * 1e9
    print(f"scan of {STEPS} steps of {nanoseconds:.1f} ns, {CHECKS} checks in each")
    show("run", times, 1.4)
    show("a call with one step", once)
    show("each further step", per_step)


def time_to_compile() -> None:
    for everywhere in (False, True):
        programs = {c.name: nested(c, DEPTH, everywhere) for c in CONTENDERS}
        traces, compilations = build_times(programs, 9, compiling=True)
        where = "each, and one more in the innermost" if everywhere else "the innermost"
        print(f"{DEPTH} nested scans, a check in {where}")
        together = {name: traces[name] + compilations[name] for name in programs}
        show("trace + compile", together, None if everywhere else 2)
        show("trace", traces)
        show("compile", compilations)


def bytes_read_when_all_pass() -> None:
    """What the host reads to know that nothing failed: all else may be gone by then."""
    run = jax.jit(as_result_function(short_steps(OURS.check)))
    x = run(jnp.float32(0.5)).value.block_until_ready()
    with jax.transfer_guard_device_to_host("disallow"):
        result = jax.block_until_ready(run(x))
    passes = result.all_assertions_pass
    others = [array for array in jax.tree.leaves(result) if array is not passes]
    for array in others:
        array.delete()
    result.raise_assertion()
    verdict = "ok" if passes.nbytes == 1 else "MISSED"
    print(f"bytes read by the host when all pass: {passes.nbytes}, goal 1: {verdict}")
    figure("bytes read by the host when all pass", passes.nbytes, 1)
    guard = "holds" if guard_holds() else f"does nothing on {jax.default_backend()}"
    print(f"  the program ran with reads by the host forbidden (a guard that {guard});")
    print(f"  raise_assertion() worked with the result's other {len(others)} arrays deleted")


def guard_holds() -> bool:
    try:
        with jax.transfer_guard_device_to_host("disallow"):
            np.asarray(jnp.ones(3) + 1)
    except Exception:  # of a type that depends on the backend
        return True
    return False


def trace_time_by_depth() -> None:
    depths = range(1, DEPTH + 1)
    programs = {(c.name, depth): nested(c, depth) for depth in depths for c in CONTENDERS}
    traces, _ = build_times(programs, 7, compiling=False)
    names = "".join(f"{contender.name:>11}" for contender in CONTENDERS)
    print("ms to trace nested scans, a check in the innermost")
    print(f"{'depth':>7}{names}   ours/bare   more than bare, per level")
    for depth in depths:
        times = [traces[contender.name, depth] * 1e3 for contender in CONTENDERS]
        bare, ours, *_ = times
        row = "".join(f"{milliseconds:>11.1f}" for milliseconds in times)
        print(f"{depth:>7}{row}{ours / bare:>12.2f}{(ours - bare) / depth:>28.1f}")
        figure(f"trace of {depth} nested scans, ours against bare", ours / bare)


@dataclass
class Walkers:
    x: Array
    steps: Array
    room: int = field(static=True)


ROOM = lens(lambda s: s.room, cls=Walkers)


def walk(key: Array, state: Walkers) -> Walkers:
    """Needs room for 2 from step 1500 on."""
    needed = jnp.where(state.steps < 1500, 1, 2)
    LensCapacity(state.room, ROOM).generate_assertion(needed)
    x = step(state.x) + 0.01 * jax.random.normal(key, state.x.shape)
    return Walkers(x, state.steps + 1, state.room)


def cost_of_a_late_failure() -> None:
    """2000 steps, of which the one with number 1500 fails, is repaired and run again."""

    def run(room: int) -> Callable[[], Any]:
        state = Walkers(jnp.zeros(4096), jnp.int32(0), room)

        def work() -> Array:
            return advance(walk, jax.random.key(0), state, 2000).x.block_until_ready()

        return work

    runs = {"failing": run(1), "roomy": run(2)}
    results = {name: np.asarray(run()).tobytes() for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(20):
        for name, work in runs.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    for name, taken in times.items():
        timed(taken, name)
    best = {name: min(taken) for name, taken in times.items()}
    ratio = best["failing"] / best["roomy"]
    equal = "equal to the bit" if results["failing"] == results["roomy"] else "DIFFERENT"
    print("advance by 2000 steps, without compiling; results", equal)
    numbers = f"{best['failing'] * 1e6:>11.1f} {best['roomy'] * 1e6:>11.1f} {ratio:>7.2f}"
    verdict = "ok" if ratio <= 1.1 else "MISSED"
    print(f"{'a failure at step 1500 against none':<50} {numbers} {1.1:>6} {verdict}")
    figure("a failure at step 1500 against none", ratio, 1.1)


def main() -> None:
    version = f", equinox {equinox.__version__}" if equinox else ""
    print(f"JAX {jax.__version__}, NumPy {np.__version__}{version}, {jax.devices()[0].platform}")
    all_notice_a_failure()
    print(f"{'':<50} {'checked µs':>11} {'bare µs':>11} {'ratio':>7} {'goal':>6}")
    run_time_of_long_steps()
    run_time_of_short_steps()
    time_to_compile()
    bytes_read_when_all_pass()
    trace_time_by_depth()
    cost_of_a_late_failure()


if __name__ == "__main__":
    with written("assertions"):
        main()
