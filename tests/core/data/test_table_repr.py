"""How tables look when they are printed."""

import jax.numpy as jnp
import numpy as np
import pytest

from instar import Buffered, Index, ParticleId, SystemId, Table, lens

SYSTEM = lens(lambda data: data["system"])


@pytest.mark.parametrize(
    ("keys", "cls", "shown"),
    [
        ((), SystemId, "()"),
        ((0,), SystemId, "(0,)"),
        ((0, 1, 2), SystemId, "(0, 1, 2)"),
        ((0, 5), SystemId, "(0, 5)"),
        (("C", "O"), str, "('C', 'O')"),
        (range(3, 13), int, "(3, 4, 5, 6, 7, 8, 9, 10, 11, 12)"),
        (range(11), SystemId, "0-10"),
        (range(10**6), ParticleId, "0-999999"),
        (range(0, 40, 2), int, "(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, … 20 keys)"),
    ],
)
def test_a_table_shows_few_keys_as_their_tuple_and_more_as_a_range(keys, cls, shown):
    data = np.zeros(len(keys))
    assert repr(Table(keys, data, cls)) == f"Table(keys={shown}, data={data!r}, cls={cls.__name__})"


def test_the_tuple_that_is_shown_is_the_one_that_is_read():
    table = Table.arange(jnp.zeros(3), label=SystemId)
    assert f"keys={table.keys!r}, " in repr(table)


def test_a_buffer_shows_its_keys_as_a_table_does():
    rows = Table.arange({"system": Index.zeros(2, label=SystemId)}, label=ParticleId)
    buffer = Buffered.pad(rows, num_free=1, view=SYSTEM)
    assert repr(buffer).startswith("Buffered(keys=(0, 1, 2), data=")
    assert repr(buffer).endswith(", cls=ParticleId)")
