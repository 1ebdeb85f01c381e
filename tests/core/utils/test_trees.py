from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.core.data import Index
from instar.core.utils.jax import (
    HasScatterArgs,
    SupportsTreeMatch,
    dataclass,
    kahan_summation,
    tree_concat,
    tree_map,
    tree_scatter_set,
    tree_stack,
    tree_structure,
    tree_where_broadcast_last,
    tree_zeros_like,
)


def test_tree_map_is_jax_tree_map_on_plain_trees():
    tree = {"a": jnp.arange(3), "b": (jnp.ones(2), None)}
    doubled = tree_map(lambda x, y: x + y, tree, tree)
    assert jax.tree.structure(doubled) == jax.tree.structure(tree)
    np.testing.assert_array_equal(doubled["a"], [0, 2, 4])
    shapes = tree_map(len, tree, is_leaf=lambda x: isinstance(x, tuple))
    assert shapes == {"a": 3, "b": 2}


def test_tree_map_aligns_indices_before_pairing_leaves():
    a = {"kind": Index.new(["C", "O"])}
    b = {"kind": Index.new(["N", "O"])}
    second = tree_map(lambda x, y: y, a, b)["kind"]
    assert second.keys == ("C", "N", "O")
    np.testing.assert_array_equal(second.indices, [1, 2])


def test_tree_map_hands_aligned_nodes_whole_where_flagged():
    a, b = Index.new(["C", "O"]), Index.new(["N", "O"])
    seen = tree_map(
        lambda x, y: (x.keys, y.keys), (a,), (b,), is_leaf=lambda x: isinstance(x, Index)
    )
    assert seen == ((("C", "N", "O"), ("C", "N", "O")),)


def test_tree_map_refuses_an_index_next_to_something_else():
    with pytest.raises(TypeError, match="An Index column takes an Index, not"):
        tree_map(lambda x, y: x, Index.new(["C"]), jnp.zeros(1, jnp.int32))


def test_index_satisfies_the_protocols():
    assert isinstance(Index.arange(2), SupportsTreeMatch)
    assert isinstance(Index.arange(2), HasScatterArgs)


def test_scatter_args_of_a_node_are_merged_and_the_caller_wins():
    @dataclass
    class Clipped:
        x: Any

        @property
        def scatter_args(self):
            return {"mode": "clip"}

    item, new = Clipped(jnp.zeros(3)), Clipped(jnp.ones(1))
    np.testing.assert_array_equal(tree_scatter_set(item, new, jnp.array([9]), {}).x, [0, 0, 1])
    dropped = tree_scatter_set(item, new, jnp.array([9]), {"mode": "drop"})
    np.testing.assert_array_equal(dropped.x, [0, 0, 0])


def test_scatter_set_keeps_out_of_bounds_entries_out_of_bounds():
    column = Index.new(["C", "O", "O"])
    new = Index.new(["H", "O"]).apply_mask(jnp.array([True, False]))
    written = tree_scatter_set(column, new, jnp.array([1, 2]), {})
    assert [written.keys[i] if i < 3 else "OOB" for i in written.indices] == ["C", "H", "OOB"]


def test_where_broadcasts_over_trailing_dimensions():
    accept = jnp.array([True, False])
    tree1 = {"a": jnp.ones((2, 3)), "b": jnp.ones(2)}
    chosen = tree_where_broadcast_last(accept, tree1, tree_zeros_like(tree1))
    np.testing.assert_array_equal(chosen["a"], [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(chosen["b"], [1, 0])


def test_concat_and_stack():
    a, b = {"x": jnp.ones((2, 3))}, {"x": jnp.zeros((1, 3))}
    assert tree_concat(a, b)["x"].shape == (3, 3)
    assert tree_stack(a, a)["x"].shape == (2, 2, 3)
    keys = tree_concat(
        jax.random.split(jax.random.key(0), 2), jax.random.split(jax.random.key(1), 3)
    )
    assert keys.shape == (5,)
    joined = tree_concat(Index.new(["C"]), Index.new(["O"]))
    assert joined.keys == ("C", "O")
    bounded = Index(("C",), [0], max_count=1)
    assert tree_concat({"i": bounded}, {"i": bounded})["i"].max_count == 2
    assert tree_stack(bounded, bounded).max_count == 1  # each lane on its own
    np.testing.assert_array_equal(jax.jit(tree_concat)(a, b)["x"], tree_concat(a, b)["x"])


def test_structure_round_trip():
    tree = {"a": 1, "b": (2, 3)}
    structure = tree_structure(tree)
    assert structure.num_leaves == 3
    assert structure.unflatten(structure.flatten_up_to(tree)) == tree
    assert tree_structure(tree, is_leaf=lambda x: isinstance(x, tuple)).num_leaves == 2


def test_kahan_summation_keeps_what_float32_loses():
    total = {"e": jnp.float32(1.0)}
    lost = tree_zeros_like(total)
    for _ in range(1000):
        total, lost = kahan_summation(total, {"e": jnp.float32(1e-8)}, compensate=lost)
    assert total["e"] - lost["e"] == np.float32(1.00001)
    infinite, _ = kahan_summation(jnp.float32(np.inf), jnp.float32(1.0), jnp.float32(1.0))
    assert infinite == np.inf
    naive = jnp.float32(1.0)
    for _ in range(1000):
        naive = naive + jnp.float32(1e-8)
    assert naive == 1.0


def test_kahan_summation_of_many_summands_in_one_compiled_call():
    summands = [jnp.float32(1.0), *[jnp.float32(1e-8)] * 300]
    total, lost = jax.jit(kahan_summation)(*summands)
    np.testing.assert_allclose(np.float64(total) - np.float64(lost), 1.0 + 3e-6, rtol=1e-12)
    with pytest.raises(ValueError, match="at least one summand"):
        kahan_summation()


def test_scatter_set_treats_negative_rows_alike_in_every_leaf():
    item = {"x": jnp.zeros(3), "i": Index.integer([0, 0, 0], n=2)}
    new = {"x": jnp.ones(1), "i": Index.integer([1], n=2)}
    written = tree_scatter_set(item, new, jnp.array([-1]), {})
    assert written["x"].tolist() == [0.0, 0.0, 1.0]
    assert written["i"].indices.tolist() == [0, 0, 1]


def test_where_takes_plain_numbers():
    assert tree_where_broadcast_last(True, 1.0, 2.0) == 1.0
