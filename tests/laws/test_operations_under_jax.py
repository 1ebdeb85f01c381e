"""One law over the list of all operations: under any transform the result is the same.

Each operation is a function of a table, an index and some data; it is run plainly and inside
``jit``, ``vmap``, ``scan``, ``while_loop``, ``cond``, ``shard_map`` and ``grad``.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from instar.core.data import Buffered, Index, Table
from instar.core.lens import lens
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass, tree_stack, tree_zeros_like


@dataclass
class Atoms:
    x: Any
    system: Index[SystemId]


@dataclass
class State:
    table: Buffered[ParticleId, Atoms]
    systems: Table[SystemId, Any]
    index: Index[ParticleId]


def make(shift: float) -> State:
    column = Index.integer([0, 1, 1, 2], n=2, label=SystemId)  # the last row is free
    x = jnp.arange(8.0).reshape(4, 2) + shift
    table = Buffered.full(Table.arange(Atoms(x, column), label=ParticleId))
    systems = Table.arange({"t": jnp.array([1.0, 2.0]) + shift}, label=SystemId)
    return State(table, systems, Index.integer([2, 0, 4], n=4, label=ParticleId))


NARROW = Index((ParticleId(1), ParticleId(3)), [1, 0, 2])
ACCEPT = Table.arange(np.array([True, False]), label=SystemId)

OPERATIONS = {
    "join": lambda s: s.table[s.index],
    "join over another vocabulary": lambda s: s.table[NARROW],
    "join to the level above": lambda s: s.systems[s.table.data.system],
    "update": lambda s: s.table.update(s.index, s.table[NARROW]),
    "update_if": lambda s: s.table.update_if(ACCEPT, s.index, s.table[NARROW]),
    "at": lambda s: s.table.at(s.index).focus(lambda d: d.x).apply(lambda x: x * 3),
    "map_data": lambda s: s.table.map_data(lambda d: d.x * 2),
    "subset": lambda s: s.table.subset(s.index),
    "slice": lambda s: s.table.slice(1, 3),
    "arithmetic": lambda s: s.systems * s.systems + 1.0,
    "Table.join": lambda s: Table.join(s.systems, s.systems),
    "union": lambda s: Table.union([s.systems, s.systems], [s.table, s.table]),
    "free": lambda s: s.table.free(s.index),
    "select_free": lambda s: s.table.select_free(2),
    "occupation": lambda s: (s.table.occupation, s.table.num_occupied),
    "counts": lambda s: s.table.data.system.counts,
    "sum_over": lambda s: s.table.data.system.sum_over(s.table.data.x),
    "apply_mask": lambda s: s.index.apply_mask(jnp.array([True, False, True])),
    "isin": lambda s: NARROW.isin(s.index),
    "update_labels": lambda s: NARROW.update_labels(s.table.vocabulary),
    "concatenate": lambda s: Index.concatenate(s.index, NARROW),
    "match": lambda s: Index.match(s.index, NARROW),
    "combine": lambda s: s.index.combine(NARROW),
    "where_flat": lambda s: s.table.data.system.where_flat((SystemId(1),), 3),
    "where_rectangular": lambda s: s.index.where_rectangular(NARROW, 2),
    "subselect": lambda s: s.index.subselect(NARROW, 4),
    "select_per_label": lambda s: s.table.data.system.select_per_label(1),
    "reshape": lambda s: (s.index.reshape(3, 1), s.index[:, None].transpose(), s.index[1:]),
    "lens": lambda s: lens(lambda t: t.table.data.x).set(s, s.table.data.x + 1),
}

pytestmark = pytest.mark.usefixtures("quickly_compiled")

each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def same(ours: Any, expected: Any) -> None:
    assert jax.tree.structure(ours) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, expected)


@pytest.fixture(autouse=True)
def _no_leaked_tracers():
    with jax.check_tracer_leaks():
        yield


@each
def test_jit(operation, precision):
    result = jax.jit(operation)(make(0.5))
    same(result, operation(make(0.5)))
    floats = [x for x in jax.tree.leaves(result) if jnp.issubdtype(x.dtype, jnp.floating)]
    assert {str(x.dtype) for x in floats} <= {precision}
    integers = [x for x in jax.tree.leaves(result) if jnp.issubdtype(x.dtype, jnp.integer)]
    assert {str(x.dtype) for x in integers} <= {"int32"}


@each
def test_vmap(operation):
    states = [make(0.0), make(1.0)]
    batched = jax.vmap(operation)(tree_stack(*states))
    same(batched, tree_stack(*(operation(state) for state in states)))


@each
def test_scan(operation):
    states = [make(0.0), make(1.0)]
    _, stacked = jax.lax.scan(lambda _, s: (None, operation(s)), None, tree_stack(*states))
    same(stacked, tree_stack(*(operation(state) for state in states)))


@each
def test_while_loop(operation):
    state = make(0.0)
    start = tree_zeros_like(operation(state))
    _, result = jax.lax.while_loop(
        lambda carry: carry[0] < 2, lambda carry: (carry[0] + 1, operation(state)), (0, start)
    )
    same(result, operation(state))


@each
@pytest.mark.parametrize("taken", [True, False])
def test_cond(operation, taken):
    state = make(0.0)
    nothing = tree_zeros_like(operation(state))
    result = jax.lax.cond(taken, operation, lambda _: nothing, state)
    same(result, operation(state) if taken else nothing)


@each
def test_shard_map(operation):
    state = make(0.0)
    mesh = Mesh(np.array(jax.devices()[:1]), ("systems",))
    whole = PartitionSpec()
    mapped = jax.shard_map(operation, mesh=mesh, in_specs=whole, out_specs=whole, check_vma=False)
    same(jax.jit(mapped)(state), operation(state))


@each
def test_grad_agrees_with_finite_differences(operation):
    state = make(0.3)

    def energy(scale: jax.Array) -> jax.Array:
        scaled = lens(lambda s: (s.table.data.x, s.systems.data["t"])).apply(
            state, lambda parts: jax.tree.map(lambda x: x.astype(scale.dtype) * scale, parts)
        )
        leaves = jax.tree.leaves(operation(scaled))
        smooth = [x for x in leaves if jnp.issubdtype(x.dtype, jnp.floating)]
        return sum((jnp.sum(x**2) for x in smooth), jnp.zeros((), scale.dtype))

    with jax.enable_x64(True):
        one, step = jnp.float64(1.0), 1e-5
        difference = (energy(one + step) - energy(one - step)) / (2 * step)
        np.testing.assert_allclose(jax.grad(energy)(one), difference, rtol=1e-6, atol=1e-8)
