"""How tables look when they are printed."""

import jax
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


def test_in_a_notebook_a_table_shows_its_first_rows_and_escapes_its_keys():
    system = Index.integer([0, 0, 1], n=2, label=SystemId)
    rows = Table(("<b>", "a", "c"), {"system": system, "x": np.arange(3.0)}, str)
    text = rows._repr_html_()
    assert "&lt;b&gt;" in text
    assert "<td>2.</td>" in text
    assert "the first" not in text
    many = Table.arange(jnp.zeros((1000, 3)), label=ParticleId)._repr_html_()
    assert "Table of 1000 rows, by ParticleId; the first 10" in many
    assert many.count("<tr>") == 11


def test_in_a_notebook_an_index_shows_the_keys_that_it_names():
    text = Index.integer([1, 0, 5], n=2, label=SystemId)._repr_html_()
    assert text.count("<tr>") == 4
    assert "<td>2</td><td>OOB</td>" in text


def test_a_traced_table_shows_no_values():
    shown = []
    jax.jit(lambda table: shown.append(table._repr_html_()))(Table.arange(jnp.zeros(3)))
    assert "traced" in shown[0]
