"""Joins: rows of a table, read through an index."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.core.data import Index, Table
from instar.core.typing import ParticleId, SystemId


@st.composite
def joins(draw: Any) -> tuple[list[int], list[int], list[int]]:
    """Keys of a table, keys of an index (a subset), entries with some out of bounds."""
    keys = sorted(draw(st.sets(st.integers(-9, 9), min_size=1, max_size=8)))
    subset = sorted(draw(st.sets(st.sampled_from(keys), min_size=1)))
    entries = draw(st.lists(st.integers(0, len(subset) + 1), min_size=4, max_size=4))
    return keys, subset, entries


@given(joins())
def test_join_agrees_with_a_dictionary(case):
    keys, subset, entries = case
    floats = np.array([float(k) + 0.5 for k in keys], np.float32)
    kinds = Index(("A", "B"), [k % 3 for k in keys])  # 2 is out of bounds
    table = Table(
        tuple(keys), {"x": floats, "n": np.array(keys), "even": floats > 0, "kind": kinds}
    )
    rows = table[Index(tuple(subset), entries)]
    held = [subset[e] if e < len(subset) else None for e in entries]
    assert rows["x"].tolist() == [0.0 if k is None else k + 0.5 for k in held]
    assert rows["n"].tolist() == [0 if k is None else k for k in held]
    assert rows["even"].tolist() == [k is not None and k + 0.5 > 0 for k in held]
    assert rows["kind"].indices.tolist() == [2 if k is None else k % 3 for k in held]


DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_out_of_bounds_entries_give_a_fill_row_for_every_dtype(dtype, size):
    table = Table.arange(jnp.ones((size, 2), dtype))
    index = Index.integer([0, size, size + 7], n=size)
    for read in (table.__getitem__, jax.jit(table.__getitem__)):
        rows = np.asarray(read(index).astype("complex64"))
        np.testing.assert_array_equal(rows, [[1, 1], [0, 0], [0, 0]])
        assert read(index).dtype == jnp.dtype(dtype)


def test_rows_of_random_keys_fill_with_zero_keys():
    keys = jax.random.split(jax.random.key(0), 2)
    rows = Table.arange({"rng": keys})[Index.integer([1, 2], n=2)]["rng"]
    np.testing.assert_array_equal(jax.random.key_data(rows)[1], [0, 0])
    np.testing.assert_array_equal(jax.random.key_data(rows)[0], jax.random.key_data(keys)[1])


def test_a_join_has_the_shape_of_the_index():
    table = Table.arange({"cell": jnp.zeros((2, 3, 3))})
    assert table[Index.integer(np.zeros((4, 5), int), n=2)]["cell"].shape == (4, 5, 3, 3)


def gathers(fn: Any, *args: Any) -> int:
    return str(jax.make_jaxpr(fn)(*args)).count("gather[")


def test_a_join_with_a_table_of_one_row_is_a_choice():
    table = Table.arange({"x": jnp.ones((1, 3)), "n": jnp.ones(1, jnp.int32)}, label=SystemId)
    index = Index.integer([0, 1, 0], n=1, label=SystemId)
    assert gathers(lambda t, i: t[i], table, index) == 0
    assert table[index]["x"].tolist() == [[1.0] * 3, [0.0] * 3, [1.0] * 3]
    assert table[index]["n"].tolist() == [1, 0, 1]


def test_derivatives_of_a_join_with_one_row_do_not_depend_on_free_rows():
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(999, 3)), jnp.float32)

    @jax.jit
    def slope(index, weights):
        table = Table.arange(jnp.ones((1, 3), jnp.float32), label=SystemId)
        return jax.grad(lambda t: jnp.sum(weights * t[index]))(table).data

    expected = slope(Index.integer(np.zeros(999, int), n=1, label=SystemId), weights)
    for rows in (1, 25, 2000):
        entries = np.pad(np.zeros(999, int), (0, rows), constant_values=1)
        room = jnp.pad(weights, ((0, rows), (0, 0)))
        found = slope(Index.integer(entries, n=1, label=SystemId), room)
        np.testing.assert_array_equal(found, expected)


def test_a_join_is_one_gather_and_a_second_only_for_another_vocabulary():
    table = Table.arange(jnp.arange(6.0), label=SystemId)
    read = lambda t, i: t[i]  # noqa: E731
    assert gathers(read, table, Index.arange(6, label=SystemId)) == 1
    assert gathers(read, table, Index.integer([0], n=3, label=SystemId)) == 1
    scattered = Index((SystemId(0), SystemId(2), SystemId(5)), [0, 1, 2])
    assert gathers(read, table, scattered) == 2
    np.testing.assert_array_equal(table[scattered], [0.0, 2.0, 5.0])


TARGET = "The target holds 0-2; every key of the index must be among them."


@pytest.mark.parametrize(
    ("index", "lines"),
    [
        (
            Index((SystemId(5),), [0]),
            ["Keys in self not found in target: [5]", TARGET],
        ),
        (
            Index((ParticleId(1), ParticleId(5)), [0]),
            [
                "Keys in self not found in target: [5]",
                "The index holds keys of class ParticleId, "
                "the target holds keys of class SystemId.",
                TARGET,
            ],
        ),
        (
            Index((ParticleId(1),), [0]),
            ["The index holds keys of class ParticleId, the target holds keys of class SystemId."],
        ),
        (
            Index((1,), [0]),
            ["The index holds keys of class int, the target holds keys of class SystemId."],
        ),
        (
            Index(("1",), [0]),
            [
                "Keys in self not found in target: ['1']",
                "The index holds keys of class str, the target holds keys of class SystemId.",
                TARGET,
            ],
        ),
    ],
)
def test_an_index_that_does_not_fit_is_refused(index, lines):
    systems = Table.arange(jnp.zeros(3), label=SystemId)
    for use in (systems.__getitem__, jax.jit(systems.__getitem__), systems.at):
        with pytest.raises(ValueError, match=r"class|Keys") as caught:
            use(index)
        assert str(caught.value).splitlines() == lines


@pytest.mark.parametrize("wrong", [0, slice(0, 1), jnp.array([0]), "C", [0]])
def test_anything_but_an_index_is_a_type_error(wrong):
    table = Table.arange(jnp.zeros(3))
    with raises(
        TypeError, f"Rows of a table are named by an Index, not by {type(wrong).__name__}."
    ):
        table._positions(wrong) if isinstance(wrong, str) else table[wrong]


def test_many_missing_keys_are_shortened():
    index = Index.integer([0], n=1000, label=SystemId)
    with pytest.raises(ValueError, match=r"\[3, 4, .* 12\] and 987 more\n"):
        Table.arange(jnp.zeros(3), label=SystemId)[index]


@given(joins())
def test_update_agrees_with_a_dictionary(case):
    keys, subset, entries = case
    entries = list(dict.fromkeys(entries))  # each row written once
    model = {k: float(k) for k in keys}
    table = Table(tuple(keys), np.array([float(k) for k in keys], np.float32))
    new = np.arange(100.0, 100.0 + len(entries), dtype=np.float32)
    for entry, value in zip(entries, new, strict=True):
        if entry < len(subset):
            model[subset[entry]] = float(value)
    updated = table.update(Index(tuple(subset), entries), new)
    assert updated.data.tolist() == [model[k] for k in keys]
    assert updated.vocabulary is table.vocabulary
    assert table.data.tolist() == [float(k) for k in keys]


@pytest.mark.parametrize("rows", [1, 3])
def test_rows_beside_entries_that_are_there_are_those_of_a_join_with_its_slopes(rows):
    table = Table.arange(jnp.arange(1.0, rows + 1), label=SystemId)
    index = Index.integer(np.array([0, rows - 1, rows, 0]), n=rows, label=SystemId)
    there = np.asarray(index.valid_mask)
    beside, joined = table.beside(index), table[index]
    np.testing.assert_array_equal(np.asarray(beside)[there], np.asarray(joined)[there])
    assert gathers(lambda t, i: t.beside(i), table, index) == (rows > 1)

    def total(data, read):
        return jnp.sum(jnp.where(index.valid_mask, read(table.set_data(data)) ** 2, 0))

    slopes = [
        jax.grad(total)(table.data, read)
        for read in (lambda t: t.beside(index), lambda t: t[index])
    ]
    np.testing.assert_array_equal(*slopes)
