"""Laws that every state function obeys."""

import dataclasses
import functools
import inspect
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from statefunc.expressions import (
    ACROSS,
    ALL,
    COLLECTIVE,
    LAYOUTS,
    POINTWISE,
    evaluate,
    nodes,
    sample_of,
)

import instar.statefunc
from instar.core.data import Index
from instar.core.typing import ParticleId, SystemId
from instar.statefunc import ContractError, Edges, Sample, StateFunction

pytestmark = pytest.mark.usefixtures("quickly_compiled")

N = 5
IN_CI = {
    "column",
    "monomials",
    "bessel",
    "fourier",
    "function",
    "product",
    "concatenate",
    "einsum match",
    "linear",
    "second derivative",
    "total",
    "per system to particles",
    "pairs in chunks",
    "both ends",
    "fitted",
    "forces",
    "product of pair sums",
    "pairs across",
    "any function across",
    "hessian",
}


def some_in_ci(names):
    """These functions; where each compiles its own program, `make test` takes one of a kind."""
    assert set(ALL) >= IN_CI
    return [n if n in IN_CI else pytest.param(n, marks=pytest.mark.long) for n in names]


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


def close(actual, expected, tolerance=1e-10):
    scale = max(1.0, float(jnp.abs(expected).max(initial=0)))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def part_of(sample, key, edges=None):
    """Some samples of a batch, or some particles of a sample, with other edges if given."""
    return Sample(
        sample.positions[key],
        sample.velocities[key],
        edges=sample.edges if edges is None else edges,
        columns={name: values[key] for name, values in sample.columns.items()},
    )


def many_systems(parts, offsets):
    """Samples as the systems of one flat sample."""
    pairs = [np.asarray(p.edges.indices.indices) + o for p, o in zip(parts, offsets, strict=False)]
    sizes = [len(part.positions) for part in parts]
    first, second = np.concatenate(pairs).T
    return Sample(
        jnp.concatenate([part.positions for part in parts]),
        jnp.concatenate([part.velocities for part in parts]),
        edges=Edges.between(first, second, sum(sizes)),
        system=Index.integer(np.repeat(range(len(parts)), sizes), n=len(parts), label=SystemId),
        columns={"charge": jnp.concatenate([part.columns["charge"] for part in parts])},
    )


def test_the_list_holds_every_kind_of_node():
    kinds = set()
    for module in pkgutil.iter_modules(instar.statefunc.__path__, "instar.statefunc."):
        loaded = __import__(module.name, fromlist=["_"])
        for _, kind in inspect.getmembers(loaded, inspect.isclass):
            if issubclass(kind, StateFunction) and not inspect.isabstract(kind):
                kinds.add(kind)
    assert {type(node) for f in ALL.values() for node in nodes(f)} == kinds


@pytest.mark.parametrize("name", ALL)
def test_values_have_the_declared_shape(name):
    f = ALL[name]
    value = evaluate(f, sample_of(N))
    assert value.shape == (N,) * f.pdepth + (f.dim or 1,) * f.rank + (f.n_features,)
    assert value.dtype == jnp.float64
    assert np.isfinite(value).all()


@pytest.mark.parametrize("name", ["fourier", "fitted", "forces", "pairs across", "of any function"])
def test_uncompiled_values_are_the_same(name):
    close(ALL[name](sample_of(N)), evaluate(ALL[name], sample_of(N)))


@pytest.mark.parametrize("name", some_in_ci(ALL))
def test_values_follow_the_type_of_the_positions(name):
    exact = sample_of(N)
    single = jax.tree.map(lambda a: a.astype(jnp.float32) if a.dtype == float else a, exact)
    value = evaluate(ALL[name], single)
    assert value.dtype == jnp.float32
    close(value.astype(float), evaluate(ALL[name], exact), 1e-4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", some_in_ci(COLLECTIVE | ACROSS))
def test_the_order_of_edges_does_not_matter(name, layout):
    close(evaluate(ALL[name], sample_of(N, layout)), evaluate(ALL[name], sample_of(N)))


@pytest.mark.parametrize("name", some_in_ci(ALL))
def test_a_batch_is_its_samples_one_by_one(name):
    samples = sample_of(N, batch=(3,))
    together = evaluate(ALL[name], samples)
    for k in (0, 2):
        close(together[k], evaluate(ALL[name], part_of(samples, k)), 1e-12)


@pytest.mark.parametrize("name", ["product", "fitted", "forces", "pairs across"])
def test_batches_have_any_number_of_axes_and_may_bring_their_own_edges_and_masks(name):
    f, samples = ALL[name], sample_of(N, "rows", batch=(2, 2))
    orders = [np.random.default_rng(k).permutation(N) for k in range(4)]
    pairs = [[(i, j) for j in order for i in order if i != j] for order in orders]
    entries = np.array(pairs).reshape(2, 2, -1, 2)
    own = Edges(Index.integer(entries, n=N, label=ParticleId))
    there = jnp.ones((2, 2, N), bool)
    together = evaluate(f, dataclasses.replace(samples, mask=there, edges=own))
    shared = evaluate(f, samples)
    for k in ((0, 1), (1, 0)):
        edges = Edges(Index.integer(entries[k], n=N, label=ParticleId))
        close(together[k], evaluate(f, part_of(samples, k, edges)), 1e-12)
        close(shared[k], evaluate(f, part_of(samples, k)), 1e-12)


@pytest.mark.parametrize("name", some_in_ci(ALL))
def test_an_absent_particle_is_as_good_as_none(name):
    f, there = ALL[name], np.array([True, False, False, True, False])
    whole = sample_of(N, "list" if f.rank else "all")
    masked = dataclasses.replace(
        whole,
        positions=jnp.where(there[:, None], whole.positions, jnp.nan),
        mask=jnp.asarray(there),
    )
    few = part_of(whole, there, sample_of(2).edges)
    value = evaluate(f, masked)
    kept = value[np.ix_(*[there] * f.pdepth)] if f.pdepth else value
    close(kept, evaluate(f, few), 1e-9)
    assert f.pdepth == 0 or not np.asarray(value)[~there].any()


@jax.jit
@functools.partial(jax.grad, argnums=(0, 1))
def gradients(f, positions, sample):
    """Of a loss, by the parameters of a function and by positions."""
    return (f(dataclasses.replace(sample, positions=positions)) ** 2).sum()


@pytest.mark.parametrize("name", some_in_ci(ALL))
def test_gradients_ignore_absent_particles(name):
    f, there = ALL[name], np.array([True, True, False, True, False])
    whole = dataclasses.replace(sample_of(N, "all" if f.rank else "rows"), mask=jnp.asarray(there))
    nan = jnp.where(there[:, None], whole.positions, jnp.nan)
    by_parameters, by_positions = gradients(f, nan, whole)
    assert np.isfinite(by_positions).all()
    assert not np.asarray(by_positions)[~there].any()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(by_parameters))
    check_slope(f, dataclasses.replace(whole, positions=nan), by_positions)


@pytest.mark.long
@pytest.mark.parametrize("name", ALL)
def test_gradients_are_those_of_finite_differences(name):
    f, sample = ALL[name], sample_of(N)
    check_slope(f, sample, gradients(f, sample.positions, sample)[1])


def check_slope(f, sample, by_positions):
    """Along a random direction, the gradient is the difference of values."""
    direction = jnp.asarray(np.random.default_rng(2).normal(size=(N, 3)))

    def loss(shift):
        moved = dataclasses.replace(sample, positions=sample.positions + shift * direction)
        return (evaluate(f, moved) ** 2).sum()

    step = 1e-5
    close((by_positions * direction).sum(), (loss(step) - loss(-step)) / (2 * step), 1e-6)


@pytest.mark.parametrize("name", ALL)
def test_renaming_the_particles_renames_the_values(name):
    f, order = ALL[name], np.array([3, 0, 4, 1, 2])
    sample = sample_of(N)
    renamed = part_of(sample, order)
    expected = evaluate(f, sample)
    close(evaluate(f, renamed), expected[np.ix_(*[order] * f.pdepth)] if f.pdepth else expected)


PER_SYSTEM = [n for n in ALL if n not in (*ACROSS, "product of pair sums", "of any function")]


@pytest.mark.parametrize("name", some_in_ci(PER_SYSTEM))
def test_many_systems_in_one_table_are_evaluated_one_by_one(name):
    f, sizes = ALL[name], (2, N, 2)
    parts, offsets = [sample_of(n) for n in sizes], np.cumsum([0, *sizes])
    flat = many_systems(parts, offsets)
    alone = [evaluate(f, part) for part in parts]
    close(evaluate(f, flat), jnp.concatenate(alone) if f.pdepth else jnp.stack(alone))


@pytest.mark.parametrize("name", [n for n in ALL if n not in PER_SYSTEM and "pairs" not in n])
def test_what_belongs_to_one_system_is_not_mixed_with_others(name):
    flat = many_systems([sample_of(2)] * 2, [0, 2])
    if name == "local across":
        assert not np.asarray(ALL[name](flat))[:2, 2:].any()
    else:
        with pytest.raises(ContractError, match="one system at a time"):
            ALL[name](flat)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("mode", ["forward", "grad"])
def test_hints_grow_with_the_particles_and_the_type(name, mode):
    f = ALL[name]

    def bytes_of(particles, dtype=None):
        return f.memory_hint(particle_size=particles, mode=mode, dtype=dtype).per_sample_bytes

    assert bytes_of(1) <= bytes_of(10) <= bytes_of(20) <= 8 * bytes_of(10)
    assert bytes_of(20, jnp.float64) == 2 * bytes_of(20)
    value = 4 * 10**f.pdepth * (f.dim or 1) ** f.rank * f.n_features
    assert bytes_of(10) >= value or mode == "grad"


@pytest.mark.parametrize("name", some_in_ci(POINTWISE))
def test_a_function_of_one_particle_is_local(name):
    f, sample = POINTWISE[name], sample_of(N)
    assert f.local
    few = part_of(sample, slice(2), sample_of(2).edges)
    close(evaluate(f, few), evaluate(f, sample)[:2])


@pytest.mark.parametrize("name", ALL)
def test_formulas_are_one_line_and_say_what_is_read(name):
    formula = str(ALL[name])
    assert "\n" not in formula
    assert formula in repr(ALL[name])
    assert any(symbol in formula for symbol in ("x", "v", "r", "charge"))
