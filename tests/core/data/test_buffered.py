import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support import raises

from instar.core.assertion import with_runtime_assertions
from instar.core.data import Buffered, Index, Table, add_buffers, grow
from instar.core.lens import lens
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass


@dataclass
class Particles:
    positions: Any
    system: Index[SystemId]
    partner: Index[ParticleId]
    rng: Any


@dataclass
class State:
    particles: Buffered
    bonds: Table


def particles(n: int) -> Table[ParticleId, Particles]:
    return Table.arange(
        Particles(
            positions=jnp.ones((n, 3)),
            system=Index.zeros(n, n=2, label=SystemId),
            partner=Index.arange(n, label=ParticleId),
            rng=jax.random.split(jax.random.key(0), n),
        ),
        label=ParticleId,
    )


def row(system: int, x: float = 9.0, width: int = 5) -> Particles:
    return Particles(
        positions=jnp.full((1, 3), x),
        system=Index.integer([system], n=2, label=SystemId),
        partner=Index.integer([0], n=width, label=ParticleId),
        rng=jax.random.key(7)[None],
    )


def slot(i: int, width: int = 5) -> Index[ParticleId]:
    return Index.integer([i], n=width, label=ParticleId)


def test_worked_result():
    buffer = Buffered.pad(particles(3), num_free=2)
    assert len(buffer) == 5
    assert buffer.occupation.tolist() == [True, True, True, False, False]
    free = buffer.select_free(1)
    assert free.indices.tolist() == [3]
    buffer = buffer.update(free, row(0))
    assert buffer.occupation.tolist() == [True, True, True, True, False]
    assert buffer.data.positions[3].tolist() == [9.0, 9.0, 9.0]
    buffer = buffer.update(slot(1), row(2))  # 2 is out of bounds: frees the row
    assert buffer.occupation.tolist() == [True, False, True, True, False]
    assert buffer.data.positions[1].tolist() == [0.0, 0.0, 0.0]
    assert buffer.select_free(1).indices.tolist() == [1]
    assert int(buffer.num_occupied) == 3


def test_freed_rows_are_sanitised_at_once():
    freed = Buffered.pad(particles(3), 2).update(slot(1), row(2))
    assert freed.data.partner.indices.tolist() == [0, 5, 2, 5, 5]
    assert jax.random.key_data(freed.data.rng)[1].tolist() == [0, 0]
    by_method = Buffered.pad(particles(3), 2).free(slot(1))
    jax.tree.map(np.testing.assert_array_equal, *jax.tree.map(_plain, (freed, by_method)))


def _plain(leaf: Any) -> Any:
    is_key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def test_padding_widens_indices_of_the_table_into_itself():
    buffer = Buffered.pad(particles(2), 3)
    assert buffer.data.partner.keys == (0, 1, 2, 3, 4)
    assert buffer.data.partner.indices.tolist() == [0, 1, 5, 5, 5]
    assert buffer.data.system.keys == (0, 1)


def test_out_of_bounds_rows_are_dropped_and_broadcast_values_are_taken():
    buffer = Buffered.pad(particles(3), 2)
    unchanged = buffer.update(slot(5), row(0))
    assert unchanged.occupation.tolist() == buffer.occupation.tolist()
    two = Index.integer([3, 4], n=5, label=ParticleId)
    new = Particles(
        positions=jnp.full(3, 4.0),
        system=Index.integer([0, 1], n=2, label=SystemId),
        partner=Index.integer([5, 5], n=5, label=ParticleId),
        rng=jax.random.split(jax.random.key(1), 2),
    )
    assert buffer.update(two, new).data.positions[3:].tolist() == [[4.0] * 3] * 2


def test_full_arange_and_another_occupation_leaf():
    edges = Table.arange({"ends": Index.integer([[0, 1], [1, 4]], n=4, label=ParticleId)})
    where = lens(lambda d: d["ends"])
    buffer = Buffered.full(edges, view=where)
    assert buffer.occupation.tolist() == [True, False]  # one end of the second is missing
    assert len(Buffered.pad(buffer, 2)) == 4
    assert Buffered.pad(edges, 0, view=where).view == where
    made = Buffered.arange(particles(2).data, label=ParticleId, num_free=1)
    assert (made.keys, made.cls) == ((0, 1, 2), ParticleId)
    with raises(
        ValueError,
        "A Buffered reads which rows are occupied from an Index in its data, by default the leaf "
        ".system.",
    ):
        Buffered.full(edges)


def test_map_and_slice_keep_it_a_buffer_while_the_leaf_is_there():
    buffer = Buffered.pad(particles(3), 2)
    assert isinstance(buffer.map_data(lambda d: d), Buffered)
    assert type(buffer.map_data(lambda d: d.positions)) is Table
    part = buffer.slice(2, 4)
    assert isinstance(part, Buffered)
    assert part.occupation.tolist() == [True, False]
    assert isinstance(buffer.subset(slot(4)), Buffered)


def test_at_and_update_if_sanitise_too():
    buffer = Buffered.pad(particles(3), 2)
    column = buffer.at(slot(0)).focus(lambda d: d.system)
    freed = column.set(column.get().apply_mask(False))
    assert freed.occupation.tolist() == [False, True, True, False, False]
    assert freed.data.positions[0].tolist() == [0.0] * 3
    accept = Table.arange(jnp.array([True, False]), label=SystemId)
    inserted = buffer.update_if(accept, slot(3), row(0)).update_if(accept, slot(4), row(1))
    assert inserted.occupation.tolist() == [True, True, True, True, False]


def test_inserting_and_deleting_never_recompiles():
    traces = []

    @jax.jit
    def step(buffer: Buffered, x: jax.Array) -> Buffered:
        traces.append(1)
        free = buffer.select_free(1)
        new = row(0)
        return buffer.update(free, dataclasses.replace(new, positions=x * jnp.ones((1, 3))))

    buffer = Buffered.pad(particles(3), 2)
    buffer = step(buffer, jnp.float32(1))
    buffer = step(jax.jit(lambda b: b.free(slot(0)))(buffer), jnp.float32(2))
    assert len(traces) == 1
    assert buffer.data.positions[:, 0].tolist() == [2.0, 1.0, 1.0, 1.0, 0.0]


# Full buffers -----------------------------------------------------------------------------


def test_a_full_buffer_gives_out_of_bounds_slots_and_a_failed_check():
    buffer = Buffered.pad(particles(3), 1)

    @jax.jit
    @with_runtime_assertions
    def claim(buffer: Buffered) -> Index:
        return buffer.select_free(2)

    slots, (check,) = claim(buffer)
    assert slots.indices.tolist() == [3, 4]
    assert check.failed
    with raises(AssertionError, "Not enough free rows: 2 asked for, 1 of 4 are free."):
        check.check()
    with raises(AssertionError, "Not enough free rows: 2 asked for, 1 of 4 are free."):
        check.fix(buffer)
    _, (fine,) = claim(buffer.free(slot(0, 4)))
    assert fine.valid


def test_the_check_carries_growth_where_the_buffer_belongs_to_a_state():
    where = lens(lambda s: s.particles, cls=State)
    bonds = Table.arange({"ends": Index.integer([[0, 2]], n=3, label=ParticleId)})
    state = State(Buffered.full(particles(3)), bonds)

    @jax.jit
    @with_runtime_assertions
    def claim(state: State) -> Index:
        return state.particles.select_free(2, where=where)

    _, (check,) = claim(state)
    grown = check.fix(state)
    assert len(grown.particles) == 8
    assert grown.particles.occupation.tolist() == [True] * 3 + [False] * 5
    assert grown.particles.data.partner.indices.tolist() == [0, 1, 2] + [8] * 5
    assert grown.bonds.data["ends"].keys == tuple(range(8))
    assert grown.bonds.data["ends"].indices.tolist() == [[0, 2]]
    slots, (check,) = claim(grown)
    assert check.valid
    assert slots.indices.tolist() == [3, 4]


def test_growing_several_buffers_keeps_rows_and_never_shrinks():
    owner = lens(lambda d: d["system"])
    groups = Buffered.arange({"system": Index.zeros(2, n=1, label=SystemId)}, view=owner)
    both = (Buffered.full(particles(2)), groups)
    grown = grow(both, lens(lambda s: (s[0], s[1])), (5, 1))
    assert [len(buffer) for buffer in grown] == [5, 2]
    jax.tree.map(np.testing.assert_array_equal, grown[0].data.positions[:2], both[0].data.positions)


def test_add_buffers_pads_related_tables_at_once():
    systems = Table.arange({"t": jnp.ones(2)}, label=SystemId)
    bonds = Table.arange({"ends": Index.integer([[0, 1]], n=2, label=ParticleId)}, label=int)
    where = lens(lambda d: d["ends"])
    new = add_buffers([systems, particles(2), bonds], [0, 3, 1], [None, None, where])
    assert [len(table) for table in new] == [2, 5, 2]
    assert [type(table) for table in new] == [Table, Buffered, Buffered]
    assert new[2].data["ends"].indices.tolist() == [[0, 1], [5, 5]]
    assert new[2].occupation.tolist() == [True, False]


def test_keys_that_cannot_be_counted_on_cannot_be_padded():
    table = Table(("a",), {"system": Index.zeros(1, label=SystemId)})
    with raises(ValueError, "Keys of class str can't be continued."):
        Buffered.pad(table, 1)


# Against a dictionary ---------------------------------------------------------------------


class BufferAgainstDictionary(RuleBasedStateMachine):
    """Random inserts, deletes, overflows and growth; the model is a dict of slot -> value."""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[int, float] = {}
        rows = {"x": jnp.zeros(0), "system": Index((SystemId(0),), [])}
        empty = Table((), rows, cls=ParticleId)
        self.where = lens(lambda s: s["buffer"])
        self.state = {"buffer": Buffered.pad(empty, 2, view=lens(lambda d: d["system"]))}
        self.next = 1.0

    @property
    def buffer(self) -> Buffered:
        return self.state["buffer"]

    def claim(self, n: int) -> Any:
        return with_runtime_assertions(lambda s: s["buffer"].select_free(n, where=self.where))(
            self.state
        )

    @rule(n=st.integers(1, 2))
    def insert(self, n: int) -> None:
        slots, (check,) = self.claim(n)
        fits = len(self.model) + n <= len(self.buffer)
        assert check.valid == fits
        if not fits:
            self.state = check.fix(self.state)
            slots, (check,) = self.claim(n)
            assert check.valid
        free = [i for i in range(len(self.buffer)) if i not in self.model][:n]
        assert slots.indices.tolist() == free
        values = [self.next + k for k in range(n)]
        data = {"x": jnp.array(values), "system": Index((SystemId(0),), [0] * n)}
        self.state = {"buffer": self.buffer.update(slots, data)}
        self.model.update(zip(free, values, strict=True))
        self.next += n

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        victim = data.draw(st.sampled_from(sorted(self.model)))
        self.state = {"buffer": self.buffer.free(slot(victim, len(self.buffer)))}
        del self.model[victim]

    @rule()
    def overflow_without_repair_changes_nothing(self) -> None:
        slots = self.buffer.select_free(len(self.buffer) + 1)
        occupied = len(self.model)
        assert int(jnp.sum(~slots.valid_mask)) == occupied + 1

    @invariant()
    def buffer_holds_what_the_dictionary_holds(self) -> None:
        size = len(self.buffer)
        assert self.buffer.occupation.tolist() == [i in self.model for i in range(size)]
        assert self.buffer.data["x"].tolist() == [self.model.get(i, 0.0) for i in range(size)]
        assert int(self.buffer.num_occupied) == len(self.model)
        assert self.buffer.keys == tuple(range(size))


BufferAgainstDictionary.TestCase.settings = settings(stateful_step_count=12)
TestBufferAgainstDictionary = BufferAgainstDictionary.TestCase


def test_overflow_is_silent_only_where_nobody_collects():
    buffer = Buffered.full(particles(2))
    assert buffer.select_free(1).indices.tolist() == [2]
    _, (check,) = with_runtime_assertions(jax.jit(lambda b: b.select_free(1)))(buffer)
    assert check.failed


# Edges ------------------------------------------------------------------------------------


def test_growth_reaches_indices_that_know_only_some_of_the_keys():
    narrow = Index((ParticleId(1),), [0, 1])
    buffer, column = grow((Buffered.full(particles(2)), narrow), lens(lambda s: s[0]), 4)
    assert column.keys == (0, 1, 2, 3)
    assert column.indices.tolist() == [1, 4]
    assert len(buffer) == 4


def test_tables_of_one_key_class_must_grow_alike():
    column = Index.zeros(2, label=SystemId)
    twin = Table.arange({"system": column}, label=ParticleId)
    with raises(ValueError, "Two tables with keys of class ParticleId would get different keys."):
        add_buffers([particles(2), twin], [1, 3])
    with raises(ValueError, "Two tables with keys of class ParticleId would get different keys."):
        add_buffers([particles(2), twin], [1, 0])
    where = lens(lambda d: d["system"])
    assert [len(t) for t in add_buffers([particles(2), twin], [1, 1], [None, where])] == [3, 3]


def test_plain_integer_keys_are_nobodys_own():
    owner = lens(lambda d: d["system"])
    buffer = Buffered.arange({"system": Index.integer([0, 0, 0])}, num_free=2, view=owner)
    assert Table.arange(jnp.array([1.0]))[buffer.data["system"]].tolist() == [1, 1, 1, 0, 0]
    small, large = (Table.arange({"system": Index.zeros(n, label=SystemId)}) for n in (2, 3))
    padded = add_buffers([small, large], [1, 2], [owner, owner])
    assert [len(table) for table in padded] == [3, 5]


def test_broadcast_columns_are_taken_as_a_table_takes_them():
    ends = Index.integer([[0, 1], [1, 0]], n=2, label=ParticleId)
    table = Table.arange({"ends": ends, "w": jnp.zeros(2)})
    buffer = Buffered.full(table, view=lens(lambda d: d["ends"]))
    half = Index.integer([0, 2], n=2, label=ParticleId)  # one end of each row is missing
    freed = buffer.update(Index.arange(2), {"ends": half, "w": jnp.array([5.0, 6.0])})
    assert freed.occupation.tolist() == [False, False]
    assert freed.data["w"].tolist() == [0.0, 0.0]
    rows = Index.integer([0, 1], n=3, label=ParticleId)
    one = dataclasses.replace(row(1, width=3), rng=jax.random.split(jax.random.key(0), 2))
    both = Buffered.pad(particles(2), 1).update(rows, one)
    assert both.data.system.indices.tolist() == [1, 1, 2]


def test_one_size_can_do_for_several_buffers():
    owner = lens(lambda d: d["system"])
    groups = Buffered.arange({"system": Index.zeros(2, n=1, label=SystemId)}, view=owner)
    grown = grow((Buffered.full(particles(2)), groups), lens(lambda s: (s[0], s[1])), 4)
    assert [len(buffer) for buffer in grown] == [4, 4]


@pytest.mark.parametrize(
    ("make", "error", "first_line"),
    [
        (
            lambda: Buffered.pad(particles(2), -1),
            ValueError,
            "The number of free rows must not be negative: [-1].",
        ),
        (
            lambda: add_buffers([particles(2)], [1, 2]),
            ValueError,
            "add_buffers takes one number of free rows, and one view, per table: there are "
            "1 tables, 2 numbers and 1 views.",
        ),
        (
            lambda: grow({"t": particles(2)}, lens(lambda s: s["t"]), 4),
            TypeError,
            "grow takes a lens on a Buffered, not on a Table.",
        ),
        (
            lambda: Buffered.full(particles(2)).update(
                slot(0, 2), dataclasses.replace(row(0, width=2), system=jnp.zeros(1, jnp.int32))
            ),
            TypeError,
            "The occupation column takes an Index, not ArrayImpl.",
        ),
    ],
)
def test_wrong_arguments_are_named(make, error, first_line):
    with raises(error, first_line):
        make()


def test_one_row_named_by_a_scalar_index():
    buffer = Buffered.pad(particles(2), 1)
    assert buffer.free(slot(0, 3)[0]).occupation.tolist() == [False, True, False]
