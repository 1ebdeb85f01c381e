"""Distances: an ideal gas has g = 1, a crystal its shells, in every kind of cell."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.core.lens import lens
from instar.core.propagator import advance
from instar.core.utils.jax import dataclass
from instar.geometry import Cell
from instar.neighbors import brute_force
from instar.observables import ObserverError, RadialDistribution, observe
from observables.states import State, frames, state

pytestmark = pytest.mark.usefixtures("quickly_compiled")

FCC = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
SHELLS = {1: 12, 2: 6, 3: 24, 4: 12, 5: 24, 6: 8, 7: 48, 8: 6}
"""Neighbors of an fcc crystal at √(k/2) lattice constants."""


@dataclass
class Observed:
    state: State
    radial: RadialDistribution


RADIAL = lens(lambda s: s.radial, cls=Observed)


def seen(key, observed):
    return dataclasses.replace(observed, radial=observed.radial.update(observed.state))


def with_room(radial, neighbors):
    """Only neighbors may run out of room: every size that grows is compiled once more."""
    room = radial.neighbors.resized(neighbors=neighbors, images=5000, words=40)
    return dataclasses.replace(radial, neighbors=room)


def test_a_crystal_has_its_shells_in_cells_far_smaller_than_the_distance():
    with jax.enable_x64(True):
        constant = 4.0
        cube = np.stack(np.meshgrid(*[np.arange(2)] * 3), -1).reshape(-1, 3)
        double = (FCC[None] + cube[:, None]).reshape(-1, 3) * constant
        primitive = constant / 2 * np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
        unwrapped = double + 2 * constant * np.arange(len(double))[:, None]
        batch = state(
            [FCC * constant, np.zeros((1, 3)), unwrapped],
            [constant * np.eye(3), primitive, 2 * constant * np.eye(3)],
            absent=2,
        )
        r_max = constant * np.sqrt(8.5 / 2)
        radial = with_room(RadialDistribution.of(batch, r_max, 200, where=RADIAL), 40)
        run = advance(seen, jax.random.key(0), Observed(batch, radial), 2)
        np.testing.assert_array_equal(run.radial.frames, [2, 2, 2])
        found = run.radial.result()
        for k in SHELLS:
            expected = sum(SHELLS[j] for j in range(1, k + 1))
            between = constant * np.sqrt((k + 0.5) / 2)
            at = np.searchsorted(found.outer, between)
            np.testing.assert_allclose(found.coordination[:, at - 1], expected, rtol=1e-12)
        # The first peak of a system of N: 12 neighbors next to (N − 1)/V.
        peak = np.asarray(found.g) * 4 / 3 * np.pi * np.diff(np.append(0, found.outer) ** 3)
        first = np.asarray(found.distance) < constant * 0.9
        np.testing.assert_allclose(peak[0][first].sum(), 12 * constant**3 / 3, rtol=1e-12)
        np.testing.assert_allclose(peak[2][first].sum(), 12 * 8 * constant**3 / 31, rtol=1e-12)
        assert np.isnan(found.g[1]).all()


def test_an_ideal_gas_is_one_at_every_distance_and_volume_in_single_precision():
    rng = np.random.default_rng(0)
    counts, number = np.array([40, 9, 25]), 200
    # The volume fluctuates by far: only the instantaneous one gives 1.
    edges = rng.uniform([6, 5, 7], [12, 9, 14], (number, 3))
    inside = rng.uniform(0, 1, (number, counts.sum(), 3))
    places = np.pad(inside * np.repeat(edges, counts, 1)[..., None], ((0, 0), (0, 3), (0, 0)))
    frozen = np.zeros((number, 3), bool)
    frozen[50:, 2] = True
    edges[50:, 2], places[50:, 49:74] = np.nan, np.nan
    first = state([np.zeros((n, 3)) for n in counts], absent=3)

    def frame(positions, edges, frozen):
        particles, systems = first.particles.data, first.systems.data
        cell = systems.cell.with_vectors(edges[:, None, None] * jnp.eye(3)[None])
        return State(
            first.particles.set_data(dataclasses.replace(particles, positions=positions)),
            first.systems.set_data(dataclasses.replace(systems, cell=cell, frozen=frozen)),
        )

    every = jax.vmap(frame)(*map(jnp.asarray, (places.astype("f"), edges.astype("f"), frozen)))
    found = observe(with_room(RadialDistribution.of(first, 4.0, 6), 104), every)
    np.testing.assert_array_equal(found.frames, [number, number, 50])
    g = np.asarray(found.result().g)
    assert g.dtype == np.float32
    shells = 4 / 3 * np.pi * np.diff(np.linspace(0, 4.0, 7) ** 3)
    volumes = np.nanmean(edges**3, axis=0)
    pairs = counts * (counts - 1) / 2 / volumes * np.asarray(found.frames)
    assert (np.abs(g - 1) < 5 / np.sqrt(pairs[:, None] * shells)).all()
    assert np.abs(g - 1)[0, -1] < 0.02


def test_each_system_equals_brute_force_alone():
    with jax.enable_x64(True):
        rng = np.random.default_rng(4)
        counts = (12, 7, 1)
        skewed = np.array([[5.0, 0, 0], [2.0, 4.0, 0], [-1.0, 1.5, 6.0]])
        cells = np.stack([skewed, 5 * np.eye(3), 3 * np.eye(3)])
        places = [rng.uniform(0, 1, (n, 3)) @ c for n, c in zip(counts, cells, strict=True)]
        labels = [rng.integers(0, 2, n) for n in counts]
        labels[0][:2], labels[1][:2], labels[2][:] = [0, 1], [0, 1], 0
        batch = state(places, cells, labels=labels, absent=4)
        bins, r_max = 11, 5.5
        radial = RadialDistribution.of(batch, r_max, bins, pair=("A", "B"))
        found = observe(with_room(radial, 20), frames([batch]))
        assert found.where is None
        shells = 4 / 3 * np.pi * np.diff(np.linspace(0, r_max, bins + 1) ** 3)
        for number in range(2):
            kind, cell = labels[number], Cell.of(cells[number : number + 1])
            pairs = brute_force(places[number], np.zeros(counts[number], int), cell, r_max)
            wanted = (kind[pairs.first] == 0) & (kind[pairs.second] == 1)
            histogram = np.histogram(pairs.distance[wanted], bins, (0, r_max))[0]
            centres, others = np.sum(kind == 0), np.sum(kind == 1)
            assert centres != others
            result = found.result()
            np.testing.assert_allclose(result.coordination[number], np.cumsum(histogram) / centres)
            gas = centres * others * shells / np.asarray(cell.volume)
            np.testing.assert_allclose(result.g[number], histogram / gas)
        np.testing.assert_array_equal(found.frames, [1, 1, 0])
        assert np.isnan(found.result().g[2]).all()


def with_cell(batch, **changes):
    data = batch.systems.data
    cell = dataclasses.replace(data.cell, **changes)
    systems = batch.systems.set_data(dataclasses.replace(data, cell=cell))
    return dataclasses.replace(batch, systems=systems)


def test_a_system_frozen_from_the_start_needs_no_places_and_no_cell():
    batch = state([np.zeros((1, 3)), np.full((2, 3), np.nan)], frozen=[False, True])
    broken = batch.systems.data.cell.vectors.at[1].set(np.nan)
    radial = RadialDistribution.of(with_cell(batch, vectors=broken), 3.0, 5)
    assert np.isfinite(radial.neighbors.vectors).all()


def test_what_has_no_density_is_refused():
    batch = state([np.zeros((1, 3)), np.zeros((2, 3))])
    no_end = with_cell(batch, bounded=jnp.array([True, False]), periodic=jnp.zeros((2, 3), bool))
    with raises(ObserverError, "System 1 has no volume, and so no density to compare with."):
        RadialDistribution.of(no_end, 3.0, 5)
    with raises(ObserverError, "r_max is a length above zero (Å), not -1.0."):
        RadialDistribution.of(batch, -1.0, 5)
    with raises(ObserverError, "bins must be 1 or more, not 0."):
        RadialDistribution.of(batch, 1.0, 0)
    with raises(ObserverError, "No particle is labelled 'X'; there are A, B."):
        RadialDistribution.of(batch, 1.0, 3, pair=("A", "X"))
