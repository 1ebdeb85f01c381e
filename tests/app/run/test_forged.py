"""A checkpoint that was tampered with is refused, and never a wrong trajectory without a word."""

import jax
import numpy as np
import pytest
from app.runs import OBSERVE, configuration
from support import raises

from instar.app.config import load
from instar.app.run.build import _wired
from instar.app.run.snapshot import arrays_of, restored, sizes_of
from instar.storage import CheckpointError


@pytest.fixture(scope="module")
def state():
    """A state before its first step: nothing is compiled for it."""
    with jax.enable_x64(True):
        pair = {"type": "radial_distribution", "pair": ["Ar", "Ar"], "reach": "5 angstrom"}
        loaded = load(configuration("nose_hoover", observe=[*OBSERVE[:2], pair]))
        yield _wired(loaded, range(2)).state


def changed(array, value):
    new = array.copy()
    new.reshape(-1)[0] = value
    return new


DAMAGED = "The checkpoint is damaged: "
ANOTHER = "The checkpoint is that of another system: "
FORGED = {
    "a position that is no number": (
        "['particles'].positions",
        np.nan,
        DAMAGED + "row 0 of particles has numbers that are not finite.",
    ),
    "a velocity without end": (
        "['particles'].velocities",
        np.inf,
        DAMAGED + "row 0 of particles has numbers that are not finite.",
    ),
    "a cell that is no number": (
        "['systems'].cell.vectors",
        np.nan,
        DAMAGED + "row 0 of systems has numbers that are not finite.",
    ),
    "a thermostat that is no number": (
        "['systems'].thermostat.velocity",
        np.nan,
        DAMAGED + "row 0 of systems has numbers that are not finite.",
    ),
    "a neighbor that there is not": (
        "['neighbors'].slots",
        10**6,
        DAMAGED + "['neighbors'].slots points at rows that do not exist.",
    ),
    "a neighbor before the first": (
        "['neighbors'].rows",
        -1,
        DAMAGED + "['neighbors'].rows points at rows that do not exist.",
    ),
    "an owner that there is not": (
        "['neighbors'].images.owner",
        60,
        DAMAGED + "['neighbors'].images.owner points at rows that do not exist.",
    ),
    "a place that there is not": (
        "['neighbors'].place",
        10**6,
        DAMAGED + "['neighbors'].place points at rows that do not exist.",
    ),
    "a neighbor of an observer that there is not": (
        "['observed']['radial_distribution'].neighbors.slots",
        10**6,
        DAMAGED
        + "['observed']['radial_distribution'].neighbors.slots points at rows that do not exist.",
    ),
    "a particle of another system": (
        "['particles'].system.indices",
        1,
        ANOTHER + "['particles'].system differs.",
    ),
    "a particle of another kind": (
        "['particles'].labels.indices",
        1,
        ANOTHER + "['particles'].labels differs.",
    ),
    "a pair of another kind": (
        "['observed']['radial_distribution Ar-Ar'].pair.indices",
        1,
        ANOTHER + "['observed']['radial_distribution Ar-Ar'].pair differs.",
    ),
    "other random numbers": ("['systems'].stream", 7, ANOTHER + "['systems'].stream differs."),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_column_is_refused(state, name):
    column, value, said = FORGED[name]
    arrays = arrays_of(state)
    arrays[column] = changed(arrays[column], value)
    with raises(CheckpointError, said):
        restored(state, arrays, sizes_of(state))


def test_what_was_not_changed_is_taken(state):
    again = restored(state, arrays_of(state), sizes_of(state))
    assert sizes_of(again) == sizes_of(state)


def test_a_frozen_system_may_have_lost_its_numbers(state):
    arrays = arrays_of(state)
    arrays["['systems'].frozen"] = np.array([True, False])
    arrays["['particles'].positions"] = changed(arrays["['particles'].positions"], np.nan)
    restored(state, arrays, sizes_of(state))


def test_room_that_no_array_needs_is_refused_before_it_is_made(state):
    held = sum(array.size for array in arrays_of(state).values())
    sizes = sizes_of(state) | {"images": 10**12}
    said = f"it asks for room for {10**12} images, and its arrays hold {held} numbers."
    with raises(CheckpointError, DAMAGED + said):
        restored(state, arrays_of(state), sizes)
