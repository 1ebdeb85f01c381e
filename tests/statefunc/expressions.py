"""Expressions that between them hold every kind of node, and samples to evaluate them on."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from instar.statefunc import (
    Edges,
    Sample,
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
    norm,
    pair_sum,
    second,
    separation,
    total,
    vector_features,
    velocities,
    wavevectors,
)

x, v, charge = coordinates(3), velocities(3), column("charge")
r, d = separation(3), distance(3)
bump = apply(jnp.exp, -1 * d**2)
polynomial = monomials(x, 2)
features = gaussians(d, [0.5, 1.0, 2.0], 0.5, cutoff=3.0) * r


def center_of_neighbors(sample):
    there = jnp.ones(len(sample.positions), bool) if sample.mask is None else sample.mask
    center = sample.positions.mean(0, where=there[:, None])
    return jnp.broadcast_to(center, sample.positions.shape)


def radius(sample, scale):
    return scale * jnp.sqrt(1 + (sample.positions**2).sum(-1, keepdims=True))


POINTWISE = {
    "coordinates": x,
    "velocities": v,
    "column": charge,
    "constant": x + constant([1.0, 2.0, 3.0], rank=1),
    "monomials": polynomial,
    "vector monomials": vector_features(polynomial),
    "gaussians": gaussians(norm(x), [0.0, 1.0], 0.7),
    "bessel": bessel(norm(x), 3, cutoff=4.0),
    "fourier": fourier(x, wavevectors([5.0, 6.0, 7.0], 1)),
    "function": function(radius, dim=3, parameters=jnp.array(2.0), local=True),
    "sum": x + 2 * v - x,
    "product": norm(v) * x * charge,
    "quotient": x / (1 + norm(x)),
    "concatenate": concatenate(x, v, 2 * x),
    "slice": vector_features(polynomial)[2:20:3],
    "einsum outer": einsum("i,j->ij", x, v),
    "einsum inner": einsum("i,i->", x, vector_features(polynomial)),
    "einsum trace": einsum("ii->", einsum("i,j->ij", x, v)),
    "einsum match": einsum("i,j->ji", concatenate(x, v), concatenate(v, x), features="match"),
    "linear": linear_combination(vector_features(polynomial), np.linspace(-1, 1, 30)),
    "linear to many": linear_combination(polynomial, np.linspace(-1, 1, 20).reshape(10, 2)),
    "apply": apply(jnp.tanh, x),
    "norm": norm(einsum("i,j->ij", x, v)),
    "derivative": derivative(polynomial),
    "derivative of vectors": derivative(norm(x) * x),
    "second derivative": derivative(derivative(norm(x) ** 3)),
}

COLLECTIVE = {
    "total": total(norm(x) ** 2),
    "per system to particles": x * total(norm(x)),
    "pairs": pair_sum(bump * r),
    "pair features": pair_sum(features),
    "pairs in chunks": pair_sum(features, chunk=5),
    "derivative of a total vector": derivative(total(norm(x) * v)),
    "energy": pair_sum(bump, to="system"),
    "energy in chunks": pair_sum(bump, to="system", chunk=3),
    "both ends": pair_sum(derivative(bump)),
    "alignment": pair_sum(bump * (second(v) - first(v))),
    "charges": pair_sum(first(charge) * second(charge) * bump, to="system"),
    "fitted": linear_combination(pair_sum(features), [1.0, -2.0, 0.5]),
    "forces": -1 * derivative(pair_sum(bump, to="system")),
    "by own position": derivative(pair_sum(bump * r)),
    "by own position, fitted": derivative(linear_combination(pair_sum(features), [1.0, -2, 0.5])),
    "with a local part": derivative(pair_sum(bump * r) + norm(x) * x),
    "product of pair sums": derivative(pair_sum(bump) * pair_sum(bump * r)),
    "of any function": derivative(total(norm(x)) * norm(x)),
}

ACROSS = {
    "pairs across": derivative(pair_sum(bump * r), across=True),
    "pairs across in chunks": derivative(pair_sum(features, chunk=7), across=True),
    "local across": derivative(polynomial, across=True),
    "any function across": derivative(
        function(center_of_neighbors, rank=0, dim=3, n_features=3), across=True
    ),
    "hessian": derivative(derivative(pair_sum(bump, to="system")), across=True),
    "product across": derivative(pair_sum(bump) * norm(x), across=True),
}

ALL = POINTWISE | COLLECTIVE | ACROSS

LAYOUTS = ("list", "rows", "all")


def edges_of(layout: str, n: int) -> Edges:
    """Every particle with every other, in one of the three orders."""
    if layout == "all":
        return Edges.all_pairs(n)
    here, there = np.nonzero(~np.eye(n, dtype=bool))
    if layout == "rows":
        return Edges.rows(there.reshape(n, n - 1))
    mixed = np.random.default_rng(0).permutation(len(here))
    return Edges.between(here[mixed], there[mixed], n)


@functools.cache
def _numbers(n: int, batch: tuple[int, ...]):
    generator = np.random.default_rng(n)
    return [generator.normal(size=(*batch, n, 3)) for _ in range(2)] + [
        generator.normal(size=(*batch, n))
    ]


def sample_of(n: int, layout: str = "list", batch: tuple[int, ...] = (), **parts) -> Sample:
    """Particles at random, with everything that the expressions read."""
    dtype = jnp.result_type(float)
    positions, velocity, charges = (jnp.asarray(a, dtype) for a in _numbers(n, batch))
    given = {"velocities": velocity, "columns": {"charge": charges}, "edges": edges_of(layout, n)}
    return Sample(positions, **given | parts)


def nodes(f):
    """A function and everything that it is made of."""
    return [f, *(node for child in f.children for node in nodes(child))]


@jax.jit
def evaluate(f, sample):
    """Compiled once for each structure, whichever test asks."""
    return f(sample)
