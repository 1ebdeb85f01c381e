"""The reciprocal part of an Ewald sum, wave by wave, for ragged batches.

    S(k) = Σ_i q_i e^(ik·r_i),    U = (4πkₑ/V) Σ'_k e^(−k²/4α²)/k² |S(k)|²

k = 2π A⁻¹n over whole numbers n, of each pair ±n one. A system's waves are cut into segments: n₁,
n₂ and a few successive n₃, so that with x = A⁻¹-coordinates

    e^(ik·r) = e^(2πi n₁x₁) e^(2πi n₂x₂) e^(2πi n₃x₃) · e^(2πi j x₃),    j = 0, 1, …

and sums over particles, or over waves, are products of small matrices. Work is a list of pairs
(tile of particles, block of segments) of one system: what systems of other sizes would need is
not done. A tile knows its particles by their rows, as products of matrices need them. Forces and
virial,

    f_i = (8πkₑ/V) q_i Σ' e^(−k²/4α²)/k² k Im(S* e^(ik·r_i))
    W = Σ'_k U_k [1 − 2 (1/k² + 1/4α²) k ⊗ k]
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh as Devices

from instar.core.data import Index, Table
from instar.core.typing import SystemId
from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.geometry import Cell
from instar.geometry.constants import COULOMB_CONSTANT
from instar.potentials.ewald.devices import divided

__all__ = ["SEGMENT", "Reciprocal", "Waves", "index_of"]

SEGMENT = 8
"""Successive n₃ in a segment."""

NOBODY = np.iinfo(np.int32).max
"""In place of a particle, where a tile is not full."""


@dataclass
class Waves:
    """Which waves each system has, and the order of the work."""

    start: Array  # (blocks, segments, 3) int32: n of the first wave of each segment
    length: Array  # (blocks, segments) int32: waves of each; 0 where there is none
    system: Index[SystemId]  # (blocks,)
    tiles: Array  # (tiles, particles) int32: rows of particles, NOBODY where there is none
    tile_system: Index[SystemId]  # (tiles,)
    work: Array  # (steps, at once, 2) int32: a tile and a block; out of bounds where there is none
    most: tuple[int, int, int] = field(static=True)  # the largest |n| along each axis
    devices: Devices | None = field(static=True, default=None)

    @staticmethod
    def of(
        numbers: list[np.ndarray], members: list[np.ndarray], devices: Devices | None = None
    ) -> Waves | None:
        """From the n (waves, 3) and the rows of particles of each system; None without any."""
        segments = [_segments(n) for n in numbers]
        sizes = [(len(s), len(m)) for s, m in zip(segments, members, strict=True)]
        if not any(s * m for s, m in sizes):
            return None
        wide, tall = _tile_sizes(sizes)
        start, length, system, tiles, owner, work = [], [], [], [], [], []
        for number, (found, rows) in enumerate(zip(segments, members, strict=True)):
            if not len(found) or not len(rows):
                continue
            blocks = _padded(found, tall, 0).reshape(-1, tall, 4)
            own = _padded(rows.astype(np.int32), wide, NOBODY).reshape(-1, wide)
            first_tile, first_block = len(tiles), len(start)
            start += list(blocks[..., :3])
            length += list(blocks[..., 3])
            tiles += list(own)
            system += [number] * len(blocks)
            owner += [number] * len(own)
            pairs = np.mgrid[0 : len(own), 0 : len(blocks)].reshape(2, -1).T
            work.append(pairs + np.array([first_tile, first_block]))
        pairs = np.concatenate(work)
        shares = 1 if devices is None else devices.size
        together = max(1, min(-(-len(pairs) // shares), 32768 // (wide * tall)))
        pairs = _padded(pairs, together * shares, NOBODY).reshape(-1, together, 2)
        everything = np.concatenate([n for n in numbers if len(n)])
        x, y, z = np.abs(everything).max(axis=0).tolist()
        start, length, tiles = (on_device(np.array(a, np.int32)) for a in (start, length, tiles))
        return Waves(
            start=start,
            length=length,
            system=index_of(system, len(numbers)),
            tiles=tiles,
            tile_system=index_of(owner, len(numbers)),
            work=on_device(np.array(pairs, np.int32)),
            most=(x, y, z),
            devices=devices,
        )

    # Sums ---------------------------------------------------------------------------------

    def factors(self, positions: Array, charges: Array, cell: Cell) -> Array:
        """S of every wave, (blocks, segments, 2, SEGMENT): real parts, then imaginary ones."""
        one = jax.vmap(functools.partial(_partial_factors, most=self.most))

        def share(work: Array, shared: tuple[_Tables, Array, Array]) -> Array:
            tables, start, zero = shared

            def step(total: Array, pairs: Array) -> tuple[Array, None]:
                tile, block = pairs[:, 0], pairs[:, 1]
                part = one(_rows(tables, tile), _at(start, block))
                return total.at[block].add(part, mode="drop"), None

            return lax.scan(jax.checkpoint(step), zero, work)[0]

        tables = self._tables(positions, charges, cell)
        zero = jnp.zeros((*self.length.shape, 2, SEGMENT), positions.dtype)
        shared = (tables, self.start, zero)
        total = divided(share, self.work, shared, self.devices, add=True)
        return jnp.where(self._there()[:, :, None], total, 0)

    def reciprocal(self, positions: Array, charges: Array, cell: Cell, alpha: Array) -> Reciprocal:
        """Everything that the waves say about these charges."""
        factors = self.factors(positions, charges, cell)
        weights, vectors = self._weights(cell, alpha)
        squared = jnp.sum(factors**2, axis=2)
        each = weights * squared  # U of each wave
        energy = self.system.sum_over(jnp.sum(each, axis=(1, 2))).data
        potential, slope = self._fields(positions, charges, cell, factors, weights)
        return Reciprocal(energy, potential, slope, self._virial(each, vectors, alpha))

    def energy(self, factors: Array, cell: Cell, alpha: Array) -> Array:
        """The energy (eV) of each system from its S: for changes of a few particles."""
        weights, _ = self._weights(cell, alpha)
        each = jnp.sum(weights * jnp.sum(factors**2, axis=2), axis=(1, 2))
        return self.system.sum_over(each).data

    def factors_of(self, positions: Array, charges: Array, cell: Cell) -> Array:
        """S of a few particles of each system: positions (systems, few, 3), charges (systems, few).

        S is linear in particles: add what comes, subtract what goes.
        """
        fractional = jnp.einsum("smx,sxk->smk", positions, cell.inverse)
        inside = fractional - jnp.floor(fractional)
        place, own = Table(self.system.vocabulary, (inside, charges))[self.system]
        numbers = _numbers(self.start).astype(place.dtype)  # (blocks, segments, SEGMENT, 3)
        turns = jnp.einsum("bsjk,bmk->bsjm", numbers, place, precision="highest")
        angle = 2 * math.pi * (turns - jnp.round(turns))
        own, there = own[:, None, None, :], self._there()[..., None]
        parts = [jnp.sum(jnp.where(there, own * f(angle), 0), axis=-1) for f in (jnp.cos, jnp.sin)]
        return jnp.stack(parts, axis=2)

    # Inside -------------------------------------------------------------------------------

    def _there(self) -> Array:
        return jnp.arange(SEGMENT, dtype=jnp.int32)[None, None] < self.length[..., None]

    def _weights(self, cell: Cell, alpha: Array) -> tuple[Array, Array]:
        """(4πkₑ/V) e^(−k²/4α²)/k² and k of each wave, (blocks, segments, SEGMENT[, 3])."""
        numbers = _numbers(self.start).astype(cell.vectors.dtype)
        there = self._there()
        numbers = jnp.where(there[..., None], numbers, 1)
        of_systems = (cell.inverse, alpha[:, None, None], cell.volume[:, None, None])
        inverse, width, volume = Table(self.system.vocabulary, of_systems)[self.system]
        k = jnp.einsum("bsjd,bxd->bsjx", numbers, 2 * math.pi * inverse, precision="highest")
        squared = jnp.sum(k**2, axis=-1)
        size = 4 * math.pi * COULOMB_CONSTANT / volume / squared
        return jnp.where(there, size * jnp.exp(-squared / (4 * width**2)), 0), k

    def _virial(self, each: Array, k: Array, alpha: Array) -> Array:
        squared = jnp.sum(k**2, axis=-1)
        width = Table(self.system.vocabulary, alpha[:, None, None])[self.system]
        shape = 2 * each * (1 / squared + 1 / (4 * width**2))
        total = jnp.einsum("bsj,bsjx,bsjy->bxy", shape, k, k, precision="highest")
        trace = jnp.sum(each, axis=(1, 2))[:, None, None] * jnp.eye(3, dtype=each.dtype)[None]
        return self.system.sum_over(trace - total).data

    def _tables(self, positions: Array, charges: Array, cell: Cell) -> _Tables:
        """Powers of the three phases of each particle, tile by tile."""
        there = self.tiles != NOBODY
        rows = jnp.where(there, self.tiles, 0)
        inverse = Table(self.tile_system.vocabulary, cell.inverse)[self.tile_system]
        place = jnp.einsum("tpx,txk->tkp", positions[rows], inverse, precision="highest")
        place = place - jnp.floor(lax.stop_gradient(place))
        charge = jnp.where(there, charges[rows], 0)
        powers = [_powers(place[:, k], self.most[k]) for k in range(3)]
        first, second, third = powers
        return _Tables(first, second, third, _ladder(place[:, 2]), charge)

    def _fields(
        self, positions: Array, charges: Array, cell: Cell, factors: Array, weights: Array
    ) -> tuple[Array, Array]:
        """q φ (eV) and the force (eV/Å) of each particle."""
        one = jax.vmap(functools.partial(_partial_fields, most=self.most))

        def share(work: Array, shared: tuple[_Tables, Array, Array, Array]) -> Array:
            tables, start, pull, zero = shared

            def step(total: Array, pairs: Array) -> tuple[Array, None]:
                tile, block = pairs[:, 0], pairs[:, 1]
                part = one(_rows(tables, tile), _at(start, block), _at(pull, block))
                return total.at[tile].add(part, mode="drop"), None

            return lax.scan(jax.checkpoint(step), zero, work)[0]

        tables = self._tables(positions, charges, cell)
        pull = 2 * weights[:, :, None] * factors  # (blocks, segments, 2, SEGMENT)
        zero = jnp.zeros((self.tiles.shape[0], 4, self.tiles.shape[1]), positions.dtype)
        shared = (tables, self.start, pull, zero)
        found = divided(share, self.work, shared, self.devices, add=True)
        inverse = Table(self.tile_system.vocabulary, cell.inverse)[self.tile_system]
        turns = 2 * math.pi * inverse
        forces = jnp.einsum("tdp,txd->tpx", found[:, 1:], turns, precision="highest")
        columns = jnp.concatenate([jnp.swapaxes(found[:, :1], 1, 2), forces], axis=2)
        result = jnp.zeros((positions.shape[0], 4), positions.dtype)
        result = result.at[self.tiles.reshape(-1)].add(columns.reshape(-1, 4), mode="drop")
        return result[:, 0], result[:, 1:]


class Reciprocal(NamedTuple):
    """What the reciprocal part returns."""

    energy: Array  # (systems,) eV
    potential: Array  # (particles,) q φ, eV: twice the energy of each particle
    forces: Array  # (particles, 3) eV/Å
    virial: Array  # (systems, 3, 3) eV


class _Tables(NamedTuple):
    """Phases of the particles of each tile, as real and imaginary part."""

    first: Array  # (tiles, 2, 2·most + 1, particles)
    second: Array
    third: Array
    ladder: Array  # (tiles, 2, SEGMENT, particles): e^(2πi j x₃)
    charges: Array  # (tiles, particles)


def _powers(place: Array, most: int) -> Array:
    """e^(2πi n x) for n = −most … most, (tiles, 2, 2·most + 1, particles)."""
    numbers = jnp.arange(0, most + 1, dtype=place.dtype)[None, :, None]
    turns = numbers * place[:, None]
    angle = 2 * math.pi * (turns - jnp.round(lax.stop_gradient(turns)))
    real, imaginary = jnp.cos(angle), jnp.sin(angle)
    below = slice(None, 0, -1)
    return jnp.stack(
        [
            jnp.concatenate([real[:, below], real], axis=1),
            jnp.concatenate([-imaginary[:, below], imaginary], axis=1),
        ],
        axis=1,
    )


def _ladder(place: Array) -> Array:
    return _powers(place, SEGMENT - 1)[:, :, SEGMENT - 1 :]


def _rows(tables: _Tables, tile: Array) -> _Tables:
    return _Tables(*(_at(table, tile) for table in tables))


def _at(table: Array, index: Array) -> Array:
    return table.at[index].get(mode="clip")


def _product(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _beginnings(tables: _Tables, start: Array, most: tuple[int, int, int]) -> tuple[Array, Array]:
    """q e^(ik·r) of the first wave of each segment, (segments, particles)."""
    phases = [
        (table[0][start[:, k] + most[k]], table[1][start[:, k] + most[k]])
        for k, table in enumerate(tables[:3])
    ]
    real, imaginary = _product(_product(phases[0], phases[1]), phases[2])
    return real * tables.charges[None], imaginary * tables.charges[None]


def _partial_factors(tables: _Tables, start: Array, most: tuple[int, int, int]) -> Array:
    """What one tile adds to S of one block, (segments, 2, SEGMENT)."""
    real, imaginary = _beginnings(tables, start, most)
    cosine, sine = tables.ladder[0], tables.ladder[1]  # (SEGMENT, particles)
    left = jnp.concatenate([real, imaginary], axis=1)
    right = jnp.concatenate(
        [jnp.concatenate([cosine, -sine], axis=1), jnp.concatenate([sine, cosine], axis=1)]
    )  # (2·SEGMENT, 2·particles)
    both = jnp.einsum("sp,jp->sj", left, right, precision="highest")
    return both.reshape(-1, 2, SEGMENT)


def _partial_fields(
    tables: _Tables, start: Array, pull: Array, most: tuple[int, int, int]
) -> Array:
    """What one block does to one tile: q φ, and Σ n Im(S* q e^(ik·r)), (4, particles)."""
    begin = _beginnings(tables, start, most)
    cosine, sine = tables.ladder[0], tables.ladder[1]
    step = jnp.arange(SEGMENT, dtype=cosine.dtype)[None]
    real, imaginary = pull[:, 0], pull[:, 1]
    # S* e^(2πi j x₃), summed over j, and the same with j as a factor
    left = jnp.concatenate([real, imaginary], axis=1)
    left = jnp.concatenate(
        [left, jnp.concatenate([real * step, imaginary * step], axis=1)]
    )  # (2·segments, 2·SEGMENT)
    right = jnp.concatenate(
        [jnp.concatenate([cosine, sine]), jnp.concatenate([sine, -cosine])], axis=1
    )  # (2·SEGMENT, 2·particles): real parts, then imaginary ones
    found = jnp.einsum("sj,jp->sp", left, right, precision="highest")
    segments, particles = start.shape[0], cosine.shape[1]
    found = found.reshape(2, segments, 2, particles)
    plain = _product(begin, (found[0, :, 0], found[0, :, 1]))
    along = _product(begin, (found[1, :, 0], found[1, :, 1]))[1]
    numbers = start.astype(cosine.dtype)
    slopes = jnp.einsum("sd,sp->dp", numbers, plain[1], precision="highest")
    slopes = slopes.at[2].add(jnp.sum(along, axis=0))
    return jnp.concatenate([jnp.sum(plain[0], axis=0)[None], slopes])


def index_of(systems: list[int], count: int) -> Index[SystemId]:
    """Numbers of systems, of which there are ``count``, as an index."""
    return Index.integer(on_device(np.array(systems, np.int32)), n=count, label=SystemId)


def _numbers(start: Array) -> Array:
    """n of every wave, (blocks, segments, SEGMENT, 3)."""
    step = np.zeros((SEGMENT, 3), np.int32)
    step[:, 2] = np.arange(SEGMENT)
    return start[:, :, None] + step[None, None]


def _segments(numbers: np.ndarray) -> np.ndarray:
    """Waves n (waves, 3) cut into rows n₁, n₂, first n₃, length."""
    if not len(numbers):
        return np.zeros((0, 4), np.int32)
    numbers = numbers[np.lexsort(numbers.T[::-1])]
    new_line = np.ones(len(numbers), bool)
    new_line[1:] = (numbers[1:, :2] != numbers[:-1, :2]).any(axis=1)
    new_line[1:] |= numbers[1:, 2] != numbers[:-1, 2] + 1
    line = np.cumsum(new_line) - 1
    place = np.arange(len(numbers)) - np.flatnonzero(new_line)[line]
    first = np.flatnonzero(place % SEGMENT == 0)
    length = np.diff(np.append(first, len(numbers)))
    return np.column_stack([numbers[first], length]).astype(np.int32)


def _padded(rows: np.ndarray, multiple: int, fill: int) -> np.ndarray:
    room = np.full((-len(rows) % multiple, *rows.shape[1:]), fill, rows.dtype)
    return np.concatenate([rows, room])


def _tile_sizes(sizes: list[tuple[int, int]]) -> tuple[int, int]:
    """Particles in a tile and segments in a block: large ones, but little padding."""
    segments = np.array([s for s, m in sizes if s and m])
    members = np.array([m for s, m in sizes if s and m])
    best, cheapest = (16, 16), math.inf
    for wide in (16, 32, 64, 128, 256):
        for tall in (16, 32, 64, 128, 256):
            pairs = -(-members // wide) * -(-segments // tall)
            cost = float(np.sum(pairs)) * (wide * tall + 600)
            if cost < cheapest:
                best, cheapest = (wide, tall), cost
    return best
