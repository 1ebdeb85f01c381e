"""Densities along a vector of the cell, against histograms by hand."""

import jax
import numpy as np
import pytest

from instar.core.lens import identity_lens
from instar.observables import DensityProfile, ObserverError, observe
from instar.observables.profile import ProfileObservation
from observables.states import frames, state

RNG = np.random.default_rng(5)
SKEWED = np.array([[8.0, 0, 0], [2.0, 9.0, 0], [1.0, -2.0, 12.0]])
CUBE = 10 * np.eye(3)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def by_hand(positions, vectors, axis, bins):
    fraction = (positions @ np.linalg.inv(vectors))[:, axis] % 1.0
    counts, _ = np.histogram(fraction, bins, (0, 1))
    return counts * bins / abs(np.linalg.det(vectors))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_system_equals_a_histogram(axis):
    walks = [[RNG.normal(0, 20, (n, 3)) for n in (30, 7)] for _ in range(4)]
    states = [state(p, [SKEWED, CUBE], absent=2) for p in walks]
    observer = observe(DensityProfile.of(states[0], axis, 6), frames(states))
    found = observer.result()
    for system, vectors in enumerate((SKEWED, CUBE)):
        expected = np.mean([by_hand(p[system], vectors, axis, 6) for p in walks], axis=0)
        np.testing.assert_allclose(found.density[system], expected, rtol=1e-12)
        height = abs(np.linalg.det(vectors)) / np.linalg.norm(
            np.cross(vectors[(axis + 1) % 3], vectors[(axis + 2) % 3])
        )
        np.testing.assert_allclose(found.position[system], height * (np.arange(6) + 0.5) / 6)


def test_a_label_counts_its_particles_alone_and_one_that_is_missing_none():
    one = state([RNG.uniform(0, 10, (8, 3))], labels=[[0, 1] * 4])

    def density(label):
        observer = DensityProfile.of(one, 2, 4, label=label, may_lack=True)
        return np.asarray(observer.update(one).result().density)

    both, a, b, missing = map(density, (None, "A", "B", "C"))
    np.testing.assert_allclose(a + b, both)
    assert a.sum() > 0
    assert (missing == 0).all()
    with pytest.raises(ObserverError, match="No particle is labelled 'C'"):
        DensityProfile.of(one, 2, 4, label="C")


def test_a_frozen_system_is_left_out():
    first = state([np.full((3, 3), 1.0), np.full((2, 3), 1.0)])
    later = state([np.full((3, 3), 9.0), np.full((2, 3), 9.0)], frozen=[True, False])
    found = DensityProfile.of(first, 0, 2).update(first).update(later).result()
    np.testing.assert_allclose(found.density, [[6 / 1000, 0], [2 / 1000, 2 / 1000]])


@pytest.mark.parametrize(("axis", "bins"), [(3, 5), (-1, 5), (0, 0)])
def test_what_makes_no_sense_is_refused(axis, bins):
    with pytest.raises(ObserverError, match="A profile has an axis 0, 1 or 2"):
        DensityProfile.of(state([np.zeros((1, 3))]), axis, bins)


def test_an_entry_of_a_configuration_finds_the_same():
    one = state([RNG.uniform(0, 10, (9, 3))])
    entry = ProfileObservation(axis="b", bins=5)
    found = entry.found(entry.made(one, identity_lens()).update(one), None).curves["density"]
    expected = DensityProfile.of(one, 1, 5).update(one).result()
    np.testing.assert_array_equal(found.y, expected.density)
    assert (found.x_name, found.x_unit, found.y_unit) == ("b", "angstrom", "1/angstrom^3")
