"""Sums over pairs: edges, images, systems, chunks."""

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from instar.core.assertion import with_runtime_assertions
from instar.core.data import Buffered, Index, Table
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.statefunc import (
    Edges,
    Sample,
    apply,
    column,
    constant,
    coordinates,
    derivative,
    distance,
    einsum,
    first,
    pair_sum,
    second,
    separation,
    total,
)
from statefunc.expressions import LAYOUTS, edges_of, evaluate

pytestmark = pytest.mark.usefixtures("quickly_compiled")

x, r, d = coordinates(3), separation(3), distance(3)
bump = apply(jnp.exp, -1 * d**2)
POSITIONS = np.random.default_rng(0).normal(size=(6, 3))


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


@jax.jit
def gradient(f, sample):
    """Of the sum of all values, by the parameters."""
    return jax.grad(lambda f: f(sample).sum())(f)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)


@dataclass
class Atoms:
    positions: jax.Array
    system: Index[SystemId]
    charge: jax.Array


def test_edges_gather_both_ends_of_a_table():
    atoms = Table.arange(jnp.asarray(POSITIONS), label=ParticleId)
    edges = Edges.between([0, 3], [2, 1], particles=6)
    ends = atoms[edges.indices]
    assert ends.shape == (2, 2, 3)
    close(ends[0], POSITIONS[[0, 2]])


ENDS = st.integers(0, 6)  # six particles; 6 is out of bounds
EDGES = st.lists(st.tuples(ENDS, ENDS), min_size=12, max_size=12).map(np.array)


TERMS = {
    "of the separation": bump * r,
    "of both ends": einsum("i,j->ij", first(x), second(x)) * (1 + d),
    "of charges": first(column("charge")) * second(column("charge")) * r,
}


def by_hand(term, pairs, shifts, charges):
    """The sum, edge by edge, of the term on a sample of two particles."""
    total_of = np.zeros((6, *term(two_of(0, 1, 0, charges)).shape))
    for (i, j), shift in zip(pairs, shifts, strict=True):
        if i < 6 and j < 6:
            total_of[i] += term(two_of(i, j, shift, charges))
    return total_of


def two_of(i, j, shift, charges):
    positions = jnp.asarray([POSITIONS[i], POSITIONS[j] + shift])
    return Sample(positions, columns={"charge": jnp.asarray(charges[[i, j]])})


@pytest.mark.parametrize("name", TERMS)
@given(pairs=EDGES, chunk=st.sampled_from([None, 1, 5]))
def test_a_pair_sum_is_the_sum_of_its_pairs(name, pairs, chunk):
    shifts = np.random.default_rng(0).normal(size=(12, 3))
    charges = np.arange(6.0)
    edges = Edges.between(pairs[:, 0], pairs[:, 1], 6, jnp.asarray(shifts))
    sample = Sample(jnp.asarray(POSITIONS), edges=edges, columns={"charge": jnp.asarray(charges)})
    actual = evaluate(pair_sum(TERMS[name], chunk=chunk), sample)
    close(actual, by_hand(TERMS[name], pairs, shifts, charges))


def test_a_particle_that_meets_its_own_image_takes_it_along():
    shift = jnp.array([[3.0, 0, 0], [-3.0, 0, 0]])
    edges = Edges.between([0, 0], [0, 0], 1, shift)
    sample = Sample(jnp.zeros((1, 3)), edges=edges)
    close(evaluate(pair_sum(d), sample), [[6.0]])
    close(evaluate(derivative(pair_sum(d)), sample), np.zeros((1, 3, 1)))
    close(evaluate(derivative(pair_sum(d), across=True), sample), np.zeros((1, 1, 3, 1)))
    everything = Edges(edges.indices[:1], shift[:1], per_particle=1, complete=True)
    alone = Sample(jnp.zeros((1, 3)), edges=everything)
    close(evaluate(derivative(pair_sum(d)), alone), np.zeros((1, 3, 1)))


TERMS_IN_CHUNKS = [bump * r, (d + 1) ** -2, derivative(bump)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("to", "term"),
    [
        *(("particle", term) for term in TERMS_IN_CHUNKS),
        ("system", TERMS_IN_CHUNKS[-1]),
        *(pytest.param("system", t, marks=pytest.mark.long) for t in TERMS_IN_CHUNKS[:-1]),
    ],
    ids=str,
)
def test_chunks_do_not_change_a_sum(layout, to, term):
    sample = Sample(jnp.asarray(POSITIONS), edges=edges_of(layout, 6))
    whole = pair_sum(term, to=to)
    for chunk in (1, 7, 1000):
        close(evaluate(whole.chunked(chunk), sample), evaluate(whole, sample))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_formulas_are_evaluated_only_where_they_are_defined(layout):
    """A bond that can't be longer than 1.5 has no value at other places."""
    stiffness, longest = constant(30.0), constant(1.5)
    energy = -0.5 * stiffness * longest**2 * apply(jnp.log, 1 - (d / longest) ** 2)
    positions = jnp.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 9]])
    there = jnp.array([True, True, True, False])
    sample = Sample(positions, mask=there, edges=edges_of(layout, 4))
    for term in (energy, stiffness * d**-1, stiffness * (d - longest) ** -1):
        f = pair_sum(term, to="system")
        assert np.isfinite(evaluate(f, sample)).all()
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient(f, sample)))
        assert np.isfinite(evaluate(derivative(f), sample)).all()


@pytest.mark.parametrize(
    "edges",
    [
        Edges.between([], [], 3),
        Edges.rows(np.zeros((3, 0), int)),
        Edges.between([3], [0], 3),
        Edges.rows([[3], [3], [3]]),
    ],
)
def test_no_pairs_is_a_sum_of_zero(edges):
    sample = Sample(jnp.ones((3, 3)), edges=edges)
    for f in (
        pair_sum(r),
        pair_sum(r, chunk=2),
        derivative(pair_sum(r)),
        derivative(pair_sum(r), across=True),
    ):
        assert not np.asarray(evaluate(f, sample)).any()
    assert not np.asarray(evaluate(derivative(pair_sum(d, to="system")), sample)).any()

    @jax.jit
    @jax.grad
    def slope(positions):
        return pair_sum(d, to="system")(Sample(positions, edges=edges))[0]

    assert not np.asarray(slope(jnp.ones((3, 3)))).any()


def test_no_particles_are_no_error():
    none = Sample(jnp.ones((0, 3)), edges=Edges.all_pairs(0))
    assert pair_sum(r)(none).shape == (0, 3, 1)
    assert not np.asarray(total(x)(none)).any()


def buffered(n=6, capacity=8):
    atoms = Atoms(
        jnp.asarray(POSITIONS),
        Index.integer(np.repeat([0, 1], 3), n=2, label=SystemId),
        jnp.arange(6.0),
    )
    return Buffered.pad(Table.arange(atoms, label=ParticleId), capacity - n)


def within_systems(n):
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j and i // 3 == j // 3]
    return Edges.between(*np.array(pairs).T, particles=n)


def test_a_table_of_particles_is_a_sample():
    atoms = buffered()
    sample = Sample.of(atoms, within_systems(8))
    alone = [
        Sample(p, edges=Edges.all_pairs(3), columns={"charge": q})
        for p, q in zip(
            jnp.asarray(POSITIONS).reshape(2, 3, 3), jnp.arange(6.0).reshape(2, 3), strict=True
        )
    ]
    for f in (pair_sum(bump, to="system"), total(column("charge") * x)):
        close(evaluate(f, sample), np.stack([evaluate(f, part) for part in alone]))
    forces = derivative(pair_sum(bump, to="system"))
    found = evaluate(forces, sample)
    close(found[:6], np.concatenate([evaluate(forces, part) for part in alone]))
    assert not np.asarray(found)[6:].any()


def test_edges_are_read_by_the_keys_of_the_table():
    keys = (ParticleId(10), ParticleId(20), ParticleId(30))
    table = Table(
        keys, Atoms(jnp.asarray(POSITIONS[:3]), Index.zeros(3, label=SystemId), jnp.ones(3))
    )
    edges = Edges(Index(keys[1:], [[0, 1]]))
    close(
        pair_sum(r)(Sample.of(table, edges))[:, :, 0],
        [[0] * 3, POSITIONS[2] - POSITIONS[1], [0] * 3],
    )
    with pytest.raises((KeyError, ValueError)):
        Sample.of(table, Edges(Index((ParticleId(20), ParticleId(40)), [[0, 1]])))


def test_rows_out_of_order_are_noticed():
    rows = Edges.rows([[1], [0], [0]])
    with pytest.raises(ValueError, match="are not in rows"):
        Edges(rows.indices[::-1], per_particle=1)
    mixed = Table.arange(rows)[Index.integer([2, 1, 0], n=3)]
    with pytest.raises(ValueError, match="are not in rows"):
        Sample(jnp.ones((3, 3)), edges=mixed)

    @jax.jit
    def evaluate(order):
        some = Table.arange(rows)[Index.integer(order, n=3)]
        return pair_sum(r)(Sample(jnp.ones((3, 3)), edges=some))

    for order, fails in (([0, 1, 2], False), ([2, 1, 0], True)):
        _, checks = with_runtime_assertions(evaluate)(jnp.array(order))
        assert any(bool(check.failed) for check in checks) == fails


def test_edges_between_systems_are_refused():
    system = Index.integer([0, 0, 1], n=2, label=SystemId)
    with pytest.raises(ValueError, match="joins particle 1 of system 0 and 2 of 1"):
        Sample(jnp.ones((3, 3)), edges=Edges.between([0, 1], [1, 2], 3), system=system)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_suggested_chunk_is_the_largest_that_fits(layout):
    sample = Sample(jnp.zeros((20, 3)), edges=edges_of(layout, 20)).meta
    f = pair_sum(bump * r)
    needed = f.memory_hint(particle_size=20, sample=sample).per_sample_bytes
    assert f.suggest_chunk_size(needed, particle_size=20, sample=sample) is None
    for limit in (needed - 1, needed // 2, needed // 5):
        chunk = f.suggest_chunk_size(max_per_sample_bytes=limit, particle_size=20, sample=sample)
        assert chunk is not None
        hints = [
            f.chunked(n).memory_hint(particle_size=20, sample=sample).per_sample_bytes
            for n in (chunk, chunk + 1)
        ]
        assert hints[0] <= limit < hints[1]
    with pytest.raises(ValueError, match="with the smallest chunk"):
        f.suggest_chunk_size(100, particle_size=20, sample=sample)


def test_chunks_without_a_pair_are_evaluated_where_the_others_are():
    longest = constant(1.5)
    energy = constant(30.0) * apply(jnp.log, 1 - (d / longest) ** 2)
    positions = jnp.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    sample = Sample(positions, edges=Edges.between([0, 1, 3, 3], [1, 0, 3, 3], particles=3))
    f = pair_sum(energy, to="system")
    whole, chunked = (gradient(g, sample) for g in (f, f.chunked(2)))
    jax.tree.map(close, jax.tree.leaves(chunked), jax.tree.leaves(whole))


def test_steps_after_a_sum_are_not_taken_at_absent_particles():
    there = jnp.array([True, True, False])
    sample = Sample(jnp.asarray(POSITIONS[:3]), mask=there, edges=Edges.all_pairs(3))
    few = Sample(jnp.asarray(POSITIONS[:2]), edges=Edges.all_pairs(2))
    density = constant(2.0) * pair_sum(d**-1) ** -1
    for f in (density, total(apply(jnp.log, density)), derivative(density) * density**-1):
        masked, alone = (gradient(f, of) for of in (sample, few))
        jax.tree.map(close, jax.tree.leaves(masked), jax.tree.leaves(alone))


def test_ends_are_seen_where_they_are():
    far = jnp.array([[5e4, 0, 0], [1e-4, 0, 0]], jnp.float32)
    edges = Edges.between([0], [1], particles=2)
    assert pair_sum(second(x))(Sample(far, edges=edges))[0, 0, 0] == far[1, 0]
    shifted = Sample(
        jnp.asarray(POSITIONS[:2]), edges=Edges.between([0], [1], 2, jnp.array([[2.0, 0, 0]]))
    )
    close(pair_sum(second(x) - first(x))(shifted), pair_sum(r)(shifted))


def test_edges_to_absent_particles_join_nothing():
    system = Index.integer([0, 0, 3, 2], n=3, label=SystemId)
    positions = jnp.asarray(POSITIONS[:4])
    stale, alone = (
        pair_sum(r)(Sample(positions, edges=edges, system=system))
        for edges in (Edges.between([0, 0], [1, 2], 4), Edges.between([0], [1], 4))
    )
    close(stale, alone)
