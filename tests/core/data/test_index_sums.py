"""Sums over the entries of an index."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.core.data import Index, Table


def test_traced_negative_entries_are_out_of_bounds_everywhere():
    @jax.jit
    def read(raw):
        index = Index((0, 1, 2), raw)
        table = Table.arange(jnp.array([10.0, 11.0, 12.0]))
        return (
            index.valid_mask,
            index.counts.data,
            table[index],
            table.update(index, jnp.ones(3)).data,
            index.isin(Index.arange(3)),
            index.update_labels((0, 1, 2, 3)).indices,
        )

    mask, counts, rows, updated, found, wider = read(jnp.array([-1, 1, -3]))
    np.testing.assert_array_equal(mask, [False, True, False])
    np.testing.assert_array_equal(counts, [0, 1, 0])
    np.testing.assert_array_equal(rows, [0.0, 11.0, 0.0])
    np.testing.assert_array_equal(updated, [10.0, 1.0, 12.0])
    np.testing.assert_array_equal(found, [False, True, False])
    np.testing.assert_array_equal(wider, [4, 1, 4])


def test_sum_over_counts_booleans_and_names_wrong_shapes():
    index = Index((0, 1), [0, 0, 1])
    assert index.sum_over(np.array([True, True, False])).data.tolist() == [2, 0]
    with pytest.raises(ValueError, match="sum_over takes one row per entry"):
        index.sum_over(jnp.ones(2))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16"])
def test_sums_of_small_types_count_on(dtype):
    sums = Index.zeros(1000).sum_over(jnp.ones(1000, dtype))
    assert int(sums.data[0]) == 1000


def grown(index, values, rows):
    """The same index and values with free rows at the end, which hold no numbers."""
    entries = jnp.pad(index.indices, (0, rows), constant_values=len(index.vocabulary))
    room = [(0, rows), *[(0, 0)] * (values.ndim - 1)]
    return Index(index.vocabulary, entries), jnp.pad(values, room, constant_values=jnp.nan)


@pytest.mark.parametrize("keys", [1, 2, 17, 5000])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_free_rows_at_the_end_never_change_a_bit_of_a_sum(keys, columns):
    rng = np.random.default_rng(keys)
    index = Index.integer(rng.integers(0, keys, 999), n=keys)
    values = jnp.asarray(rng.normal(size=(999, *columns)), jnp.float32)
    add = jax.jit(lambda index, values: index.sum_over(values).data)
    expected = add(index, values)
    for rows in (1, 25, 2000):
        np.testing.assert_array_equal(add(*grown(index, values, rows)), expected)


@pytest.mark.parametrize("keys", [1, 5])
def test_long_sums_in_single_precision_keep_their_digits(keys):
    index = Index.integer(np.arange(2**20) % keys, n=keys)
    sums = index.sum_over(jnp.full(2**20, 0.1, jnp.float32)).data
    exact = np.bincount(np.arange(2**20) % keys) * np.float64(np.float32(0.1))
    np.testing.assert_allclose(sums, exact, rtol=1e-4)


def test_sums_over_an_index_of_several_axes():
    index = Index((0, 1), [[0, 1, 2], [1, 1, 0]])
    sums = index.sum_over(jnp.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]))
    assert sums.data.tolist() == [33.0, 26.0]


def test_a_sum_over_very_many_keys_needs_no_more_memory_than_its_result():
    index = Index.integer(jnp.arange(8, dtype=jnp.int32), n=10**6)
    compiled = jax.jit(lambda v: index.sum_over(v).data).lower(jnp.ones((8, 3), jnp.float32))
    memory = compiled.compile().memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes <= 2 * memory.output_size_in_bytes


@pytest.mark.parametrize("particles", [1, 2, 6, 5000])
def test_more_room_for_edges_does_not_change_a_bit_of_their_sums(particles):
    rng = np.random.default_rng(particles)
    values = rng.normal(size=(particles, 40)).astype(np.float32)
    sums = []
    for room in (40, 41, 48):
        owner = np.repeat(np.arange(particles, dtype=np.int32)[:, None], room, axis=1)
        owner[:, 40:] = particles
        padded = np.pad(values, ((0, 0), (0, room - 40)))
        index = Index.integer(jnp.asarray(owner.reshape(-1)), n=particles)
        sums.append(np.asarray(index.sum_over(jnp.asarray(padded.reshape(-1))).data).tobytes())
    assert sums[0] == sums[1] == sums[2]


def test_rows_without_columns_add_up_to_nothing():
    assert Index.zeros(5).sum_over(jnp.zeros((5, 0))).data.shape == (1, 0)


@pytest.mark.parametrize("keys", [1, 2])
def test_no_rows_add_up_to_nothing(keys):
    nobody = Index.integer(jnp.zeros(0, jnp.int32), n=keys)
    for columns in ((), (3,), (3, 3)):
        total = nobody.sum_over(jnp.zeros((0, *columns))).data
        np.testing.assert_array_equal(total, np.zeros((keys, *columns)))
