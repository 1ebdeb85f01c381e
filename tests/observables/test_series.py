"""A series records rows until it is full."""

import jax
import numpy as np
from support import raises

from instar.core.capacity import CapacityError
from instar.observables import ObserverError, Series, observe
from observables.states import energies, frames, state

POSITIONS = [np.zeros((2, 3)), np.ones((1, 3))]


def several(state):
    index = np.arange(2, dtype=np.int32)
    return {"energy": energies(state), "twice": 2 * energies(state)[:, None], "number": index}


def recorded(number, room, function=energies, frozen_from=(99, 99)):
    states = [
        state(POSITIONS, energy=[t, -t], frozen=[t >= f for f in frozen_from])
        for t in range(number)
    ]
    return observe(Series.of(function, states[0], room), frames(states))


def test_rows_are_those_that_were_recorded():
    with jax.enable_x64(True):
        series = recorded(3, 5, several)
        rows = series.result()
        np.testing.assert_array_equal(rows["energy"], [[0, 0], [1, -1], [2, -2]])
        np.testing.assert_array_equal(rows["twice"][..., 0], 2 * rows["energy"])
        np.testing.assert_array_equal(rows["number"], [[0, 1]] * 3)
        assert rows["energy"].dtype == np.float64


def test_a_frozen_system_records_no_more_rows():
    with jax.enable_x64(True):
        series = recorded(4, 5, frozen_from=(99, 2))
        np.testing.assert_array_equal(series.count, [4, 2])
        rows = series.result()
        np.testing.assert_array_equal(rows[:, 0], [0, 1, 2, 3])
        np.testing.assert_array_equal(rows[:, 1], [0, -1, np.nan, np.nan])


def test_a_full_series_is_an_error():
    assert len(recorded(3, 3).result()) == 3
    with raises(CapacityError, "Insufficient capacity: 4 > 3."):
        recorded(4, 3)


def test_nothing_recorded_are_no_rows():
    series = Series.of(energies, state(POSITIONS), 3)
    assert series.result().shape == (0, 2)


def test_a_function_must_give_a_row_for_each_system():
    with raises(ObserverError, "There are 2 systems, but the function gave an array of shape ()."):
        Series.of(lambda s: energies(s).sum(), state(POSITIONS), 3)
    with raises(ObserverError, "A series has room for one row or more, not for 0."):
        Series.of(energies, state(POSITIONS), 0)
