"""What does not fit together is refused, with what was wrong and what to do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.core.data import Index, Table
from instar.core.typing import ParticleId, SystemId
from instar.statefunc import (
    ContractError,
    Edges,
    Sample,
    apply,
    bessel,
    column,
    concatenate,
    constant,
    coordinates,
    derivative,
    einsum,
    first,
    fourier,
    gaussians,
    linear_combination,
    monomials,
    norm,
    pair_sum,
    second,
    separation,
    total,
    velocities,
)

x, v, r = coordinates(3), velocities(3), separation(3)
X = jnp.ones((4, 3))
PAIRS = Edges.all_pairs(4)

EXPRESSIONS = {
    "A sum takes functions of one rank, not x of rank 1 and |x| of rank 0.": lambda: x + norm(x),
    "A sum takes functions with as many features, or one, not 2 and 3.": lambda: (
        concatenate(x, v) + concatenate(x, v, x)
    ),
    "A sum takes functions in one space, but dim is 3 for x, 2 for x.": lambda: x + coordinates(2),
    "A sum takes functions of particles (True) or of a bare point (False), but it is "
    "True for x, False for x.": lambda: x + coordinates(3, pdepth=0),
    "A product takes scalars and at most one tensor, not x of rank 1 and v of rank 1.": lambda: (
        x * v
    ),
    "A product takes functions with as many features, or one, not 2 and 3.": lambda: (
        concatenate(norm(x), norm(v)) * monomials(coordinates(2), 1)
    ),
    "concatenate takes at least one function.": concatenate,
    "concatenate takes functions of one rank, not x of rank 1 and |x| of rank 0.": lambda: (
        concatenate(x, norm(x))
    ),
    "x has 1 features; there is no 1.": lambda: x[1],
    "x has 1 features, of which slice(1, None, None) are none.": lambda: x[1:],
    "A feature is named by its number or by a slice, not by [0].": lambda: x[[0]],
    "'i,i' does not say which axes are meant.": lambda: einsum("i,i", x, v),
    "'i,j->i' is for functions of rank [1, 1], not [1, 0].": lambda: einsum("i,j->i", x, norm(x)),
    "'i->ij': each letter of the result occurs there once, and in a function.": lambda: einsum(
        "i->ij", x
    ),
    "x^≤1 has 4 features, but the weights have the shape (3, 1).": lambda: linear_combination(
        monomials(x, 1), [1, 2, 3]
    ),
    "|x| is a scalar; norm takes a vector or a tensor.": lambda: norm(norm(x)),
    "gaussians takes one number, such as distance(3); x has rank=1, dim=3, pdepth=1, "
    "n_features=1.": lambda: gaussians(x, [1.0], 0.5),
    "Widths and cutoffs are lengths greater than zero, not 0.": lambda: gaussians(
        norm(x), [1.0], 0
    ),
    "Widths and cutoffs are lengths greater than zero, not -1.0.": lambda: bessel(
        norm(x), 3, cutoff=-1.0
    ),
    "x has dimension 3, but the wave vectors the shape (1, 2).": lambda: fourier(x, [[1.0, 0]]),
    "Monomials go from 0 ≤ lowest to order, not 3 to 2.": lambda: monomials(x, 2, lowest=3),
    "A function has one feature or more, not 0.": lambda: column("q", n_features=0),
    "A function of rank 1 needs dim, the dimension of space.": lambda: column("q", rank=1),
    "A column has pdepth 1, or 0 without particles, not 2.": lambda: column("q", pdepth=2),
    "A constant of rank 1 has the shape (dim,)*1 + (n_features,), not (2, 2, 2).": lambda: constant(
        np.ones((2, 2, 2)), rank=1
    ),
    "An exponent is a number, not Column.": lambda: x**x,
    "total sums a function with one value per particle; Σᵢ(x) has 0 particle axes.": lambda: total(
        total(x)
    ),
    "Σᵢ(x) has 0 particle axes.": lambda: first(total(x)),
    "A chunk has at least one edge, not 0.": lambda: pair_sum(r, chunk=0),
    'A sum over pairs goes to each "particle" or "system", not \'pair\'.': lambda: pair_sum(
        r, to="pair"
    ),
    "2 does not depend on positions.": lambda: derivative(constant(2.0)),
}


@pytest.mark.parametrize("message", EXPRESSIONS)
def test_functions_that_do_not_fit_are_refused(message):
    with raises(ContractError, message):
        EXPRESSIONS[message]()


EVALUATIONS = {
    "x is a function of positions (..., particles, dim) with dim = 3, but they have the shape "
    "(4, 2).": lambda: x(jnp.ones((4, 2))),
    "x is a function of positions (..., particles, dim) with dim = 3, but they have the shape "
    "(3,).": lambda: x(jnp.ones(3)),
    "v is not in the sample: it has no velocities.": lambda: v(X),
    "q is not in the sample: it has no q.": lambda: column("q")(X),
    "Column 'q' was declared with the shape (2,) per particle, but has (3,).": lambda: column(
        "q", n_features=2
    )(Sample(X, columns={"q": X})),
    "Σⱼ(r) is a sum over pairs, but the sample has no edges.": lambda: pair_sum(r)(X),
    "Σⱼ(|x|) is a sum over pairs within a sum over pairs.": lambda: pair_sum(
        second(pair_sum(first(norm(x)))) * r
    )(Sample(X, edges=PAIRS)),
    "r is of a pair, and has no meaning for 4 particles.": lambda: r(X),
    "x₂ is of a pair, and has no meaning for 4 particles.": lambda: second(x)(X),
    "r is of a pair, of which no particle may be absent.": lambda: r(
        Sample(X[:2], mask=jnp.array([True, False]))
    ),
    "φ(x) applies an elementwise function, but it turned the shape (3, 1, 4) into ().": lambda: (
        apply(lambda values: values.sum(), x)(X)
    ),
}


@pytest.mark.parametrize("message", EVALUATIONS)
def test_samples_that_do_not_fit_are_refused(message):
    message_of_inner = message.replace("Σⱼ(|x|)", "Σⱼ(|x|₁)")
    with raises(ContractError, message_of_inner):
        EVALUATIONS[message]()


SAMPLES = {
    "Positions are floating-point numbers, not int32.": lambda: Sample(jnp.ones((2, 3), jnp.int32)),
    "Positions have at least one axis, that of space: (particles, dim).": lambda: Sample(
        jnp.float32(1.0)
    ),
    "Positions have the shape (4, 3), velocities (3, 3).": lambda: Sample(X, X[:3]),
    "Positions have the shape (4, 3), mask (3,).": lambda: Sample(X, mask=jnp.ones(3, bool)),
    "A mask is True for particles that are there, not of float32.": lambda: Sample(
        X, mask=jnp.ones(4)
    ),
    "Positions have the shape (4, 3), column 'q' (3,).": lambda: Sample(
        X, columns={"q": jnp.ones(3)}
    ),
    "positions are a part of the sample already, not another column.": lambda: Sample(
        X, columns={"positions": X}
    ),
    "The edges name 5 particles, but there are 4.": lambda: Sample(X, edges=Edges.all_pairs(5)),
    "Positions have 3 coordinates, shifts of edges 2.": lambda: Sample(
        X, edges=Edges.between([0], [1], 4, jnp.zeros((1, 2)))
    ),
    "A sample with a system column is flat: positions (particles, dim), not (2, 4, 3).": lambda: (
        Sample(jnp.ones((2, 4, 3)), system=Index.zeros((4,), label=SystemId))
    ),
    "An edge has two ends: indices of shape (edges, 2), not (3, 3).": lambda: Edges(
        Index.zeros((3, 3), label=ParticleId)
    ),
    "There are 1 edges, but shifts of shape (2, 3).": lambda: Edges.between(
        [0], [1], 2, jnp.zeros((2, 3))
    ),
    "2 particles with 2 edges each are 4 edges, not 1.": lambda: Edges(
        Index.zeros((1, 2), 2, label=ParticleId), per_particle=2
    ),
    "A matrix of neighbors has a row for each particle, not the shape (2,).": lambda: Edges.rows(
        [0, 1]
    ),
}


@pytest.mark.parametrize("message", SAMPLES)
def test_parts_of_a_sample_that_do_not_fit_are_refused(message):
    with raises(ValueError, message):
        SAMPLES[message]()


def test_edges_are_named_by_numbers():
    with pytest.raises(TypeError):
        Edges.between([0.7], [1], 2)
    beyond = Sample(X, edges=Edges.between([2**40, 1], [0, 2], 4))
    assert np.asarray(pair_sum(norm(r) + 1)(beyond)).tolist() == [[0], [1], [0], [0]]


def test_a_table_without_positions_is_no_sample():
    with raises(TypeError, "A sample needs particles with positions, but ArrayImpl has none."):
        Sample.of(Table.arange(jnp.ones(3), label=ParticleId))


def test_arrays_of_numpy_leave_arithmetic_to_the_function():
    weighted = np.array([1.0, 2.0]) * norm(x)
    assert weighted.n_features == 2
    with jax.enable_x64(True):
        np.testing.assert_allclose(weighted(jnp.ones((1, 3))), np.sqrt(3) * np.array([[1, 2]]))


def test_functions_are_not_iterated():
    with pytest.raises(TypeError):
        list(x)
