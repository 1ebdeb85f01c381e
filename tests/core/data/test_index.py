import dataclasses
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.core.data import Index, Table
from instar.core.typing import Label, ParticleId, SystemId
from instar.core.utils.jax import NotJaxCompatibleError


def keys_of(index: Index) -> list:
    """What the entries stand for; None where out of bounds."""
    size = len(index.keys)
    return [index.keys[i] if 0 <= i < size else None for i in np.asarray(index.indices).ravel()]


# Making -----------------------------------------------------------------------------------


def test_repr():
    padded = Index((SystemId(0),), [0, 0, 0, 1, 1])
    assert repr(padded) == (
        "Index(['0' '0' '0' 'OOB' 'OOB'], cls=SystemId, keys=(0,), shape=(5,), max_count=None)"
    )
    assert repr(Index.new(["C_CO2", "O_CO2", "O_CO2"])) == (
        "Index(['C_CO2' 'O_CO2' 'O_CO2'], cls=str, keys=('C_CO2', 'O_CO2'), shape=(3,), "
        "max_count=None)"
    )
    assert "keys=0-1," in repr(Index.integer([0], n=2))
    assert "keys=(0, 5)," in repr(Index.new([0, 5]))


def test_repr_while_tracing_and_of_placeholders():
    shown = []
    jax.jit(lambda index: shown.append(repr(index)))(Index.arange(2))
    assert "int32[2]" in shown[0]
    assert "None" in repr(jax.tree.map(lambda _: None, Index.arange(2)))
    assert len(repr(Index.arange(10**5))) < 200


def test_new_takes_sorted_unique_values():
    index = Index.new([SystemId(7), SystemId(3), SystemId(7)])
    assert (index.keys, index.cls) == ((3, 7), SystemId)
    np.testing.assert_array_equal(index.indices, [1, 0, 1])
    grid = Index.new([["b", "a"], ["a", "a"]], label=Label)
    assert (grid.keys, grid.cls, grid.shape) == (("a", "b"), Label, (2, 2))
    assert Index.new(np.array([[5, 9], [9, 9]]), label=ParticleId).cls is ParticleId
    assert Index.new(np.array(["x", "y"])).cls is str
    assert Index.new([], label=Label).shape == (0,)
    assert keys_of(Index.new([(1, "a"), (0, "b")])) == [(1, "a"), (0, "b")]
    assert Index.new([2**70, 1]).keys == (1, 2**70)


@given(st.lists(st.one_of(st.integers(-40, 40), st.integers(-(2**40), 2**40)), max_size=20))
def test_new_of_integers_matches_numpy_unique(values):
    array = np.array(values, np.int64)
    index = Index.new(array)
    unique, inverse = np.unique(array, return_inverse=True)
    assert index.keys == tuple(unique.tolist())
    np.testing.assert_array_equal(index.indices, inverse)


def test_integer_arange_zeros():
    index = Index.integer(np.array([0, 2]), n=3, label=SystemId)
    assert (index.keys, index.cls) == ((0, 1, 2), SystemId)
    assert Index.integer([4, 1]).keys == (0, 1, 2, 3, 4)
    assert keys_of(Index.arange(3, label=ParticleId)) == [0, 1, 2]
    assert Index.zeros((2, 3), n=4).shape == (2, 3)
    assert jax.jit(lambda x: Index.integer(x, n=3))(jnp.array([1])).keys == (0, 1, 2)
    with pytest.raises(ValueError, match="needs n, the number of keys"):
        jax.jit(Index.integer)(jnp.array([1]))
    with pytest.raises(NotJaxCompatibleError):
        jax.jit(Index.new)(jnp.array([1]))


def test_replace_keeps_the_vocabulary():
    index = Index.new(["a", "b"])
    changed = dataclasses.replace(index, indices=jnp.array([1, 1]))
    assert keys_of(changed) == ["b", "b"]
    assert changed.vocabulary is index.vocabulary


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_entries_of_any_integer_type_become_int32(dtype):
    index = Index((0, 1, 2), np.array([0, 2, 3], dtype))
    assert index.dtype == jnp.int32
    assert keys_of(index) == [0, 2, None]


def test_huge_entries_are_out_of_bounds_and_do_not_wrap_around():
    assert keys_of(Index((0, 1), np.array([2**32, 2**32 + 1, 1]))) == [None, None, 1]
    with jax.enable_x64(True):
        traced = jax.jit(lambda x: Index((0, 1), x))(jnp.array([2**32, -(2**32), 1]))
        assert keys_of(traced) == [None, None, 1]


def test_entries_do_not_change_with_the_array_they_came_from():
    source = np.zeros(10**5, np.int32)
    index = Index.integer(source, n=2)
    source[:] = 1
    assert int(index.indices.max()) == 0


@pytest.mark.parametrize(
    ("make", "error", "first_line"),
    [
        (
            lambda: Index((0, 1), [[0, 1], [1, -2]]),
            ValueError,
            "Index entries must not be negative: -2 at (1, 1).",
        ),
        (
            lambda: Index((0, 1), np.array([-(2**40)])),
            ValueError,
            f"Index entries must not be negative: {-(2**40)} at (0,).",
        ),
        (lambda: Index((0, 1), [0.5]), TypeError, "Index entries are integers, not float64."),
        (lambda: Index((0, 1), [True]), TypeError, "Index entries are integers, not bool."),
        (
            lambda: Index(("a", "b"), [1, 1, 0, 1], max_count=2),
            ValueError,
            "Key 'b' occurs 3 times, but max_count is 2.",
        ),
        (lambda: Index((1, 0), [0]), ValueError, "Keys are not sorted: 1 stands before 0."),
        (lambda: Index.new([]), ValueError, "Without values the key class is unknown."),
        (
            lambda: Index.new([["a"], ["a", "b"]]),
            ValueError,
            "Index.new takes rows of equal length.",
        ),
    ],
)
def test_bad_entries_are_named(make, error, first_line):
    with raises(error, first_line):
        make()


def test_a_good_bound_is_kept_and_out_of_bounds_entries_do_not_count():
    assert Index((0,), [0, 0, 1, 1, 1], max_count=2).max_count == 2


# Array manners ----------------------------------------------------------------------------


def test_array_manners():
    index = Index.integer(np.arange(6).reshape(2, 3), n=6)
    assert (index.shape, index.ndim, index.size, len(index)) == ((2, 3), 2, 6, 2)
    assert index.dtype == jnp.int32
    assert keys_of(index[1]) == [3, 4, 5]
    assert keys_of(index[:, 0]) == [0, 3]
    assert keys_of(index.ravel()[jnp.array([5, 0])]) == [5, 0]
    assert index.reshape(3, 2).shape == index.reshape((3, 2)).shape == (3, 2)
    assert keys_of(index.transpose()) == [0, 3, 1, 4, 2, 5]
    assert [keys_of(row) for row in index] == [[0, 1, 2], [3, 4, 5]]
    assert keys_of(index.ravel()[jnp.array([99, 1])]) == [None, 1]
    with pytest.raises(IndexError, match="Row 2 of an Index with 2 rows"):
        index[2]


def test_taking_rows_keeps_a_bound_only_where_no_row_can_repeat():
    index = Index((0, 1), [0, 1, 0], max_count=2)
    assert index[:2].max_count == 2
    assert index[jnp.array([0, 0, 0])].max_count is None


# Reading ----------------------------------------------------------------------------------

# One size, so that every example reuses what is compiled; 4 and 5 are out of bounds.
entries = st.lists(st.integers(0, 5), min_size=8, max_size=8)


@given(entries)
def test_counts_sums_and_masks_agree_with_a_loop(values):
    index = Index(("a", "b", "c", "d"), values)
    weights = np.arange(1.0, len(values) + 1, dtype=np.float32)
    inside = [v if v < 4 else None for v in values]
    np.testing.assert_array_equal(index.valid_mask, [v is not None for v in inside])
    assert index.counts.data.tolist() == [inside.count(k) for k in range(4)]
    expected = [sum(w for v, w in zip(inside, weights, strict=True) if v == k) for k in range(4)]
    sums = index.sum_over({"w": weights, "n": weights[:, None] * np.ones((1, 2), np.float32)})
    assert sums.keys == ("a", "b", "c", "d")
    np.testing.assert_allclose(sums.data["w"], expected)
    np.testing.assert_allclose(sums.data["n"], np.stack([expected, expected], axis=1))


@given(st.sets(st.integers(0, 20), min_size=1), st.sets(st.integers(0, 20), min_size=1), entries)
def test_indices_in_another_vocabulary_point_to_the_same_keys(keys, extra, values):
    vocabulary = tuple(sorted(keys))
    index = Index(vocabulary, [min(v, len(vocabulary)) for v in values])
    larger = tuple(sorted(keys | extra))
    moved = index.update_labels(larger)
    assert keys_of(moved) == keys_of(index)
    np.testing.assert_array_equal(moved.indices, index.indices_in(larger))
    assert all(i == len(larger) or i < len(larger) for i in moved.indices.tolist())


def test_missing_keys_and_wrong_classes():
    index = Index((SystemId(0), SystemId(5)), [0, 1])
    with raises(ValueError, "Keys in self not found in target: [5]"):
        index.indices_in((0, 1))
    with pytest.raises(ValueError, match="One index holds keys of class SystemId, another keys"):
        Index.concatenate(index, Index.arange(2, label=ParticleId))
    with pytest.raises(ValueError, match="is of class ParticleId, but the key class is SystemId"):
        index.update_labels((ParticleId(0), ParticleId(5)))


@given(entries, entries)
def test_isin_agrees_with_python(values, others):
    index, other = Index((0, 1, 2, 3), values), Index((0, 1, 2, 3, 7), others)
    held = {key for key in keys_of(other) if key is not None}
    assert index.isin(other).tolist() == [key in held for key in keys_of(index)]
    assert index.isin((1, 7)).tolist() == [key in (1, 7) for key in keys_of(index)]


# Changing ---------------------------------------------------------------------------------


def test_apply_mask_names_leading_dimensions():
    index = Index.integer([[0, 1], [1, 0]], n=2)
    assert keys_of(index.apply_mask(jnp.array([True, False]))) == [0, 1, None, None]
    assert keys_of(index.apply_mask(jnp.array([[True, False], [False, True]]))) == [
        0,
        None,
        None,
        0,
    ]
    assert keys_of(index.apply_mask(False)) == [None] * 4


def test_concatenate_merges_vocabularies_and_keeps_out_of_bounds():
    a = Index((0, 2), [0, 1, 2], max_count=1)
    b = Index((1, 2), [0, 2], max_count=3)
    joined = Index.concatenate(a, b)
    assert joined.keys == (0, 1, 2)
    assert keys_of(joined) == [0, 2, None, 1, None]
    assert joined.max_count == 4


def test_match_brings_all_to_one_vocabulary():
    a, b, c = Index.match(Index.new([3, 1]), Index.new([2]), Index((9,), [1]))
    assert a.vocabulary is b.vocabulary is c.vocabulary
    assert (keys_of(a), keys_of(b), keys_of(c)) == ([3, 1], [2], [None])


@given(entries, st.integers(0, 3))
def test_combine_is_the_pair_of_keys(values, shift):
    a = Index(("a", "b", "c", "d"), values)
    b = Index((0, 5, 7), [(v + shift) % 4 for v in values])
    pairs = a.combine(b)
    expected = [
        None if x is None or y is None else (x, y)
        for x, y in zip(keys_of(a), keys_of(b), strict=True)
    ]
    assert keys_of(pairs) == expected
    assert len(pairs.keys) == 12


# Finding rows -----------------------------------------------------------------------------


@given(entries, entries)
def test_finding_rows_agrees_with_a_loop(values, wanted):
    index, target = Index(("a", "b", "c", "d"), values), Index(("a", "b", "c", "d"), wanted)
    held, asked = keys_of(index), keys_of(target)
    rows = {key: [i for i, k in enumerate(held) if k == key] for key in "abcd"}
    rows[None] = []
    flat = [i for i, key in enumerate(held) if key is not None and key in asked]
    assert index.where_flat(target).tolist() == flat
    assert index.where_flat(target, 10).tolist() == flat + [len(held)] * (10 - len(flat))

    rectangle = index.where_rectangular(target, 8)
    assert rectangle.shape == (len(asked), 8)
    for found, key in zip(rectangle.tolist(), asked, strict=True):
        assert found == rows[key] + [len(held)] * (8 - len(rows[key]))

    selection = index.subselect(target, 64)
    expected = [(row, n) for n, key in enumerate(asked) for row in rows[key]]
    used = selection.entries < len(asked)
    found = zip(selection.rows[used].tolist(), selection.entries[used].tolist(), strict=True)
    assert list(found) == expected
    assert set(selection.rows[~used].tolist()) <= {len(held)}

    for k in (0, 1):
        assert index.select_per_label(k).tolist() == [
            rows[key][k] if k < len(rows[key]) else len(held) for key in "abcd"
        ]


def test_rows_of_keys_given_as_a_tuple():
    assert Index.new(["a", "b", "a"]).where_flat(("a",)).tolist() == [0, 2]


def test_select_per_label_takes_one_number_per_key():
    index = Index((0, 1), [0, 1, 0, 1])
    assert index.select_per_label(jnp.array([1, 0])).tolist() == [2, 1]
    assert index.select_per_label(-1).tolist() == [4, 4]


def test_a_bound_that_is_too_small_is_an_error_not_a_dropped_row():
    index, target = Index((0, 1), [0, 0, 0, 1]), Index((0, 1), [0])
    for find in (index.where_flat, index.where_rectangular, index.subselect):
        with pytest.raises(ValueError, match=r"^Insufficient capacity: 3 > 2\."):
            find(target, 2)
    with pytest.raises(ValueError, match="needs a bound while it is traced"):
        jax.jit(index.where_flat)(target)


def test_where_rectangular_takes_its_width_from_max_count():
    index, target = Index((0, 1), [0, 0, 1], max_count=2), Index((0, 1), [1, 0])
    found = jax.jit(lambda i, t: i.where_rectangular(t))(index, target)
    np.testing.assert_array_equal(found, [[2, 3], [0, 1]])


# Edges ------------------------------------------------------------------------------------


def test_comparison_is_entry_by_entry_and_out_of_bounds_equals_nothing():
    kinds = Index(("C", "O"), [0, 1, 2, 1])
    assert (kinds == "O").tolist() == [False, True, False, True]
    assert (kinds != "O").tolist() == [True, False, True, False]
    assert (kinds == "N").tolist() == [False] * 4
    other = Index(("N", "O"), [0, 1, 2, 0])
    assert (kinds == other).tolist() == [False, True, False, False]
    assert (Index((SystemId(0), SystemId(4)), [1]) == 4).tolist() == [True]
    assert (kinds == 3) is False  # not a key of this class at all


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.uint64])
def test_new_of_narrow_and_wide_types(dtype):
    lowest = max(np.iinfo(dtype).min, -100)
    values = np.arange(lowest, 101).astype(dtype)
    assert Index.new(values).keys == tuple(range(lowest, 101))


def test_new_of_numbers_beyond_64_bits():
    assert Index.new(np.array([2**63 + 5, 2**63 + 6], np.uint64)).keys == (2**63 + 5, 2**63 + 6)
    joined = Index.concatenate(Index.new([1, 2]), Index.new([1, 2**70]))
    assert keys_of(joined) == [1, 2, 1, 2**70]
    assert keys_of(Index.new([1, 3]).update_labels((1, 3, 2**70))) == [1, 3]


def test_concrete_entries_are_checked_inside_jit_too():
    with raises(ValueError, "Index entries must not be negative: -1 at (0,)."):
        jax.jit(lambda: Index((0, 1), [-1]).valid_mask)()
    with raises(ValueError, "Key 0 occurs 2 times, but max_count is 1."):
        jax.jit(lambda: Index((0, 1), np.array([0, 0]), max_count=1).valid_mask)()


def test_masks_and_pairs_must_fit():
    with raises(ValueError, "A mask of shape (2, 3) does not fit an index of (3,)."):
        Index.arange(3).apply_mask(jnp.ones((2, 3), bool))
    with raises(TypeError, "A mask is of booleans, not of int32."):
        Index.arange(3).apply_mask(jnp.ones(3, jnp.int32))
    with raises(ValueError, "combine takes one shape, not (3,) and (1,)."):
        Index.arange(3).combine(Index.arange(1))


def test_pairs_remember_the_classes_of_their_members():
    systems, particles = Index.arange(2, label=SystemId), Index.arange(2, label=ParticleId)
    by_system, by_particle = systems.combine(systems), particles.combine(systems)
    assert by_system.vocabulary is not by_particle.vocabulary
    with raises(
        ValueError,
        "The index holds keys of class tuple[ParticleId, SystemId], "
        "the target holds keys of class tuple[SystemId, SystemId].",
    ):
        by_system.counts[by_particle]
    deep = by_particle.combine(systems)
    assert type(deep.keys[0][0][0]) is ParticleId
    with pytest.raises(ValueError, match="is of class SystemId, but the key class is ParticleId"):
        Index.new([SystemId(0)], label=ParticleId)


def test_a_million_pairs_cost_nothing():
    pairs = Index.zeros(1, n=10**5).combine(Index.zeros(1, n=10))
    assert len(pairs.vocabulary) == 10**6
    assert pairs.vocabulary._keys is None
    assert pairs.vocabulary[123456] == (12345, 6)
    narrow = Index.zeros(1, n=3).combine(Index.zeros(1, n=10))
    assert narrow.indices_in(pairs.vocabulary).tolist() == [0]


def test_columns_fetched_to_the_host_can_be_used():
    index = jax.device_get(Index.integer([0, 1], n=2))
    assert keys_of(index[1:]) == [1]
    table = jax.device_get(Table.arange({"i": Index.integer([0, 1], n=2)}))
    assert keys_of(table[Index.arange(2)]["i"]) == [0, 1]


def test_wrong_values_are_named():
    with raises(TypeError, "Index.new takes several values, not the one string 'CO'."):
        Index.new("CO")
    with raises(ValueError, "Index.concatenate takes one or more indices."):
        Index.concatenate()
    with pytest.raises(ValueError, match=r"^Keys can't be put in order: '<' not supported"):
        Index.new([1, "a"])


def test_membership_and_search_take_keys_in_any_order():
    index = Index.new(["a", "b", "a"])
    assert index.isin(("c", "a", "a")).tolist() == [True, False, True]
    assert index.where_flat(("b", "a")).tolist() == [0, 1, 2]
    assert index.where_rectangular(("b", "a"), 2).tolist() == [[1, 3], [0, 2]]
    assert index.subselect(("b",), 2).rows.tolist() == [1, 3]


def test_comparison_with_what_is_no_key():
    index = Index.arange(2)
    assert (index == np.int32(1)).tolist() == [False, True]
    assert (index == SystemId(1)) is False
    assert (index == object()) is False
    for array in (jnp.int32(1), jnp.arange(2), np.arange(2)):
        with raises(
            TypeError, "An Index is compared with a key or with another Index, not with an array."
        ):
            operator.eq(index, array)


def test_pairs_with_pairs_in_them():
    index = Index.arange(2)
    pair = index.combine(index)
    nested = pair.combine(index)
    assert (nested == ((1, 1), 1)).tolist() == [False, True]
    assert nested.isin([((0, 0), 0)]).tolist() == [True, False]
    with pytest.raises(ValueError, match="Keys in self not found in target"):
        pair.counts[nested]


def test_numpy_members_of_keys_are_plain():
    one = np.int64(1)
    joined = Index.concatenate(Index.new([(one, one)]), Index.new([(0, 0), (1, 1)]))
    assert joined.keys == ((0, 0), (1, 1))
    assert Index.new([(1, 1j), (2, 2j)]).keys == ((1, 1j), (2, 2j))


def test_a_bound_may_be_a_numpy_number():
    assert type(Index((0, 1), [0, 1], max_count=np.int64(3)).max_count) is int
