"""What the nodes compute, against NumPy and worked by hand."""

import dataclasses
import itertools
import math

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from instar.statefunc import (
    Sample,
    add,
    apply,
    bessel,
    column,
    concatenate,
    constant,
    coordinates,
    derivative,
    distance,
    einsum,
    first,
    fourier,
    function,
    gaussians,
    linear_combination,
    monomials,
    multiply,
    norm,
    second,
    separation,
    total,
    unit_vectors,
    vector_features,
    velocities,
    wavevectors,
)

pytestmark = pytest.mark.usefixtures("quickly_compiled")

x, v = coordinates(2), velocities(2)
POINTS = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25]])
SPEEDS = np.array([[0.1, 0.2], [-0.3, 0.4], [0.0, 1.0]])


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


def value(f, positions=POINTS, **parts):
    return np.asarray(f(Sample(jnp.asarray(positions), **parts)))


def moving(f):
    return value(f, velocities=jnp.asarray(SPEEDS))


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_leaves_read_the_sample():
    same(moving(x)[..., 0], POINTS)
    same(moving(v)[..., 0], SPEEDS)
    charges = jnp.array([1.0, -1.0, 2.0])
    same(value(column("charge"), columns={"charge": charges})[:, 0], charges)
    spins = jnp.asarray(SPEEDS[:, :, None] * [1.0, 2.0, 3.0])
    spin = column("spin", rank=1, dim=2, n_features=3)
    same(value(spin, columns={"spin": spins}), spins)


def test_constants_are_the_same_for_every_state():
    same(value(constant(2.5)), [2.5])
    same(value(constant([1.0, 2.0])), [1, 2])
    same(value(constant([1.0, 2.0], rank=1)), [[1], [2]])
    same(value(unit_vectors(2)), np.eye(2))


def test_monomials_come_by_order():
    a, b = POINTS.T
    same(value(monomials(x, 2)), np.stack([a**0, a, b, a * a, a * b, b * b], -1))
    same(value(monomials(x, 2, lowest=2)), np.stack([a * a, a * b, b * b], -1))
    same(value(monomials(x, 0)), np.ones((3, 1)))


@given(st.integers(1, 3), st.integers(0, 4))
def test_monomials_are_all_products_of_so_many_coordinates(dim, order):
    positions = np.random.default_rng(dim).normal(size=(2, dim))
    f = monomials(coordinates(dim), order)
    products = [
        np.prod(positions[:, list(factors)], axis=1)
        for n in range(order + 1)
        for factors in itertools.combinations_with_replacement(range(dim), n)
    ]
    assert f.n_features == math.comb(dim + order, order)
    same(value(f, positions), np.stack(products, -1))


def test_vector_features_point_along_each_axis():
    scalars = value(monomials(x, 1))
    same(
        value(vector_features(monomials(x, 1))),
        np.einsum("pk,ia->pika", scalars, np.eye(2)).reshape(3, 2, 6),
    )


def test_gaussians_and_bessel_functions_of_a_distance():
    radius = np.linalg.norm(POINTS, axis=-1)
    centers = np.array([0.5, 1.5])
    plain = np.exp(-((radius[:, None] - centers) ** 2) / (2 * 0.4**2))
    same(value(gaussians(norm(x), centers, 0.4)), plain)
    cut = np.where(radius < 3, 0.5 * (1 + np.cos(np.pi * radius / 3)), 0)[:, None]
    same(value(gaussians(norm(x), centers, 0.4, cutoff=3.0)), plain * cut)
    k = np.array([1, 2, 3])
    waves = np.sqrt(2 / 3) * np.sin(k * np.pi * radius[:, None] / 3) / radius[:, None]
    same(value(bessel(norm(x), 3, cutoff=3.0)), waves * cut)
    at_zero = value(bessel(norm(x), 3, cutoff=3.0), np.zeros((1, 2)))[0]
    same(at_zero, np.sqrt(2 / 3) * k * np.pi / 3)


def test_fourier_features_are_periodic_in_the_box():
    lengths = np.array([4.0, 5.0])
    f = fourier(x, wavevectors(lengths, 2))
    assert f.n_features == 2 * ((5 * 5 - 1) // 2)
    same(value(f), value(f, POINTS + np.array([4.0, -10.0])))
    q = np.asarray(wavevectors(lengths, 2))
    phase = POINTS @ q.T
    same(value(f)[:, 0::2], np.cos(phase))
    same(value(f)[:, 1::2], np.sin(phase))


def test_a_function_of_the_user_is_checked_against_its_contract():
    f = function(lambda sample: sample.positions[..., None] ** 2, rank=1, dim=2, local=True)
    same(value(f)[..., 0], POINTS**2)
    scaled = function(
        lambda sample, k: k["scale"] * sample.positions.sum(),
        dim=2,
        pdepth=0,
        parameters={"scale": jnp.array(2.0)},
        name="sum",
    )
    with pytest.raises(ValueError, match=r"the shape \(1,\) here, but it gave \(\)"):
        value(scaled)


def test_parameters_of_a_function_are_differentiated():
    f = function(
        lambda sample, k: (k * sample.positions.sum())[None],
        dim=2,
        pdepth=0,
        parameters=jnp.array(2.0),
    )
    gradient = jax.grad(lambda f: f(jnp.asarray(POINTS))[0])(f)
    same(gradient.parameters, POINTS.sum())


NUMBERS = st.floats(-2, 2, allow_nan=False)


VECTORS = [
    lambda a: a * x + v,
    lambda _: norm(x) * v,
    lambda a: a * v * norm(v),
    lambda a: x * a - v,
]
CHOICES = st.tuples(st.integers(0, 3), NUMBERS)


@given(st.tuples(CHOICES, CHOICES, CHOICES), NUMBERS)
def test_sums_and_products_obey_the_rules_of_algebra(choices, a):
    f, g, h = (VECTORS[kind](number) for kind, number in choices)

    def equal(left, right):
        np.testing.assert_allclose(moving(left), moving(right), rtol=1e-9, atol=1e-9)

    equal((f + g) + h, f + (g + h))
    equal(f + g, g + f)
    equal(a * (f + g), a * f + a * g)
    equal((a * norm(g)) * f, a * (norm(g) * f))
    equal(f - f, 0 * f)
    equal(0 * f - -1 * f, f)
    equal(add(f, g, h), f + g + h)
    equal(multiply(norm(f), norm(g), h), norm(f) * norm(g) * h)
    equal(concatenate(concatenate(f, g), h), concatenate(f, concatenate(g, h)))
    equal(concatenate(f, g)[1], g)
    equal(f / 2, 0.5 * f)
    equal(2 / (1 + norm(f)), (1 + norm(f)) ** -1 * 2)


EINSUMS = [
    "i,j->ij",
    "i,j->ji",
    "i,i->",
    "i,i->i",
    "ij,j->i",
    "ij,i->j",
    "ij,k->kij",
    "ii,j->j",
    "ij,ji->",
    ",i->i",
    ",ij->ji",
    "i,j,k->ikj",
    "ij,jk,k->i",
    "ii->",
    "ij->ji",
]


@pytest.mark.parametrize("subscripts", EINSUMS)
@pytest.mark.parametrize("features", ["outer", "match"])
def test_einsum_is_that_of_numpy(subscripts, features):
    inputs, output = subscripts.split("->")
    generator = np.random.default_rng(0)
    ranks = [len(part) for part in inputs.split(",")]
    arrays = [generator.normal(size=(2,) * rank + (3,)) for rank in ranks]
    functions = [
        constant(a, rank=rank) * (1 + norm(x)) for a, rank in zip(arrays, ranks, strict=True)
    ]
    scale = (1 + np.linalg.norm(POINTS, axis=-1)) ** len(ranks)
    letters = "XYZ" if features == "outer" else "XXX"
    own = letters[: len(ranks)] if features == "outer" else "X"
    spec = ",".join(p + k for p, k in zip(inputs.split(","), letters, strict=False))
    expected = np.einsum(f"{spec}->{output}{own}", *arrays).reshape((2,) * len(output) + (-1,))
    f = einsum(subscripts, *functions, features=features)
    same(value(f), np.multiply.outer(scale, expected))


def test_linear_combinations_weigh_the_features():
    weights = np.arange(12.0).reshape(6, 2)
    f = linear_combination(monomials(x, 2), weights)
    same(value(f), value(monomials(x, 2)) @ weights)
    gradient = jax.grad(lambda f: f(jnp.asarray(POINTS))[:, 0].sum())(f)
    same(gradient.weights[:, 0], value(monomials(x, 2)).sum(0))
    assert not np.asarray(gradient.weights)[:, 1].any()


def test_a_constant_stays_the_parameter_that_it_is():
    k = constant(2.0, symbol="k")
    gradient = jax.grad(lambda f: f(jnp.asarray(POINTS[:1]))[0, 0])(norm(x) / k)
    same(jax.tree.leaves(gradient)[0], [-np.linalg.norm(POINTS[0]) / 4])
    assert str(norm(x) / k) == "|x|·k^-1"
    assert str(norm(x) / 2) == "|x|·0.5"


def test_functions_with_many_parameters_are_evaluated_at_once():
    many = np.random.default_rng(0).normal(size=(4, 6, 1))
    f = linear_combination(monomials(x, 2), many[0])
    stacked = dataclasses.replace(f, weights=jnp.asarray(many))
    axes = jax.tree.map(lambda _: 0, stacked)
    values = jax.vmap(lambda f: f(jnp.asarray(POINTS)), in_axes=(axes,))(stacked)
    same(values[2], value(linear_combination(monomials(x, 2), many[2])))


def test_derivatives_put_the_new_axis_last():
    matrix = constant([[1.0, 2.0], [3.0, 4.0]], rank=2)
    linear = einsum("ij,j->i", matrix, x)
    same(value(derivative(linear))[..., 0], np.broadcast_to([[1, 2], [3, 4]], (3, 2, 2)))
    across = value(derivative(linear, across=True))[..., 0]
    same(across, np.einsum("ij,ab->ijab", np.eye(3), [[1, 2], [3, 4]]))
    of_all = value(derivative(total(linear)))[..., 0]
    same(of_all, np.broadcast_to([[1, 2], [3, 4]], (3, 2, 2)))
    many = concatenate(*[total(linear)] * 5)  # more components than coordinates
    same(value(derivative(many))[..., 4], of_all)


def test_a_state_without_particles_is_a_bare_point():
    y = coordinates(2, pdepth=0)
    f = linear_combination(monomials(y, 2), np.arange(6.0))
    alone = f(jnp.asarray(POINTS[0]))
    assert alone.shape == (1,)
    same(f(jnp.asarray(POINTS)), value(linear_combination(monomials(x, 2), np.arange(6.0))))
    same(derivative(norm(y) ** 2)(jnp.asarray(POINTS))[..., 0], 2 * POINTS)


def test_a_pair_is_a_sample_of_two_particles():
    two = jnp.asarray(POINTS[:2])
    r = POINTS[1] - POINTS[0]
    same(separation(2)(two)[:, 0], r)
    same(distance(2)(two), [np.linalg.norm(r)])
    same((second(x) - first(x))(two)[:, 0], r)
    same(derivative(distance(2))(two)[..., 0], np.stack([-r, r]) / np.linalg.norm(r))


def test_the_square_of_a_length_has_derivatives_at_zero():
    origin = jnp.zeros((1, 2))
    same(derivative(derivative(norm(x) ** 2))(origin)[0, ..., 0], 2 * np.eye(2))
    same(derivative(norm(x))(origin), np.zeros((1, 2, 1)))
    same(value(norm(x) ** 6), value(norm(x)) ** 6)
    same(derivative((norm(x) ** 2) ** 0.5)(origin), np.zeros((1, 2, 1)))
    same(value((norm(x) ** 2) ** -1.5), value(norm(x)) ** -3)


def test_totals_sum_over_particles():
    same(value(total(x))[:, 0], POINTS.sum(0))
    same(value(x * total(norm(x)))[..., 0], POINTS * np.linalg.norm(POINTS, axis=-1).sum())


@pytest.mark.parametrize(
    ("f", "formula"),
    [
        (2 * x + v, "2·x + v"),
        (x - v, "x - v"),
        (-x, "-x"),
        ((x + v) * norm(x), "(x + v)·|x|"),
        ((norm(x) ** 2) ** 3, "|x|⁶"),
        ((norm(x) ** 3) ** 0.5, "(|x|^3)^0.5"),
        ((norm(x) ** 2) ** -1, "|x|^-2"),
        (norm(x) ** -1, "|x|^-1"),
        (monomials(x, 2), "x^≤2"),
        (monomials(x + v, 2, lowest=1), "(x + v)^1…2"),
        (apply(jnp.tanh, x + v), "tanh(x + v)"),
        (concatenate(x, 2 * v)[0], "[x, 2·v][0]"),
        (einsum("i,j->ij", x, v), 'einsum("i,j->ij", x, v)'),
        (gaussians(norm(x) + 1, [1.0], 0.5), "exp(-((|x| + 1) - cₖ)²/2w²)"),
        (linear_combination(x, [2.0]), "Σₖ wₖ·(x)ₖ"),
        (total(norm(x)) * norm(v), "Σᵢ(|x|)·|v|"),
        (derivative(norm(x)), "∂|x|ᵢ/∂xᵢ"),
        (derivative(total(norm(x))), "∂Σᵢ(|x|)/∂xⱼ"),
        (second(x) - first(v), "x₂ - v₁"),
    ],
)
def test_expressions_print_as_formulas(f, formula):
    assert str(f) == formula
