"""Potentials that were given as objects are known again by what they are made of."""

import dataclasses
import functools

import numpy as np
import pytest

from instar.app.config.recorded import is_record, record_of
from instar.core.utils.jax import dataclass, field
from instar.potentials import Potential


@dataclass
class Mine(Potential):
    array: object
    static: object = field(static=True, default=None)


def scaled(factor):
    return lambda x: factor * x


def plain(x):
    return 2 * x


ONE = Mine(np.arange(3.0), {"b": 1, "a": (2, "x")})
SAME = Mine(np.arange(3.0), {"a": (2, "x"), "b": 1})
OTHERS = {
    "a number of an array": Mine(np.arange(3.0) + 1e-15),
    "the type of an array": Mine(np.arange(3, dtype=np.float32)),
    "the shape of an array": Mine(np.arange(3.0)[:, None]),
    "a static field": Mine(np.arange(3.0), {"b": 1, "a": (2, "y")}),
    "a number instead of text": Mine(np.arange(3.0), {"b": "1", "a": (2, "x")}),
    "a function": Mine(np.arange(3.0), plain),
    "what a function holds": Mine(np.arange(3.0), scaled(2)),
    "what another function holds": Mine(np.arange(3.0), scaled(3)),
    "a function with arguments": Mine(np.arange(3.0), functools.partial(plain, 1)),
}


def test_the_same_potential_has_the_same_record():
    assert record_of(ONE) == record_of(SAME)
    assert record_of(Mine(1.0, scaled(2))) == record_of(Mine(1.0, scaled(2)))
    assert is_record(record_of(ONE))
    assert record_of(ONE)["object"].endswith("test_recorded.Mine")


def test_every_difference_makes_another_record():
    found = [record_of(one)["digest"] for one in (ONE, *OTHERS.values())]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("entry", [None, [], {"type": "lennard_jones"}, {"object": "x"}])
def test_other_entries_are_not_records(entry):
    assert not is_record(entry)


def test_fields_that_are_dataclasses_count():
    inner = dataclasses.make_dataclass("Inner", ["x"])
    assert record_of(Mine(inner(1))) != record_of(Mine(inner(2)))
