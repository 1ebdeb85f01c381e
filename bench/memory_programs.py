"""Programs whose memory `bench/memory.py` predicts and measures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from fluid import CUTOFF, POTENTIAL, at_rest
from jax import Array, lax

from instar.core.result import as_result_function
from instar.neighbors import NeighborList
from instar.potentials import evaluate
from instar.statefunc import (
    Edges,
    Sample,
    StateFunction,
    apply,
    coordinates,
    derivative,
    distance,
    einsum,
    monomials,
    pair_sum,
    separation,
    vector_features,
)

PARTICLES, SKIN = 50, 0.3
RAGGED = [300, 500, 800, 1300, 2100]

place = coordinates(3)
vectors = vector_features(monomials(place, 3))
pairs = pair_sum(apply(jnp.exp, -1 * distance(3) ** 2, "exp") * separation(3))


@dataclasses.dataclass(frozen=True)
class Case:
    """A pure function, and what makes its arguments of ``given`` without any temporaries."""

    function: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    given: tuple[Any, ...] = ()


def of_array(function: Callable[[Array], Any], *shape: int) -> Case:
    def numbers() -> tuple[Array]:
        return (jnp.sin(lax.iota(jnp.float32, math.prod(shape))).reshape(shape),)

    return Case(function, numbers)


def of_frames(function: StateFunction, frames: int) -> Case:
    def values(x: Array) -> Array:
        return function(Sample(x, edges=Edges.all_pairs(PARTICLES)))

    return of_array(values, frames, PARTICLES, 3)


def gradient_of_frames(function: StateFunction, frames: int) -> Case:
    """Reverse mode: what is computed on the way is kept for the way back."""
    case = of_frames(function, frames)
    return Case(jax.grad(lambda x: jnp.square(case.function(x)).sum()), case.arguments)


def fluids(copies: int) -> Case:
    """Systems of different sizes in one table; the neighbor list is made on the way."""
    known = at_rest(RAGGED * copies, SKIN)
    sizes = known.neighbors.sizes

    def with_room(*tables: Any) -> tuple[Any, Any, NeighborList]:
        particles, systems = jax.tree.map(jnp.copy, tables)
        room = NeighborList.of(particles, systems, CUTOFF, SKIN, sizes=sizes)
        return particles, systems, room

    @as_result_function
    def energies_and_forces(particles: Any, systems: Any, neighbors: NeighborList) -> Any:
        neighbors = neighbors.updated(particles, systems)
        found = evaluate(POTENTIAL, particles, systems, neighbors)
        return found.energy, found.forces, neighbors

    return Case(energies_and_forces, with_room, (known.particles, known.systems))


def trap(x: Array) -> Array:
    """Some fusions would take the square matrix inside of themselves, unreported."""
    return jnp.linalg.norm(jnp.exp(-x @ x.T) @ x)


CASES: dict[str, Callable[[int], Case]] = {
    "monomials": partial(of_frames, vectors),
    "einsum of features": partial(of_frames, einsum("i,j->ij", vectors[:10], place)),
    "pair sum": partial(of_frames, pairs),
    "pair sum, derivative by own particle": partial(of_frames, derivative(pairs)),
    "pair sum, derivative across particles": partial(of_frames, derivative(pairs, across=True)),
    "pair sum, gradient": partial(gradient_of_frames, pairs),
    "fluids of different sizes, float64": fluids,
    "sort": partial(of_array, jnp.sort),
    "argsort of columns": lambda n: of_array(partial(jnp.argsort, axis=0), n, 10),
    "top_k": lambda n: of_array(lambda x: lax.top_k(x, 10), 4, n),
    "x @ x.T": lambda n: of_array(lambda x: x @ x.T, n, 1000),
    "norm(exp(-x @ x.T) @ x)": lambda n: of_array(trap, n, 64),
    "eigh": lambda n: of_array(jnp.linalg.eigh, n, n),
    "Fourier transform": lambda n: of_array(jnp.fft.fftn, n, n, n),
}
