import copy
import dataclasses
import operator
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.core.data import Buffered, Index, Table
from instar.core.lens import lens
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass


@dataclass
class Atoms:
    positions: Any
    system: Index[SystemId]


def atoms(n: int, systems: list[int]) -> Table[ParticleId, Atoms]:
    column = Index.integer(systems, n=3, label=SystemId)
    positions = jnp.arange(3.0 * n).reshape(n, 3)
    return Table.arange(Atoms(positions, column), label=ParticleId)


# Making -----------------------------------------------------------------------------------


def test_arange_numbers_the_rows():
    table = Table.arange({"x": jnp.zeros((4, 2)), "y": jnp.ones((1, 3))}, label=SystemId)
    assert (table.keys, table.cls, len(table), table.size) == ((0, 1, 2, 3), SystemId, 4, 4)
    assert type(table.keys) is tuple
    assert type(table.keys[0]) is SystemId
    assert table.data["y"].shape == (4, 3)


def test_new_sorts_the_keys_and_permutes_the_rows():
    table = Table.new(["O", "C", "N"], {"q": jnp.array([8.0, 6.0, 7.0]), "one": jnp.ones(1)}, Label)
    assert table.keys == ("C", "N", "O")
    np.testing.assert_array_equal(table.data["q"], [6.0, 7.0, 8.0])
    assert table.data["one"].shape == (3,)
    with raises(ValueError, "Duplicate key: 'C'."):
        Table.new(["C", "C"], jnp.zeros(2))


def test_broadcast_of_an_index_column_forgets_its_bound():
    table = Table((0, 1, 2), {"kind": Index(("C",), [0], max_count=1)})
    assert table.data["kind"].shape == (3,)
    assert table.data["kind"].max_count is None


@pytest.mark.parametrize(
    ("make", "first_line"),
    [
        (
            lambda: Table((0, 1), Atoms(jnp.zeros((3, 3)), Index.zeros(2))),
            "Leaf data.positions has leading size 3, but the table has 2 keys.",
        ),
        (
            lambda: Table((0, 1), Atoms(jnp.zeros((2, 3)), Index.zeros(4))),
            "Leaf data.system.indices has leading size 4, but the table has 2 keys.",
        ),
        (
            lambda: Table((0, 1), {"a": [jnp.zeros(2), 1.0]}),
            "Leaf data['a'][1] has no leading dimension, but the table has 2 keys.",
        ),
        (lambda: Table((0, 0), jnp.zeros(2)), "Duplicate key: 0."),
        (lambda: Table(("b", "a"), jnp.zeros(2)), "Keys are not sorted: 'b' stands before 'a'."),
        (lambda: Table((), jnp.zeros(0)), "Without keys the key class is unknown."),
        (
            lambda: Table.arange({}),
            "The data has no leaf with a leading dimension, "
            "so it does not tell its number of rows.",
        ),
    ],
)
def test_bad_tables_are_refused(make, first_line):
    with raises(ValueError, first_line):
        make()


def test_an_empty_table_works_where_its_class_is_known():
    empty = Table((), {"x": jnp.zeros((0, 3))}, cls=SystemId)
    assert (len(empty), empty.keys, empty.cls) == (0, (), SystemId)
    nowhere = Index((), [0, 0], cls=SystemId)
    assert empty[nowhere]["x"].tolist() == [[0.0] * 3] * 2
    assert empty.update(nowhere, {"x": jnp.ones((2, 3))}).data["x"].shape == (0, 3)
    assert nowhere.counts.data.shape == (0,)
    assert nowhere.isin(nowhere).tolist() == [False, False]
    assert nowhere.update_labels((SystemId(4),)).indices.tolist() == [1, 1]
    assert nowhere.where_flat(nowhere).shape == (0,)
    assert nowhere.where_rectangular(nowhere).shape == (2, 0)
    assert Index((), [], cls=SystemId).subselect(nowhere, 2).rows.tolist() == [0, 0]
    assert Table.arange(jnp.zeros((0, 2)), label=SystemId).vocabulary is empty.vocabulary


def test_copies_share_the_vocabulary():
    table = atoms(2, [0, 1])
    for twin in (
        copy.deepcopy(table),
        pickle.loads(pickle.dumps(table)),
        dataclasses.replace(table),
    ):
        assert twin.vocabulary is table.vocabulary
        assert jax.tree.structure(twin) == jax.tree.structure(table)


# Reading ----------------------------------------------------------------------------------


def test_container_manners():
    table = Table(("C", "O"), {"q": jnp.array([6, 8])})
    assert "C" in table
    assert "N" not in table
    assert [(key, int(row["q"])) for key, row in table] == [("C", 6), ("O", 8)]
    assert repr(table).startswith("Table(keys=('C', 'O'), data={'q': ")
    assert repr(table).endswith(", cls=str)")


# Writing ----------------------------------------------------------------------------------


def test_writing_an_index_column_keeps_out_of_bounds_out():
    table = atoms(3, [0, 1, 2])
    narrow = Index((SystemId(1),), [0, 1])  # key 1, then out of bounds
    rows = Atoms(jnp.zeros((2, 3)), narrow)
    updated = table.update(Index.integer([0, 2], n=3, label=ParticleId), rows)
    assert updated.data.system.indices.tolist() == [1, 1, 3]
    assert updated.data.system.vocabulary is table.data.system.vocabulary


def test_at_reads_and_writes_rows():
    table = atoms(3, [0, 1, 2])
    rows = table.at(Index.integer([2, 3], n=3, label=ParticleId))
    assert rows.get().positions.shape == (2, 3)
    moved = rows.focus(lambda data: data.positions).apply(lambda x: x + 1)
    np.testing.assert_array_equal(moved.data.positions[2], [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(moved.data.positions[:2], table.data.positions[:2])


def test_update_if_writes_only_rows_whose_system_accepted():
    table = atoms(4, [0, 0, 1, 2])
    accept = Table.arange(jnp.array([True, False, True]), label=SystemId)
    index = Index.integer([0, 2, 3], n=4, label=ParticleId)
    new = Atoms(jnp.full((3, 3), 9.0), table[index].system)
    updated = table.update_if(accept, index, new)
    np.testing.assert_array_equal(updated.data.positions[:, 0], [9.0, 3.0, 6.0, 9.0])


def test_update_if_takes_the_system_of_the_row_that_is_freed_or_filled():
    table = atoms(3, [0, 1, 3])  # row 2 is free
    accept = Table.arange(jnp.array([True, False, True]), label=SystemId)
    index = Index.integer([0, 1, 2], n=3, label=ParticleId)
    new_system = Index.integer([3, 3, 2], n=3, label=SystemId)  # free, free, fill
    updated = table.update_if(accept, index, Atoms(jnp.zeros((3, 3)), new_system))
    assert updated.data.system.indices.tolist() == [3, 1, 2]


def test_update_if_with_a_named_system():
    table = Table.arange({"x": jnp.zeros(2), "owner": Index.integer([0, 1], n=2, label=SystemId)})
    accept = Table.arange(jnp.array([False, True]), label=SystemId)
    index = Index.arange(2)
    new = {"x": jnp.ones(2), "owner": table.data["owner"]}
    by_view = table.update_if(accept, index, new, system=lens(lambda d: d["owner"]))
    by_index = table.update_if(accept, index, new, system=table.data["owner"])
    assert by_view.data["x"].tolist() == by_index.data["x"].tolist() == [0.0, 1.0]


def test_map_set_subset_and_slice():
    table = atoms(4, [0, 0, 1, 2])
    assert table.map_data(lambda d: d.positions[:, 0]).data.tolist() == [0.0, 3.0, 6.0, 9.0]
    with raises(ValueError, "Leaf data has leading size 2, but the table has 4 keys."):
        table.set_data(jnp.zeros(2))
    subset = table.subset(Index.integer([3, 1], n=4, label=ParticleId))
    assert (subset.keys, subset.cls) == ((0, 1), ParticleId)
    assert subset.data.positions[:, 0].tolist() == [9.0, 3.0]
    part = table.slice(1, 3)
    assert part.keys == (1, 2)
    assert part.data.system.indices.tolist() == [0, 1]
    assert Table(("a", "b", "c"), jnp.arange(3)).slice(-2).keys == ("b", "c")
    assert Table(("a",), jnp.arange(1)).subset(Index(("a",), [0, 0])).keys == (0, 1)


# Combining --------------------------------------------------------------------------------


def test_join_matches_rows_by_key():
    base = Table(("b", "c"), jnp.array([1.0, 2.0]))
    other = Table(("a", "b", "c"), jnp.array([10.0, 20.0, 30.0]))
    joined = Table.join(base, other, other)
    assert joined.keys == ("b", "c")
    assert [part.tolist() for part in joined.data] == [[1.0, 2.0], [20.0, 30.0], [20.0, 30.0]]
    with raises(ValueError, "Keys in self not found in target: ['a']"):
        Table.join(other, base)


def test_transform_lifts_a_function_to_tables():
    add = Table.transform(lambda a, b: a + b)
    table = Table(("a", "b"), jnp.array([1.0, 2.0]))
    assert add(table, table).data.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="The tables have different keys"):
        add(table, Table(("a", "c"), jnp.array([1.0, 2.0])))


def test_arithmetic_between_tables_and_with_scalars():
    a = Table(("x", "y"), {"u": jnp.array([1.0, 2.0])})
    b = Table(("x", "y"), {"u": jnp.array([3.0, 5.0])})
    results = {
        "a+b": a + b,
        "a-b": a - b,
        "a*b": a * b,
        "a/b": a / b,
        "a+1": a + 1.0,
        "1+a": 1.0 + a,
        "1-a": 1.0 - a,
        "2*a": 2.0 * a,
        "2/a": 2.0 / a,
        "a**2": a**2,
        "-a": -a,
    }
    for formula, table in results.items():
        expected = eval(formula, {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0])})
        np.testing.assert_allclose(table.data["u"], expected, rtol=1e-6, err_msg=formula)
        assert table.vocabulary is a.vocabulary
    with pytest.raises(ValueError, match="The tables have different keys"):
        operator.add(a, Table(("x", "z"), {"u": jnp.zeros(2)}))
    with pytest.raises(TypeError, match="operand 'Table' does not support ufuncs"):
        operator.add(a, np.ones(2))
    with pytest.raises(TypeError, match="unsupported operand"):
        operator.add(jnp.ones(2), a)
    with pytest.raises(TypeError, match="one is an Index"):
        operator.add(atoms(2, [0, 1]), 1)


# Constant cost ----------------------------------------------------------------------------


def test_equal_tables_made_anew_do_not_compile_again():
    traces = []

    @jax.jit
    def total(table: Table) -> Table:
        traces.append(len(table))
        return table.map_data(lambda x: x * 2)

    rng = np.random.default_rng(0)
    keys = np.sort(rng.choice(10**6, 1000, replace=False))
    for scale in (1.0, 2.0, 3.0):
        out = total(Table(keys.copy(), np.full(1000, scale)))
        total(out)
    total(Table(keys + 1, np.ones(1000)))
    assert traces == [1000, 1000]


# Edges ------------------------------------------------------------------------------------


def test_new_refuses_a_wrong_number_of_rows():
    with raises(ValueError, "Leaf data has leading size 3, but the table has 2 keys."):
        Table.new([1, 0], jnp.arange(3.0))
    with raises(ValueError, "Leaf data has no leading dimension, but the table has 2 keys."):
        Table.new([1, 0], jnp.float32(3))
    with pytest.raises(ValueError, match="Keys can't be put in order"):
        Table.new([1, "a"], jnp.zeros(2))


def test_replace_takes_new_keys_under_the_old_class():
    table = dataclasses.replace(Table.arange(jnp.zeros(2), label=SystemId), keys=(5, 6))
    assert (table.keys, table.cls) == ((5, 6), SystemId)
    assert dataclasses.replace(Index((SystemId(0),), [0]), keys=(4,)).keys == (4,)
    with raises(TypeError, "Keys are missing: pass them first, or as keys=..."):
        Table(data=jnp.zeros(2))


def test_writing_keeps_the_bound_of_the_column_and_holds_it():
    column = Index((SystemId(0), SystemId(1)), [0, 0, 1], max_count=2)
    table = Table.arange({"system": column}, label=ParticleId)
    rows = {"system": Index((SystemId(1),), [0], max_count=1)}
    updated = table.update(Index((ParticleId(0),), [0]), rows)
    assert updated.data["system"].max_count == 2
    with raises(ValueError, "Key 0 occurs 3 times, but max_count is 2."):
        table.update(Index((ParticleId(2),), [0]), {"system": Index((SystemId(0),), [0])})


def test_a_batch_of_one_table_stays_a_batch_of_one():
    batch = jax.tree.map(lambda x: x[None], Table.arange({"x": jnp.zeros(3)}))
    with pytest.raises(ValueError, match="leading size 1, but the table has 3 keys"):
        lens(lambda t: t.data["x"]).set(batch, jnp.ones((1, 3)))


def test_a_row_of_several_systems_needs_all_of_them_to_accept():
    ends = Index.integer([[0, 1], [0, 0]], n=2, label=SystemId)
    table = Table.arange({"ends": ends, "w": jnp.zeros(2)})
    accept = Table.arange(jnp.array([True, False]), label=SystemId)
    new = {"ends": ends, "w": jnp.ones(2)}
    updated = table.update_if(accept, Index.arange(2), new, system=lens(lambda d: d["ends"]))
    assert updated.data["w"].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("method", ["update", "update_if", "free", "subset", "at"])
def test_every_method_says_what_names_rows(method):
    buffer = Buffered.full(atoms(2, [0, 1]))
    arguments = {
        "update": (3, buffer.data),
        "update_if": (Table.arange(jnp.ones(3, bool), label=SystemId), 3, buffer.data),
    }.get(method, (3,))
    with raises(TypeError, "Rows of a table are named by an Index, not by int."):
        getattr(buffer, method)(*arguments)


def test_rows_that_do_not_fit_are_named():
    table = atoms(3, [0, 1, 2])
    index = Index.integer([0, 1], n=3, label=ParticleId)
    system = Index.zeros(2, n=3, label=SystemId)
    with raises(ValueError, "New rows for data.positions have shape (3, 3), but (2, 3) is needed."):
        table.update(index, Atoms(jnp.zeros((3, 3)), system))
    with pytest.raises(ValueError, match="The new rows have another structure than the data"):
        table.update(index, {"positions": jnp.zeros((2, 3))})


def test_tables_are_not_compared():
    with raises(TypeError, "Tables are not compared with ==."):
        operator.eq(Table.arange(jnp.zeros(2)), Table.arange(jnp.zeros(2)))
