"""Displacements and velocities in time: known motions, one sum in three ways."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.core.lens import identity_lens
from instar.core.result import as_result_function
from instar.observables import (
    Correlation,
    ObserverError,
    diffusion,
    green_kubo,
    mean_square_displacement,
    observe,
    velocity_autocorrelation,
)
from instar.observables.correlation import DisplacementObservation, VelocityObservation
from observables.states import frames, state

pytestmark = pytest.mark.usefixtures("quickly_compiled")

COUNTS, FRAMES, WINDOW = (4, 1, 7), 20, 6
SYSTEM = np.repeat([0, 1, 2, 3], [*COUNTS, 2])
LABELS = [np.arange(n) % 2 for n in COUNTS]
MASSES = [np.linspace(1, 3, n) for n in COUNTS]


def walks(seed=0, far=0.0):
    """Positions and velocities (frames, particles, 3) of three systems, and two absent rows."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(FRAMES, len(SYSTEM), 3))
    positions = far + np.cumsum(steps, axis=0)
    velocities = rng.normal(size=steps.shape)
    positions[:, -2:] = velocities[:, -2:] = np.nan
    return positions, velocities


def trajectory(positions, velocities, frozen=None):
    here = np.cumsum([0, *COUNTS])

    def split(values):
        return [values[a:b] for a, b in itertools.pairwise(here)]

    return [
        state(
            split(r),
            velocities=split(v),
            labels=LABELS,
            masses=MASSES,
            absent=2,
            frozen=None if frozen is None else frozen[t],
        )
        for t, (r, v) in enumerate(zip(positions, velocities, strict=True))
    ]


def brute_force(values, kind, rows, lags=FRAMES):
    """Mean over particles and pairs of frames; frames that are NaN do not count."""
    values = values[:, rows]

    def pair(now, before):
        each = (now - before) ** 2 if kind == "positions" else now * before
        return each.sum(axis=-1)

    return [np.nanmean(pair(values[k:], values[: FRAMES - k])) for k in range(lags)]


def without_drift(values):
    values = values.copy()
    masses = np.concatenate(MASSES)
    for number in range(len(COUNTS)):
        rows = np.equal(SYSTEM, number)
        own = values[:, rows]
        values[:, rows] = own - np.average(own, axis=1, weights=masses[rows[:-2]])[:, None]
    return values


KINDS = {
    "positions": (mean_square_displacement, Correlation.of_displacements),
    "velocities": (velocity_autocorrelation, Correlation.of_velocities),
}
ODD = np.concatenate([*LABELS, [0, 0]]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_fourier_transforms_equal_brute_force(kind):
    values = walks(far=100.0)[0 if kind == "positions" else 1]
    masses = np.concatenate([*MASSES, [np.nan, np.nan]])
    found = KINDS[kind][0](values, np.where(SYSTEM < 3, SYSTEM, -1))
    labelled = KINDS[kind][0](values, SYSTEM % 3 - (SYSTEM == 3), counted=ODD)
    still = KINDS[kind][0](values, np.where(SYSTEM < 3, SYSTEM, -1), masses=masses, lags=5)
    assert found.shape == (FRAMES, 3)
    for number in range(3):
        rows = np.equal(SYSTEM, number)
        np.testing.assert_allclose(
            found[:, number], brute_force(values, kind, rows), rtol=1e-9, atol=1e-11
        )
        expected = brute_force(without_drift(values), kind, rows)[:5]
        np.testing.assert_allclose(still[:, number], expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        labelled[:, 2], brute_force(values, kind, ODD & (SYSTEM == 2)), rtol=1e-9, atol=1e-11
    )
    assert np.isnan(labelled[:, 1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_ring_equals_the_whole_trajectory(kind):
    with jax.enable_x64(True):
        positions, velocities = walks()
        states = trajectory(positions, velocities)
        values = positions if kind == "positions" else velocities
        system = states[0].particles.data.system
        masses = np.concatenate([*MASSES, [1, 1]])
        ring = KINDS[kind][1](states[0], WINDOW, label="B", without_drift=True)
        found = observe(ring, frames(states)).result()
        expected = KINDS[kind][0](values, system, lags=WINDOW, counted=ODD, masses=masses)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_a_frozen_system_is_left_out_while_it_is_frozen():
    with jax.enable_x64(True):
        positions, velocities = walks()
        frozen = np.zeros((FRAMES, 3), bool)
        frozen[8:, 0] = frozen[2:, 1] = frozen[5, 2] = True
        positions[frozen[:, np.minimum(SYSTEM, 2)]] = np.nan
        states = trajectory(positions, velocities, frozen)
        ring = observe(Correlation.of_displacements(states[0], WINDOW), frames(states))
        np.testing.assert_array_equal(ring.count[0, :, 0], [8, 7, 6, 5, 4, 3])
        np.testing.assert_array_equal(ring.count[0, :, 1], [2, 1, 0, 0, 0, 0])
        np.testing.assert_array_equal(ring.count[0, :, 2], [19, 17, 16, 15, 14, 13])
        for number in range(3):
            known = np.asarray(ring.count[0, :, number]) > 0
            expected = brute_force(positions, "positions", np.equal(SYSTEM, number), known.sum())
            found = np.asarray(ring.result()[:, number])
            np.testing.assert_allclose(found[known], expected, rtol=1e-10, atol=1e-12)
            assert np.isnan(found[~known]).all()
        system = states[0].particles.data.system
        afterwards = mean_square_displacement(positions, system, lags=WINDOW, frozen=frozen)
        np.testing.assert_allclose(afterwards[:, :2], ring.result()[:, :2], rtol=1e-10, atol=1e-12)
        first = mean_square_displacement(positions[:5], system, frozen=frozen[:5])[:, 2]
        np.testing.assert_allclose(afterwards[:5, 2], first, rtol=1e-12)


def test_each_system_of_a_ragged_batch_is_as_it_is_alone():
    positions, velocities = walks()
    states = trajectory(positions, velocities)
    batch = observe(Correlation.of_velocities(states[0], WINDOW), frames(states)).result()
    assert batch.dtype == np.float32
    alone = [
        state([r[SYSTEM == 2]], velocities=[v[SYSTEM == 2]])
        for r, v in zip(positions, velocities, strict=True)
    ]
    one = observe(Correlation.of_velocities(alone[0], WINDOW), frames(alone)).result()
    np.testing.assert_allclose(batch[:, 2], one[:, 0], rtol=1e-5, atol=1e-6)


def test_a_particle_that_changes_its_label_is_found():
    states = trajectory(*walks())[:2]
    other = state(list(np.split(walks()[0][0, :-2], [4, 5])), masses=MASSES, absent=2)
    ring = Correlation.of_displacements(states[0], 3, label="A")
    result = jax.jit(as_result_function(ring.update))(other)
    with raises(ObserverError, "Correlations in time need the same particles in every frame."):
        result.raise_assertion()


@pytest.mark.parametrize("windows", [3, 8, 9, 20])
def test_errors_of_diffusion_coefficients_hold_the_truth(windows):
    """One and two of them; 0.68 and 0.95 for a run without end."""
    systems, atoms, entry = 400, 4, DisplacementObservation(window=10, every=1)
    steps = np.random.default_rng(7).normal(size=(10 * windows, systems * atoms, 3))
    begin = state([np.zeros((atoms, 3))] * systems)

    def moved(positions):
        data = dataclasses.replace(begin.particles.data, positions=positions)
        return dataclasses.replace(begin, particles=begin.particles.set_data(data))

    walked = jax.vmap(moved)(jnp.asarray(steps.cumsum(axis=0), jnp.float32))
    observer = observe(entry.made(begin, identity_lens()), walked)
    found = entry.found(observer, 1.0).values["diffusion"]
    deviations = np.abs(found.value - 0.5) / found.error
    assert 0.62 < np.mean(deviations < 1) < 0.80
    assert np.mean(deviations < 2) > 0.87


def test_a_part_that_a_system_has_not_seen_to_its_end_does_not_count():
    with jax.enable_x64(True):
        frozen = np.zeros((FRAMES, 3), bool)
        frozen[7:, 0] = True
        states = trajectory(*walks(), frozen)
        ring = Correlation.of_displacements(states[0], 3).in_parts(4, 5)
        parts = observe(ring, frames(states)).result_of_parts()
        seen = np.isfinite(parts[:, 1])
        np.testing.assert_array_equal(seen[:, 0], [True, False, False, False])
        np.testing.assert_array_equal(seen[:, 2], [True, True, True, True])


# Known motions ----------------------------------------------------------------------------


def test_ballistic_motion_grows_with_the_square_of_time():
    velocities = np.array([[1.0, 2.0, -2.0], [0.0, 3.0, 4.0]])
    time = np.arange(50) * 0.1
    positions = 5.0 + time[:, None, None] * velocities
    squared = np.mean(np.sum(velocities**2, axis=1))
    msd = mean_square_displacement(positions)[:, 0]
    np.testing.assert_allclose(msd, squared * time**2, rtol=1e-9, atol=1e-11)
    together = np.broadcast_to(time[:, None, None] * velocities[:1], (50, 2, 3))
    still = mean_square_displacement(together, masses=np.array([1.0, 5.0]))
    np.testing.assert_allclose(still, 0, atol=1e-11)


def test_oscillators_have_the_cosine_of_their_frequency():
    period, frames = 40, 40 * 50
    time = np.arange(frames) * 2 * np.pi / period
    phases = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    velocities = np.cos(time[:, None] + phases)[..., None] * np.array([0.0, 1.0, 0.0])
    vacf = velocity_autocorrelation(velocities, lags=2 * period)[:, 0]
    np.testing.assert_allclose(vacf, 0.5 * np.cos(time[: 2 * period]), atol=1e-12)


def test_a_random_walk_diffuses_as_its_steps_say():
    steps = np.random.default_rng(5).normal(size=(2000, 200, 3)) * 0.2
    positions, system = np.cumsum(steps, axis=0), np.arange(200) % 2
    exact = 0.2**2 / (2 * 0.5)
    msd = mean_square_displacement(positions, system, lags=21)
    parts = [
        mean_square_displacement(part, system, lags=21) for part in np.array_split(positions, 10)
    ]
    found = diffusion(msd, 0.5, (1, 20), parts)
    assert found.value.shape == found.error.shape == (2,)
    assert (np.abs(found.value - exact) < 4 * found.error).all()
    assert (found.error < 0.02 * exact).all()
    assert np.isnan(diffusion(msd, 0.5, (1, 20)).error).all()


def test_slopes_and_integrals_of_given_functions():
    lags = np.arange(101)
    line = diffusion(7.0 + 6 * 0.3 * lags[:, None] * 0.5, 0.5, (2, 10))
    assert line.value[0] == pytest.approx(0.3)
    decay = np.exp(-lags * 0.02)[:, None]
    running = green_kubo(3 * decay, 0.02)
    assert running[0, 0] == 0
    np.testing.assert_allclose(running[:, 0], 1 - decay[:, 0], atol=1e-4)


def test_lines_and_trajectories_that_are_none_are_refused():
    message = "A line through the lags 3 to 3 needs two or more of the 5 that there are."
    with raises(ObserverError, message):
        diffusion(np.zeros((5, 1)), 1.0, (3, 3))
    with raises(ObserverError, "An error needs two parts of a trajectory or more, not 1."):
        diffusion(np.zeros((5, 1)), 1.0, (0, 3), [np.zeros((5, 1))])
    with raises(ObserverError, "A trajectory has the shape (frames, particles, 3), not (4, 3)."):
        mean_square_displacement(np.zeros((4, 3)))
    with raises(ObserverError, "Particle 12 is not at a finite place in frame 0."):
        mean_square_displacement(walks()[0])
    with raises(ObserverError, "The window is one frame or more, not 0."):
        Correlation.of_velocities(trajectory(*walks())[0], 0)


@pytest.mark.parametrize(("frames_in_all", "length"), [(7, 3), (12, 3), (13, 6), (FRAMES, 6)])
def test_parts_are_those_of_their_frames_add_up_and_join_as_a_run_gets_longer(
    frames_in_all, length
):
    with jax.enable_x64(True):
        states = trajectory(*walks())[:frames_in_all]
        empty = Correlation.of_displacements(states[0], WINDOW)
        whole = observe(empty, frames(states))
        parts = observe(empty.in_parts(4, 3), frames(states))
        np.testing.assert_array_equal(parts.count.sum(axis=0), whole.count[0])
        np.testing.assert_allclose(parts.result(), whole.result(), rtol=1e-12)
        assert parts.per_part == length
        first = observe(empty, frames(states[:length]))
        found = parts.result_of_parts()
        np.testing.assert_allclose(found[0], first.result(), rtol=1e-12)
        full = np.isfinite(found[:, 0, 0])
        assert full.tolist() == [length * (n + 1) <= frames_in_all for n in range(4)]
        with pytest.raises(ObserverError, match="Parts are an even number"):
            whole.in_parts(5, 4)


@pytest.mark.parametrize("kind", [DisplacementObservation, VelocityObservation])
def test_a_random_walk_has_the_diffusion_that_it_must(kind):
    """Steps of variance 1 per axis and time: MSD = 3t, and ½·VACF(0) = 3/2, so that D = ½."""
    rng = np.random.default_rng(8)
    kicks = rng.normal(size=(400, 60, 3))
    with jax.enable_x64(True):
        states = [
            state([p, q], velocities=[v, w])
            for p, q, v, w in zip(kicks.cumsum(axis=0), 0 * kicks, kicks, 0 * kicks, strict=True)
        ]
        entry = kind(window=10, every=1)
        observer = observe(entry.made(states[0], identity_lens()), frames(states))
        found = entry.found(observer, 1.0).values["diffusion"]
        without_time = entry.found(observer, None)
    assert found.unit == "cm^2/s"
    assert abs(found.value[0] - 0.5) < 4 * found.error[0]
    assert 0 < found.error[0] < 0.1
    assert found.value[1] == 0
    assert not without_time.values
