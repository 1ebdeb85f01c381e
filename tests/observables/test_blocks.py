"""Errors of correlated means: known processes, and the same on the fly as afterwards."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.observables import (
    ObserverError,
    RunningBlocks,
    autocorrelation_time,
    block_average,
    effective_samples,
    observe,
)
from observables.states import energies, state


def autoregressive(phi, length, systems, seed=0):
    """x(t + 1) = φ x(t) + noise, of variance 1: ρ(t) = φᵗ."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(length, systems)) * np.sqrt(1 - phi**2)
    x = np.empty((length, systems))
    x[0] = rng.normal(size=systems)
    for t in range(1, length):
        x[t] = phi * x[t - 1] + noise[t]
    return x


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.95])
def test_correlation_times_and_errors_of_an_autoregressive_process_are_known(phi):
    length, systems = 2**14, 200
    x = 7.0 + autoregressive(phi, length, systems)
    tau = (1 + phi) / (1 - phi)
    times = autocorrelation_time(x)
    # Sokal's window leaves out e⁻⁵, and his estimate of the scatter is √(2(2M + 1)/n) τ.
    scatter = tau * np.sqrt(2 * (5 * tau + 1) / length)
    assert times.mean() == pytest.approx(tau, abs=4 * scatter / np.sqrt(systems) + 0.02 * tau)
    assert times.std() < 1.5 * scatter
    np.testing.assert_allclose(effective_samples(x), length / times)

    average = block_average(x)
    exact = np.sqrt(tau / length)
    assert average.converged.all()
    assert 0.97 * exact < average.error.mean() < 1.08 * exact
    said = np.sqrt(np.mean(average.error_of_error**2))
    assert 0.5 * said < average.error.std() < 1.5 * said
    deviations = (average.mean - 7.0) / average.error
    assert np.sqrt(np.mean(deviations**2)) == pytest.approx(1.0, abs=0.15)
    np.testing.assert_allclose(average.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(average.variance, x.var(axis=0), rtol=1e-9)


@pytest.mark.parametrize(
    ("length", "effective", "one", "two"),
    [
        (40, 40, 0.66, 0.93),
        (200, 8, 0.58, 0.84),
        (200, 20, 0.62, 0.89),
        (800, 16, 0.62, 0.88),
        (800, 50, 0.64, 0.91),
        (800, 200, 0.66, 0.93),
    ],
)
def test_error_bars_of_short_correlated_series_hold_the_mean(length, effective, one, two):
    """One and two of them: 0.68 and 0.95 for a series without end."""
    tau = length / effective
    x = autoregressive((tau - 1) / (tau + 1), length, 4000)
    average = block_average(x)
    deviations = np.abs(average.mean) / average.error
    assert one < np.mean(deviations < 1) < 0.75
    assert two < np.mean(deviations < 2) < 0.98


def correlated(length, effective):
    tau = length / effective
    return autoregressive((tau - 1) / (tau + 1), length, 2000, seed=1)


@pytest.mark.parametrize(("length", "effective"), [(16, 5), (200, 8)])
def test_series_of_a_few_independent_values_are_not_called_converged(length, effective):
    assert np.mean(block_average(correlated(length, effective)).converged) < 0.02


@pytest.mark.parametrize(("length", "effective"), [(800, 50), (4000, 210)])
def test_errors_that_are_called_converged_hold_the_mean(length, effective):
    average = block_average(correlated(length, effective))
    within = np.abs(average.mean) < average.error
    assert np.mean(average.converged) > 0.5
    assert np.mean(within[average.converged]) > 0.58


def test_errors_of_longer_series_are_sharper():
    def spread(length):
        return np.std(block_average(autoregressive(0.0, length, 300)).error) * np.sqrt(length)

    assert spread(2**15) < 0.7 * spread(2**9)


def test_a_slow_motion_behind_a_fast_one_is_not_missed():
    length, systems, tau = 8000, 1000, 101
    slow = autoregressive((tau - 1) / (tau + 1), length, systems)
    fast = np.random.default_rng(1).normal(size=(length, systems))
    average = block_average(np.sqrt(0.1) * slow + np.sqrt(0.9) * fast)
    exact = np.sqrt((0.1 * tau + 0.9) / length)
    assert 0.97 * exact < average.error.mean() < 1.08 * exact


def test_independent_values_have_the_textbook_error_on_level_zero():
    x = np.random.default_rng(3).normal(size=(1000, 2, 3))
    average = block_average(x)
    assert average.mean.shape == average.error.shape == (2, 3)
    np.testing.assert_allclose(average.errors[0], x.std(axis=0, ddof=1) / np.sqrt(1000))


def test_blocks_of_level_one_are_means_of_pairs():
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    errors = block_average(x).errors
    assert len(errors) == 2
    assert errors[1] == pytest.approx(np.std([1.5, 6.0], ddof=1) / np.sqrt(2))


def test_a_constant_series_has_no_error():
    x = np.full((50, 2), 0.1)
    average = block_average(x)
    np.testing.assert_array_equal(average.error, 0)
    np.testing.assert_array_equal(average.mean, 0.1)
    assert average.converged.all()
    np.testing.assert_array_equal(autocorrelation_time(x), 1)


def test_a_series_shorter_than_its_correlations_says_so():
    walk = np.cumsum(np.random.default_rng(0).normal(size=500))
    average = block_average(walk)
    assert not average.converged
    assert average.error > np.max(average.errors)
    line = "The series (1,) of 500 values is too short for its correlations: they last for a good "
    with raises(ObserverError, line + "part of it."):
        autocorrelation_time(np.stack([np.zeros(500), np.arange(500.0)], axis=1))


def test_series_that_can_not_be_analysed_are_refused():
    message = "A series of shape (3,) is too short: time is its first axis, and errors need 4 "
    with raises(ObserverError, message + "values or more."):
        block_average([1.0, 2.0, 3.0])
    broken = np.ones((9, 2))
    broken[5, 1] = np.nan
    for function in (block_average, autocorrelation_time, effective_samples):
        with raises(ObserverError, "Value 5 of (1,) of the series is nan, not a finite number."):
            function(broken)
    with raises(ObserverError, "A series is made of real numbers, not of complex128."):
        block_average(np.ones(9, complex))


# On the fly -------------------------------------------------------------------------------


def both(state):
    energy = energies(state)
    return {"energy": energy, "vector": energy[:, None] * np.array([[1.0, -2.0]], energy.dtype)}


def run(values, function, frozen_from=None):
    """Blocks over systems of the given energies (time, systems); NaN once frozen."""
    length, systems = values.shape
    first = state([np.zeros((1, 3))] * systems, energy=values[0])
    until = np.full(systems, length) if frozen_from is None else np.asarray(frozen_from)
    frozen = np.arange(length)[:, None] >= until
    shown = jnp.asarray(np.where(frozen, np.nan, values), first.systems.data.energy.dtype)

    def frame(energy, frozen):
        data = dataclasses.replace(first.systems.data, energy=energy, frozen=frozen)
        return dataclasses.replace(first, systems=first.systems.set_data(data))

    return observe(RunningBlocks.of(function, first), jax.vmap(frame)(shown, jnp.asarray(frozen)))


def assert_same(found, expected, rtol):
    for name in ("mean", "error", "error_of_error", "variance", "errors"):
        one, other = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=rtol, err_msg=name)
    np.testing.assert_array_equal(found.block, expected.block)
    np.testing.assert_array_equal(found.converged, expected.converged)


def test_running_blocks_equal_the_analysis_afterwards():
    with jax.enable_x64(True):
        x = 3.0 + autoregressive(0.9, 1237, 3)
        found = run(x, both).result()
        assert_same(found["energy"], block_average(x), 1e-9)
        expected = block_average(x[:, :, None] * np.array([1.0, -2.0]))
        assert_same(found["vector"], expected, 1e-9)


def test_single_precision_keeps_small_fluctuations_of_large_numbers():
    x = (-1e5 + autoregressive(0.9, 4096, 2)).astype(np.float32)
    assert_same(run(x, energies).result(), block_average(x), 2e-4)


def test_frozen_systems_take_no_more_values():
    with jax.enable_x64(True):
        x = autoregressive(0.5, 300, 3)
        blocks = run(x, energies, frozen_from=(300, 77, 2))
        np.testing.assert_array_equal(blocks.count[0], [300, 77, 2])
        found = blocks.result()
        for system, until in ((0, 300), (1, 77)):
            alone = block_average(x[:until, system])
            assert found.mean[system] == pytest.approx(alone.mean, rel=1e-12)
            assert found.error[system] == pytest.approx(alone.error, rel=1e-9)
            assert found.block[system] == alone.block
        assert np.isnan(found.error[2])
        assert found.mean[2] == pytest.approx(x[:2, 2].mean())


def test_a_constant_has_no_error_on_the_fly():
    found = run(np.full((40, 1), 0.1), energies).result()
    np.testing.assert_array_equal(found.error, 0)
    assert found.converged.all()


def test_before_any_value_nothing_is_known():
    found = RunningBlocks.of(energies, state([np.zeros((1, 3))])).result()
    assert np.isnan(found.mean).all()
    assert np.isnan(found.error).all()


def test_blocks_of_complex_numbers_are_refused():
    with raises(ObserverError, "Blocks are averages of real numbers, not of complex ones."):
        RunningBlocks.of(
            lambda s: jax.lax.complex(energies(s), energies(s)), state([np.zeros((1, 3))])
        )


def test_an_oscillating_series_is_worth_a_positive_number_of_samples():
    noise = np.random.default_rng(0).normal(0, 0.1, (4000, 3))
    turns = np.array([0.4, 2.0, 3.0])[None] * np.arange(4000)[:, None]
    series = np.sin(turns) * np.exp(-np.arange(4000)[:, None] % 50 / 25) + noise
    assert (effective_samples(series) > 0).all()
