"""What state functions take: hinted memory against the compiler's figures, and time.

    make bench          (or: .venv/bin/python bench/statefunc.py)

Memory: bytes of the hint (per sample × samples + persistent) over temporaries + output of the
compiled program, as `memory_analysis` tells them. Nothing is allocated for it. A hint below 1
would be a plan that runs out of memory; one above 2 wastes half of it.

Time: rows compare two programs timed in turns, so that a busy machine slows both alike; the
ratio is that of the best times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from record import figure, timed, written

from instar.statefunc import (
    Edges,
    Sample,
    StateFunction,
    apply,
    coordinates,
    derivative,
    distance,
    einsum,
    gaussians,
    linear_combination,
    monomials,
    pair_sum,
    separation,
    total,
    vector_features,
)

PARTICLES = 50
BATCHES = (64, 512, 4096)

x, r = coordinates(3), separation(3)
scalars = monomials(x, 3)
vectors = vector_features(scalars)
bump = apply(jnp.exp, -1 * distance(3) ** 2, "exp")
pairs = pair_sum(bump * r)
shells = pair_sum(gaussians(distance(3), np.linspace(0.5, 3, 8), 0.4, cutoff=4.0) * r)

EXPRESSIONS: dict[str, StateFunction] = {
    "monomials, scalar": scalars,
    "monomials, vector": vectors,
    "linear combination": linear_combination(vectors, np.ones(60)),
    "einsum, outer": einsum("i,j->ij", vectors[:10], x),
    "derivative": derivative(vectors),
    "pair sum": pairs,
    "pair sum, in chunks": pairs.chunked(250),
    "pair sum, derivative by own particle": derivative(pairs),
    "pair sum, derivative across particles": derivative(pairs, across=True),
    "pair sum, 8 features": shells,
    "pair sum, 8 features, fitted": linear_combination(shells, np.ones(8)),
    "pair sum, 8 features, derivative": derivative(shells),
    "energy": pair_sum(bump, to="system"),
    "forces from the energy": derivative(pair_sum(bump, to="system")),
    "energy of monomials": total(linear_combination(scalars, np.ones(20))),
}


def edges_of(layout: str) -> Edges:
    if layout == "all pairs":
        return Edges.all_pairs(PARTICLES)
    first, second = np.nonzero(~np.eye(PARTICLES, dtype=bool))
    return Edges.between(first, second, PARTICLES)


def evaluated(f: StateFunction, positions: Any, edges: Edges) -> Any:
    return f(Sample(positions, edges=edges))


def loss(f: StateFunction, positions: Any, edges: Edges) -> Any:
    return jnp.square(evaluated(f, positions, edges)).sum()


PROGRAMS = {"forward": evaluated, "grad": jax.grad(loss, argnums=(0, 1))}


def ratio_to_compiler(f: StateFunction, edges: Edges, mode: str, batch: int) -> tuple[int, int]:
    """Bytes of the hint, and of the compiled program."""
    positions = jax.ShapeDtypeStruct((batch, PARTICLES, 3), jnp.float32)
    need = jax.jit(PROGRAMS[mode]).lower(f, positions, edges).compile().memory_analysis()
    assert need is not None
    sample = Sample(jnp.zeros((PARTICLES, 3)), edges=edges)
    hint = f.memory_hint(particle_size=PARTICLES, mode=mode, sample=sample.meta)
    hinted = hint.per_sample_bytes * batch + hint.persistent_bytes
    return hinted, need.temp_size_in_bytes + need.output_size_in_bytes


def memory(mode: str, layout: str) -> None:
    print(f"\n{mode}, {layout}: hinted bytes / compiler's, {PARTICLES} particles, float32")
    heads = "".join(f"{f'B={batch}':>10}" for batch in BATCHES)
    print(f"{'':<42}{'bytes/sample':>14}{heads}")
    ratios = []
    for name, f in EXPRESSIONS.items():
        figures = [ratio_to_compiler(f, edges_of(layout), mode, batch) for batch in BATCHES]
        row = [hinted / needed for hinted, needed in figures]
        shown = "".join(f"{value:>10.2f}" for value in row)
        print(f"{name:<42}{figures[-1][1] // BATCHES[-1]:>14}{shown}")
        for batch, value in zip(BATCHES, row, strict=True):
            figure(f"{mode}, {layout}, {batch} samples, hinted bytes: {name}", value, "1 to 2")
        ratios += row
    low, high = sum(value < 1 for value in ratios), sum(value > 2 for value in ratios)
    verdict = "ok" if low == 0 and high <= 2 else "MISSED"
    print(f"below 1 (goal 0): {low} of {len(ratios)}; above 2 (goal 2): {high}   {verdict}")


def best_times(runs: list[Callable[[], Any]], repeats: int = 9) -> list[float]:
    """Shortest time of each, taken in turns."""
    times: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for taken, run in zip(times, runs, strict=True):
            start = time.perf_counter()
            jax.block_until_ready(run())
            taken.append(time.perf_counter() - start)
    for taken in times:
        timed(taken)
    return [min(taken) for taken in times]


def by_broadcasting(positions: Any) -> Any:
    """What one writes first: all differences, and a mask for the diagonal."""
    apart = positions[None] - positions[:, None]
    weight = jnp.exp(-jnp.square(apart).sum(-1, keepdims=True))
    others = ~jnp.eye(len(positions), dtype=bool)[..., None]
    return jnp.where(others, weight * apart, 0).sum(1)


def by_components(positions: Any) -> Any:
    """Tuned by hand: coordinates as three arrays, so that every loop runs over particles."""
    axes = [axis[None] - axis[:, None] for axis in positions.T]
    weight = jnp.exp(-sum(axis * axis for axis in axes))
    weight = jnp.where(jnp.eye(len(positions), dtype=bool), 0, weight)
    return jnp.stack([(weight * axis).sum(1) for axis in axes], -1)


def by_segments(positions: Any, pair: Any) -> Any:
    """From a list of edges: gather both ends, sum by the first."""
    ends = positions[pair]
    apart = ends[:, 1] - ends[:, 0]
    weight = jnp.exp(-jnp.square(apart).sum(-1, keepdims=True))
    return jax.ops.segment_sum(weight * apart, pair[:, 0], len(positions))


def speed() -> None:
    batch = BATCHES[-1]
    positions = jax.random.normal(jax.random.key(0), (batch, PARTICLES, 3))
    entries = edges_of("list").indices.indices
    compiled: dict[str, Callable[[], Any]] = {}

    def add(name: str, program: Callable[..., Any], *args: Any) -> None:
        run = jax.jit(program).lower(*args).compile()
        compiled[name] = lambda: run(*args)

    for layout in ("all pairs", "list"):
        add(f"instar, {layout}", evaluated, pairs, positions, edges_of(layout))
    add(
        "instar, all pairs, chunks", evaluated, pairs.chunked(250), positions, edges_of("all pairs")
    )
    add("by hand, broadcasting", jax.vmap(by_broadcasting), positions)
    add("by hand, components", jax.vmap(by_components), positions)
    add("by hand, segment_sum", jax.vmap(by_segments, in_axes=(0, None)), positions, entries)
    values = {
        name: np.asarray(run()).reshape(batch, PARTICLES, 3) for name, run in compiled.items()
    }
    for value in values.values():
        np.testing.assert_allclose(value, values["by hand, components"], atol=1e-4)

    took = dict(zip(compiled, best_times(list(compiled.values())), strict=True))
    print(f"\npair sum, {PARTICLES} particles, {batch} samples")
    print(f"{'':<62}{'ms':>9}{'by hand':>9}{'ratio':>7}{'goal':>6}")
    for ours, theirs in (
        ("instar, all pairs", "by hand, broadcasting"),
        ("instar, all pairs", "by hand, components"),
        ("instar, all pairs, chunks", "by hand, components"),
        ("instar, list", "by hand, segment_sum"),
    ):
        ratio = took[ours] / took[theirs]
        verdict = "ok" if ratio <= 1.1 else "MISSED"
        times = f"{took[ours] * 1e3:>9.1f}{took[theirs] * 1e3:>9.1f}"
        print(f"{f'{ours} / {theirs}':<62}{times}{ratio:>7.2f}{1.1:>6} {verdict}")
        figure(f"pair sum, {ours} / {theirs}", ratio, 1.1)


if __name__ == "__main__":
    with written("statefunc"):
        speed()
        for mode in PROGRAMS:
            for layout in ("list", "all pairs"):
                memory(mode, layout)
