"""One pass over the neighbors for all pair formulas together.

For each row i of the neighbor matrix, with d = r_i − r_j for every j near it and s = |d|²,

    f_i = Σ_j −2 u'(s) d,    e_i = ½ Σ_j u(s),    W_i = ½ Σ_j −2 u'(s) d ⊗ d

u' = du/ds comes from differentiating the formula entry by entry. Every pair is met twice, once
from each side, so nothing is scattered. Coordinates are three separate arrays, rows lie along the
last axis, and sums run over the neighbors two at a time: this is the layout that compilers turn
into a tight loop. On a CPU a compiled kernel takes the place of `_sums`, see `pair_kernel`.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from instar.core.utils.jax import dataclass
from instar.geometry import AllParticles, Cell
from instar.kernels.choice import by_platform
from instar.neighbors import NeighborList
from instar.neighbors.blocks import in_turn, over_devices
from instar.neighbors.images import FAR, Images
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.pair_kernel import by_kernel, has_kernel, points_by_kernel

__all__ = ["PairTerm", "pair_sum"]

AT_ONCE = 2
"""Neighbors that one turn of the loop takes."""


@dataclass
class PairTerm:
    """A formula ready for the pass.

    Its parameters are numbers; or matrices (species, species), with ``species``; or, with
    ``system``, one number and one cutoff for each system.
    """

    formula: Any
    cutoff: Array
    species: Array | None = None  # (particles,) int32
    strength: Array | None = None  # (particles,) factors of each particle, such as charges
    system: Array | None = None  # (particles,) int32


def pair_sum(
    pair_terms: tuple[PairTerm, ...],
    everyone: AllParticles,
    neighbors: NeighborList,
    request: Request,
) -> Evaluation:
    """Sum of all formulas over all pairs."""
    images = neighbors.images
    native = has_kernel(pair_terms, everyone.positions.dtype)
    located = (everyone.positions, everyone.system.indices, everyone.cell, images)
    points: Any = by_platform(points_by_kernel, _points, located) if native else _axes(*located)
    columns = [
        _Columns(*(_at(column, images.owner, 0) for column in (t.species, t.strength, t.system)))
        for t in pair_terms
    ]

    def share(blocks: tuple[Array, Array], shared: Any) -> tuple[Array, ...]:
        operands, plain = (*shared, *blocks), functools.partial(_sums, request)
        if not native:
            return plain(operands)
        return by_platform(functools.partial(by_kernel, request), plain, operands)

    sums = over_devices(
        share, (neighbors.rows, neighbors.slots), (pair_terms, points, columns), neighbors.mesh
    )
    by_particle = [column.reshape(-1)[neighbors.place] for column in sums]
    return _collected(by_particle, everyone, request)


@dataclass
class _Columns:
    """What the pass gathers for each image."""

    species: Array | None
    strength: Array | None
    system: Array | None


def _axes(positions: Array, system: Array, cell: Cell, images: Images) -> tuple[Array, ...]:
    """x, y, z of all images, each an array of its own."""
    return images.positions(positions, system, cell)


def _points(located: Any) -> Array:
    """The same side by side, as the kernel takes them: (images, 4), the last a zero."""
    x, y, z = _axes(*located)
    return jnp.stack([x, y, z, jnp.zeros_like(x)], axis=-1)


def _at(column: Array | None, owner: Array, fill: int) -> Array | None:
    return None if column is None else column.at[owner].get(mode="fill", fill_value=fill)


def _sums(request: Request, operands: Any) -> tuple[Array, ...]:
    """The sums of each row, block by block; ``points`` side by side, or x, y, z."""
    pair_terms, points, columns, rows, slots = operands
    if not isinstance(points, tuple):
        points = tuple(points[:, k] for k in range(3))

    def block(one: tuple[Array, Array], shared: Any) -> tuple[Array, ...]:
        rows, slots = one
        pair_terms, points, columns = shared
        return _row_sums(pair_terms, points, columns, rows, slots, request)

    return in_turn(block, (rows, slots), (pair_terms, points, columns))


def _row_sums(
    pair_terms: tuple[PairTerm, ...],
    points: tuple[Array, ...],
    columns: list[_Columns],
    rows: Array,
    slots: Array,
    request: Request,
) -> tuple[Array, ...]:
    """Sums over the neighbors of a block of rows."""
    x, y, z = (jnp.where(rows > 0, p[rows], -FAR) for p in points)
    pair_terms = tuple(_of_rows(t, c, rows) for t, c in zip(pair_terms, columns, strict=True))
    own = [
        (
            None if c.species is None else c.species[rows],
            None if c.strength is None else c.strength[rows],
        )
        for c in columns
    ]

    def pairs(near: Array) -> list[Array]:
        apart = [
            here - p.at[near].get(mode="promise_in_bounds")
            for here, p in zip((x, y, z), points, strict=True)
        ]
        squared = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]
        values = [
            _pair_values(pair_term, column, species, strength, near, squared)
            for pair_term, column, (species, strength) in zip(pair_terms, columns, own, strict=True)
        ]
        energy, slope = (functools.reduce(operator.add, e) for e in zip(*values, strict=True))
        # Without the barrier the formula would be worked out once for each result.
        if request.energy or request.per_particle:
            energy, slope = lax.optimization_barrier((energy, slope))
        else:
            slope = lax.optimization_barrier(slope)
        return _contributions(energy, -2 * slope, apart, request)

    def added(sums: list[Array], near: Array) -> list[Array]:
        parts = [pairs(near[k]) for k in range(AT_ONCE)]
        both = [functools.reduce(operator.add, e) for e in zip(*parts, strict=True)]
        return [total + more for total, more in zip(sums, both, strict=True)]

    def turn(sums: list[Array], near: Array) -> tuple[list[Array], None]:
        # Turns that are nothing but room are skipped.
        return lax.cond(jnp.any(near > 0), added, lambda sums, _: sums, sums, near), None

    room = -slots.shape[0] % AT_ONCE
    turns = jnp.pad(slots, ((0, room), (0, 0))).reshape(-1, AT_ONCE, slots.shape[1])
    start = [jnp.zeros_like(x) for _ in _contributions(x, x, [x, x, x], request)]
    return tuple(lax.scan(turn, start, turns)[0])


def _of_rows(pair_term: PairTerm, column: _Columns, rows: Array) -> PairTerm:
    """With parameters of each row's system, where there is one for each system."""
    if column.system is None:
        return pair_term
    if pair_term.cutoff.shape == (1,):
        formula, cutoff = jax.tree.map(lambda p: p[0], (pair_term.formula, pair_term.cutoff))
    else:
        system = column.system[rows]
        formula, cutoff = jax.tree.map(lambda p: p[system], (pair_term.formula, pair_term.cutoff))
    return PairTerm(formula, cutoff, pair_term.species, pair_term.strength)


def _pair_values(
    pair_term: PairTerm,
    column: _Columns,
    species: Array | None,
    strength: Array | None,
    near: Array,
    squared: Array,
) -> tuple[Array, Array]:
    """u and du/ds of each pair, zero beyond the cutoff."""
    formula = pair_term.formula
    if species is not None:
        kinds = column.species.at[near].get(mode="promise_in_bounds")  # pyright: ignore
        formula = jax.tree.map(lambda p: _of_pair(p, species, kinds), formula)
    limit = pair_term.cutoff * pair_term.cutoff
    within = ~(squared >= limit)  # a distance that is not a number must not vanish
    # Beyond the cutoff the formula is evaluated at the cutoff, where it is finite.
    safe = jnp.where(within, squared, limit)
    u, du = jax.jvp(formula.energy, (safe,), (jnp.ones_like(safe),))
    if strength is not None:
        factor = strength * column.strength.at[near].get(mode="promise_in_bounds")  # pyright: ignore
        u, du = u * factor, du * factor
    return jnp.where(within, u, 0), jnp.where(within, du, 0)


def _of_pair(parameter: Array, first: Array, second: Array) -> Array:
    """The entry of a matrix of parameters for each pair; a number is the same for all."""
    if jnp.ndim(parameter) == 0:
        return parameter
    flat = parameter.reshape(-1)
    return flat.at[first * parameter.shape[1] + second].get(mode="promise_in_bounds")


def _contributions(u: Array, f: Array, apart: list[Array], request: Request) -> list[Array]:
    """What one pair adds to its row: forces, then energy, then the six virials or their trace."""
    pushed = [f * d for d in apart]
    parts = list(pushed) if request.forces else []
    if request.energy or request.per_particle:
        parts.append(u / 2)
    if request.virial == "trace":
        parts.append((pushed[0] * apart[0] + pushed[1] * apart[1] + pushed[2] * apart[2]) / 2)
    elif request.virial:
        parts += [pushed[i] * apart[j] / 2 for i, j in _SIX]
    return parts


_SIX = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def _collected(columns: list[Array], everyone: AllParticles, request: Request) -> Evaluation:
    result: dict[str, Array] = {}
    if request.forces:
        result["forces"] = jnp.stack(columns[:3], axis=-1)
        columns = columns[3:]
    if request.energy or request.per_particle:
        if request.per_particle:
            result["particle_energies"] = columns[0]
        if request.energy:
            result["energy"] = everyone.system.sum_over(columns[0]).data
        columns = columns[1:]
    if request.virial == "trace":
        third = everyone.system.sum_over(columns[0]).data / 3
        result["virial"] = third[:, None, None] * jnp.eye(3, dtype=third.dtype)[None]
    elif request.virial:
        xx, yy, zz, yz, xz, xy = everyone.system.sum_over(columns).data
        rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        result["virial"] = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
    return Evaluation(**result)
