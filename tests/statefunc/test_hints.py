"""Hints against the compiler's own figures, and what they are made of."""

import jax
import jax.numpy as jnp
import pytest

from instar.statefunc import (
    MemHint,
    Sample,
    derivative,
    linear_combination,
    norm,
    pair_sum,
    separation,
    vector_features,
)
from statefunc.expressions import ALL, edges_of, polynomial, x

PARTICLES, BATCH = 12, 64


def evaluated(f, positions, sample):
    return f(Sample(positions, positions, sample.mask, sample.edges, columns=sample.columns))


def loss(f, positions, sample):
    return jnp.square(evaluated(f, positions, sample)).sum()


PROGRAMS = {"forward": evaluated, "grad": jax.grad(loss, argnums=(0, 1))}
CASES = [
    (name, mode)
    for name in ALL
    for mode in PROGRAMS
    if (mode == "forward") or name in ("linear", "pair features", "by own position", "forces")
]


MASKED = ["monomials", "pairs", "energy", "by own position", "pairs across", "forces"]


@pytest.mark.parametrize(
    ("name", "mode", "mask"),
    [(*case, False) for case in CASES] + [(name, "forward", True) for name in MASKED],
)
def test_a_hint_is_not_less_than_the_compiler_needs(name, mode, mask):
    f = ALL[name]
    positions = jax.ShapeDtypeStruct((BATCH, PARTICLES, 3), jnp.float32)
    charges = jnp.ones((BATCH, PARTICLES))
    sample = Sample(
        jnp.ones((BATCH, PARTICLES, 3)),
        mask=jnp.ones((BATCH, PARTICLES), bool) if mask else None,
        edges=edges_of("list", PARTICLES),
        columns={"charge": charges},
    )
    program = jax.jit(PROGRAMS[mode]).lower(f, positions, sample)
    need = program.compile().memory_analysis()
    assert need is not None
    hint = f.memory_hint(particle_size=PARTICLES, mode=mode, sample=sample.meta)
    hinted = hint.per_sample_bytes * BATCH + hint.persistent_bytes
    assert hinted >= need.temp_size_in_bytes + need.output_size_in_bytes


def forward(f, **known):
    return f.memory_hint(particle_size=10, **known).per_sample_bytes


def test_a_slice_does_not_count_what_it_does_not_make():
    vectors = vector_features(polynomial)
    assert forward(vectors[0]) < forward(vectors[:10]) < forward(vectors)


def test_rows_are_evaluated_whole():
    sample = Sample(jnp.zeros((10, 3)), edges=edges_of("rows", 10)).meta
    f = pair_sum(separation(3))
    assert forward(f.chunked(1), sample=sample) == forward(f.chunked(9), sample=sample)
    assert forward(f.chunked(9), sample=sample) < forward(f.chunked(18), sample=sample)


def test_weights_and_edges_are_persistent():
    f = linear_combination(polynomial, jnp.ones((10, 2)))
    assert f.memory_hint(particle_size=10) == MemHint(forward(f), 20 * 4)
    sample = Sample(jnp.zeros((10, 3)), edges=edges_of("list", 10)).meta
    assert pair_sum(separation(3)).memory_hint(sample=sample).persistent_bytes == 90 * 2 * 4


def test_unknown_edges_join_everything():
    sample = Sample(jnp.zeros((10, 3)), edges=edges_of("list", 10)).meta
    f = pair_sum(separation(3))
    assert forward(f) == forward(f, sample=sample)
    assert f.memory_hint(sample=sample).per_sample_bytes == forward(f)


def test_tangents_and_gradients_are_counted():
    f = pair_sum(norm(separation(3)) * separation(3))
    assert forward(derivative(f)) > 1.5 * forward(f)
    assert forward(derivative(f, across=True)) > forward(derivative(f))
    assert forward(f, mode="grad") > forward(f)
    assert forward(f.chunked(5)) < forward(f) / 3


def test_shared_parts_are_counted_once_and_different_ones_apart():
    one, other = (pair_sum(n * norm(separation(3))) for n in (1.0, 2.0))
    assert forward(one + one) < forward(one + other)


def test_a_footprint_tells_what_the_bytes_hold():
    f = linear_combination(polynomial, jnp.ones(10))
    held = f.footprint(particle_size=10)
    assert held == {"x": 120, "x^≤2": 400, "Σₖ wₖ·(x^≤2)ₖ": 80}
    assert sum(held.values()) == forward(f)


def test_hints_need_no_values():
    f = jax.eval_shape(lambda: 2.0 * linear_combination(polynomial, jnp.ones(10)))
    assert f.memory_hint(particle_size=10).per_sample_bytes > 0


def test_another_mode_is_refused():
    with pytest.raises(ValueError, match="mode is"):
        x.memory_hint(mode="backward")
