"""What the relational core costs: ratios measured in one run.

    make bench          (or: .venv/bin/python bench/core.py)

Each row compares two programs timed in turns, so that a busy machine slows both alike; the
ratio is that of the best times.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from record import figure, timed, written

from instar.core.data import Buffered, Index, Table, Vocabulary
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass

ROWS = 10**6


@dataclass
class Particles:
    positions: Any
    system: Index[SystemId]


@dataclass
class Cells:
    cell: Any


def best_times(
    first: Callable[[], Any], second: Callable[[], Any], repeats: int, calls: int
) -> tuple[float, float]:
    """Shortest time per call of each, taken in turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for taken, run in zip(times, (first, second), strict=True):
            start = time.perf_counter()
            jax.block_until_ready([run() for _ in range(calls)][-1])
            taken.append((time.perf_counter() - start) / calls)
    for name, taken in zip(("ours", "bare"), times, strict=True):
        timed(taken, name)
    return min(times[0]), min(times[1])


def show(what: str, first: float, second: float, goal: float) -> None:
    ratio = first / second
    verdict = "ok" if ratio <= goal else "MISSED"
    print(
        f"{what:<62} {first * 1e6:>11.1f} {second * 1e6:>11.1f} {ratio:>7.2f} {goal:>6} {verdict}"
    )
    figure(what, ratio, goal)


def calls_of_a_compiled_function() -> None:
    keys = np.sort(np.random.default_rng(0).choice(10 * ROWS, ROWS, replace=False))
    array = jnp.arange(float(ROWS))
    table = Table(keys, array, cls=ParticleId)
    double = jax.jit(lambda x: x * 2)
    bare_sum = jax.jit(lambda x: jnp.sum(x * 2))
    table_sum = jax.jit(lambda t: jnp.sum(t.data * 2))
    table_double = jax.jit(lambda t: t.map_data(lambda x: x * 2))
    twins = [Table(keys.copy(), array, cls=ParticleId) for _ in range(4)]
    turn = iter(range(10**9))

    rows = [
        ("same object", lambda: table_sum(table), lambda: bare_sum(array)),
        (
            "re-created equal table",
            lambda: table_sum(twins[next(turn) % 4]),
            lambda: bare_sum(array),
        ),
        ("table in and out", lambda: table_double(table), lambda: double(array)),
    ]
    for name, ours, bare in rows:
        jax.block_until_ready((ours(), bare()))
        show(f"call, 10⁶ keys, against bare arrays: {name}", *best_times(ours, bare, 40, 10), 1.2)


def calls_on_tiny_arrays() -> None:
    """The cost of the structure alone: a million keys against one."""

    @dataclass
    class Tiny:
        values: Any
        index: Index[ParticleId]

    def tiny(keys: int) -> Tiny:
        column = Index(Vocabulary.range(0, keys, ParticleId), [0, 0, 0, 0])
        return Tiny(jnp.ones(4), column)

    run = jax.jit(lambda tiny: Tiny(tiny.values * 2, tiny.index))
    many, one = tiny(ROWS), tiny(1)
    jax.block_until_ready((run(many), run(one)))
    times = best_times(lambda: run(many), lambda: run(one), 60, 500)
    show("call, arrays of 4, 10⁶ keys against 1 key", *times, 1.1)
    twins = [tiny(ROWS) for _ in range(4)]
    turn = iter(range(10**9))
    times = best_times(lambda: run(twins[next(turn) % 4]), lambda: run(one), 60, 500)
    show("call, arrays of 4, 10⁶ keys re-created against 1 key", *times, 1.1)


def joins() -> None:
    rng = np.random.default_rng(1)
    for width in (None, 3):
        shape = (ROWS,) if width is None else (ROWS, width)
        array = jnp.asarray(rng.normal(size=shape).astype(np.float32))
        table = Table.arange(array, label=ParticleId)
        index = Index.integer(rng.integers(0, ROWS, ROWS), n=ROWS, label=ParticleId)
        join = jax.jit(lambda t, i: t[i])
        take = jax.jit(lambda x, i: jnp.take(x, i, axis=0, mode="fill"))
        ours, bare = lambda: join(table, index), lambda: take(array, index.indices)  # noqa: B023
        jax.block_until_ready((ours(), bare()))
        name = "10⁶ rows" if width is None else f"10⁶ rows of {width}"
        show(f"table[index] in jit, {name}, against jnp.take", *best_times(ours, bare, 40, 3), 1.05)


def making_tables() -> None:
    rng = np.random.default_rng(2)
    systems = ROWS // 100
    positions = rng.normal(size=(ROWS, 3)).astype(np.float32)
    owner = np.repeat(np.arange(systems, dtype=np.int32), 100)

    def copy(*arrays: np.ndarray) -> Callable[[], Any]:
        return lambda: [jnp.array(a) for a in arrays]

    def particles(rows: slice) -> Table[ParticleId, Particles]:
        column = Index.integer(owner[rows] - owner[rows].min(), n=systems // 2, label=SystemId)
        return Table.arange(Particles(jnp.asarray(positions[rows]), column), label=ParticleId)

    halves = [particles(slice(0, ROWS // 2)), particles(slice(ROWS // 2, ROWS))]
    cells = [Table.arange(Cells(np.zeros((systems // 2, 3, 3), np.float32)), label=SystemId)] * 2

    arange = lambda: Table.arange(jnp.asarray(positions), label=ParticleId).data  # noqa: E731
    show("Table.arange, 10⁶ rows, against one copy", *best_times(arange, copy(positions), 20, 2), 3)
    integer = lambda: Index.integer(owner, n=systems, label=SystemId).indices  # noqa: E731
    show("Index.integer, 10⁶ rows, against one copy", *best_times(integer, copy(owner), 40, 4), 3)
    union = lambda: jax.tree.leaves(Table.union(cells, halves))  # noqa: E731
    whole = [positions, owner, np.zeros((systems, 3, 3), np.float32)]
    times = best_times(union, copy(*whole), 20, 2)
    show("Table.union of two halves with systems, against one copy", *times, 3)


def index_of_values() -> None:
    rng = np.random.default_rng(3)
    kinds = {
        "close together": rng.integers(0, ROWS, ROWS),
        "few": rng.integers(0, 1000, ROWS),
        "far apart": rng.integers(0, 2**40, ROWS),
        "far apart, sorted": np.sort(rng.integers(0, 2**40, ROWS)),
    }
    for name, values in kinds.items():
        new = lambda v=values: Index.new(v).indices  # noqa: E731
        unique = lambda v=values: np.unique(v)  # noqa: E731
        show(
            f"Index.new, 10⁶ integers {name}, against np.unique", *best_times(new, unique, 7, 1), 5
        )


def inserting_and_deleting() -> None:
    rows = 10**5
    traces = 0
    table = Table.arange(
        Particles(jnp.ones((rows - 10, 3)), Index.zeros(rows - 10, label=SystemId)),
        label=ParticleId,
    )
    buffer = Buffered.pad(table, 10)

    @jax.jit
    def step(buffer: Buffered[ParticleId, Particles], victim: jax.Array) -> Any:
        nonlocal traces
        traces += 1
        free = buffer.select_free(1)
        new = Particles(jnp.full((1, 3), 2.0), Index.zeros(1, label=SystemId))
        buffer = buffer.update(free, new)
        return buffer.free(Index(buffer.vocabulary, victim[None]))

    for i in range(1000):
        buffer = step(buffer, jnp.asarray(i, jnp.int32))
    verdict = "ok" if traces == 1 else "MISSED"
    occupied = int(buffer.num_occupied)
    what = f"insert + delete in 10⁵ rows, 1000 times ({occupied} rows in the end)"
    print(f"{what:<62} {traces} compilation, goal 1: {verdict}")
    figure(f"{what}, compilations", traces, 1)


def memory_of_range_keys() -> None:
    tracemalloc.start()
    vocabulary = Vocabulary.range(5, ROWS + 5, ParticleId)
    untouched, _ = tracemalloc.get_traced_memory()
    assert len(vocabulary.keys) == ROWS
    read, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"host memory for 10⁶ range keys: {untouched / ROWS:.4f} bytes per key; "
        f"{read / ROWS:.0f} after reading the tuple"
    )
    figure("host memory for 10⁶ range keys, bytes per key", untouched / ROWS)
    figure("… after reading the tuple", read / ROWS)


def main() -> None:
    print(f"JAX {jax.__version__}, NumPy {np.__version__}, {jax.devices()[0].platform}")
    print(f"{'':<62} {'ours µs':>11} {'bare µs':>11} {'ratio':>7} {'goal':>6}")
    calls_of_a_compiled_function()
    calls_on_tiny_arrays()
    joins()
    making_tables()
    index_of_values()
    inserting_and_deleting()
    memory_of_range_keys()


if __name__ == "__main__":
    with written("core"):
        main()
