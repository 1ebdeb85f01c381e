"""What routines take beside the compiler's figures grows with what they work on."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from instar.core.utils.jax_compat import sorts_pairs_as_pairs
from instar.memory import Programs
from instar.memory.scratch import LIBRARIES, runtime_bytes

CORES = 3
PRODUCTS, FACTORISATIONS = LIBRARIES["products"], LIBRARIES["factorisations"]


@pytest.fixture(autouse=True)
def _cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: CORES)


def scratch(function, *shape, dtype=np.float32):
    need = Programs(function).need(jax.ShapeDtypeStruct(shape, dtype))
    return need.scratch - runtime_bytes()


WITHOUT = {
    "pointwise": lambda x: jnp.exp(x) * x,
    "a sum": lambda x: x.sum(0),
    "rows by number": lambda x: x[jnp.arange(50, dtype=jnp.int32)[::-1]],
    "added to rows": lambda x: x.at[jnp.zeros(100, jnp.int32)].add(x),
    "a running sum": lambda x: jnp.cumsum(x, axis=0),
    "a matrix times a vector": lambda x: x @ x[0],
    "a sort that keeps no order": lambda x: lax.sort(x, is_stable=False),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_most_programs_take_only_what_the_runtime_does(name):
    assert scratch(WITHOUT[name], 100, 100) == 0


@pytest.mark.parametrize("cores", [1, 64])
def test_the_runtime_takes_more_with_more_cores(monkeypatch, cores):
    before = runtime_bytes()
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert (runtime_bytes() > before) == (cores > CORES)


@pytest.mark.parametrize(
    ("dtype", "each"), [("float32", 16), ("bfloat16", 16), ("int32", 4), ("uint8", 1)]
)
def test_a_sort_takes_a_copy_of_its_values(dtype, each):
    assert scratch(jnp.sort, 5000, dtype=jnp.dtype(dtype)) == each * 5000


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_only_as_many_rows_as_cores_are_sorted_at_once(rows):
    assert scratch(jnp.sort, rows, 300) == min(rows, CORES) * 16 * 300


def test_columns_are_sorted_like_rows():
    assert scratch(lambda x: jnp.sort(x, axis=0), 300, 50) == scratch(jnp.sort, 50, 300)


def test_pairs_take_their_own_size_if_they_are_side_by_side():
    expected = 8 if sorts_pairs_as_pairs() else 32
    assert scratch(jnp.argsort, 5000) == expected * 5000


def test_long_columns_of_pairs_take_the_room_of_anything():
    assert scratch(lambda x: jnp.argsort(x, axis=0), 70_000, 2) == 2 * 32 * 70_000


def test_more_arrays_take_more():
    def order(x):
        return lax.sort((x, x + 1, x + 2), num_keys=1)

    assert scratch(order, 5000) == 3 * 16 * 5000


def test_no_more_sorts_count_than_can_run_at_once():
    def sorts(x):
        return [jnp.sort(x * x.dtype.type(k)) for k in range(10)]

    assert scratch(sorts, 5000) == (CORES + 1) * 16 * 5000


def test_top_k_takes_the_numbers_of_one_row():
    largest = [scratch(lambda x: lax.top_k(x, 3), rows, 5000) for rows in (1, 8)]
    assert largest == [4 * 5000, 4 * 5000]


@pytest.mark.parametrize("terms", [64, 512, 5000])
def test_a_product_takes_what_it_packs(terms):
    packed = scratch(lambda x: x @ x.T, 2000, terms) - PRODUCTS
    at_least = 4 * 4000 * min(terms, 720)
    assert at_least < packed < 2 * at_least


def test_products_of_a_batch_may_all_be_under_way():
    one, many = (scratch(lambda x: x @ x, batch, 200, 200) - PRODUCTS for batch in (1, 30))
    assert many == 30 * one > 0


@pytest.mark.parametrize("count", [2, 30])
def test_products_that_need_not_wait_are_all_begun(count):
    def independent(x):
        return [x @ (x + x.dtype.type(k)) for k in range(count)]

    one = scratch(lambda x: x @ x, 200, 200) - PRODUCTS
    assert scratch(independent, 200, 200) - PRODUCTS == count * one


def test_products_that_wait_are_not():
    def powers(x):
        for _ in range(30):
            x = x @ x
        return x

    one = scratch(lambda x: x @ x, 200, 200) - PRODUCTS
    assert scratch(powers, 200, 200) - PRODUCTS == (CORES + 1) * one


def test_small_products_take_only_what_the_library_does():
    assert scratch(lambda x: x @ x, 1000, 50, 50) == PRODUCTS


def test_a_library_counts_once():
    def twice(x):
        return (x @ x) @ (x + 1)

    assert scratch(twice, 60, 60) == PRODUCTS


@pytest.mark.parametrize(("length", "lines"), [(4096, 1), (4099, 10), (2 * 3**4 * 5**2, 1)])
def test_a_transform_takes_lines_and_more_of_them_where_the_length_is_prime(length, lines):
    assert scratch(jnp.fft.fft, length, dtype=np.complex64) == lines * 8 * length


def test_a_transform_takes_few_of_many_lines():
    assert scratch(jnp.fft.fft, 1000, 256, dtype=np.complex64) == CORES * 16 * 256 * 8


@pytest.mark.parametrize(("axes", "copies"), [(1, 0), (2, 1), (3, 1)])
def test_a_transform_back_to_real_numbers_takes_a_copy_of_all_waves_but_of_lines(axes, copies):
    def back(waves):
        return jnp.fft.irfftn(waves, s=(64,) * axes)

    waves = (64,) * (axes - 1) + (33,)
    lines = min(64 ** (axes - 1), 16 * CORES) * 64 * 8
    assert scratch(back, *waves, dtype=np.complex64) == lines + copies * 8 * np.prod(waves)


def test_eigenvectors_take_two_matrices_at_a_time():
    alone, many = (scratch(jnp.linalg.eigh, *batch, 200, 200) for batch in ((), (10,)))
    assert many == alone > FACTORISATIONS + 2 * 4 * 200**2


def test_solving_takes_a_few_columns():
    assert 0 < scratch(jnp.linalg.inv, 500, 500) - FACTORISATIONS < 4 * 500**2
