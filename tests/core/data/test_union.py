import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.core.data import Buffered, Index, Table
from instar.core.lens import lens
from instar.core.typing import GroupId, Label, ParticleId, SystemId
from instar.core.utils.jax import dataclass


@dataclass
class System:
    unitcell: Any


@dataclass
class Particles:
    x: Any
    system: Index[SystemId]
    kind: Index[Label]
    partner: Index[ParticleId]


def piece(sizes: list[int], start: float) -> tuple[Table, Table]:
    """A few systems with that many particles each, and particles that know a partner."""
    n = sum(sizes)
    systems = Table.arange(
        System(jnp.arange(start, start + len(sizes), dtype=jnp.float32)), label=SystemId
    )
    owner = np.repeat(np.arange(len(sizes)), sizes)
    partner = (np.arange(n) + 1) % (n + 1)  # the last one has none
    data = Particles(
        x=np.arange(start, start + n, dtype=np.float32),
        system=Index.integer(owner, n=len(sizes), label=SystemId),
        kind=Index.new(["ABC"[int(start + i) % 3] for i in range(n)], label=Label),
        partner=Index.integer(partner, n=n, label=ParticleId),
    )
    return systems, Table.arange(data, label=ParticleId)


def test_worked_result():
    systems_a, particles_a = piece([2], 1.0)
    systems_b, particles_b = piece([3], 5.0)
    systems, particles = Table.union([systems_a, systems_b], [particles_a, particles_b])
    assert systems.keys == (0, 1)
    assert particles.keys == (0, 1, 2, 3, 4)
    assert particles.data.system.indices.tolist() == [0, 0, 1, 1, 1]
    assert systems[particles.data.system].unitcell.tolist() == [1.0, 1.0, 5.0, 5.0, 5.0]
    assert (systems.cls, particles.cls) == (SystemId, ParticleId)


pieces = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=3), min_size=1, max_size=4)


@given(pieces)
def test_union_is_the_big_table_built_directly(all_sizes):
    starts = np.cumsum([0] + [sum(sizes) for sizes in all_sizes])
    made = [piece(sizes, float(s)) for sizes, s in zip(all_sizes, starts, strict=False)]
    systems, particles = Table.union([s for s, _ in made], [p for _, p in made])

    flat = [n for sizes in all_sizes for n in sizes]
    total = sum(flat)
    partner = [
        start + i + 1 if i + 1 < sum(sizes) else total
        for sizes, start in zip(all_sizes, starts, strict=False)
        for i in range(sum(sizes))
    ]
    assert systems.keys == tuple(range(len(flat)))
    assert particles.data.x.tolist() == list(range(total))
    assert particles.data.system.indices.tolist() == np.repeat(range(len(flat)), flat).tolist()
    assert particles.data.partner.indices.tolist() == partner
    assert particles.data.system.counts.data.tolist() == flat
    labels = [particles.data.kind.keys[i] for i in particles.data.kind.indices]
    assert labels == ["ABC"[i % 3] for i in range(total)]


def test_union_while_tracing_equals_union_on_the_host():
    made = [piece([2, 1], 0.0), piece([3], 3.0)]
    groups = [s for s, _ in made], [p for _, p in made]
    host, traced = Table.union(*groups), jax.jit(Table.union)(*groups)
    assert jax.tree.structure(host) == jax.tree.structure(traced)
    jax.tree.map(np.testing.assert_array_equal, host, traced)


def test_a_shared_key_space_keeps_its_keys():
    def group(system: int) -> Table:
        column = Index((SystemId(system),), [0, 1])  # the second is out of bounds
        return Table.arange({"system": column}, label=ParticleId)

    joined = Table.union([group(4), group(2), group(4)])
    assert joined.keys == tuple(range(6))
    assert joined.data["system"].keys == (2, 4)
    assert joined.data["system"].indices.tolist() == [1, 2, 0, 2, 1, 2]


def test_keys_that_do_not_start_at_zero_are_renumbered_with_their_indices():
    systems = Table((SystemId(7), SystemId(9)), jnp.array([70.0, 90.0]))
    particles = Table.arange(
        {"system": Index((SystemId(9),), [0, 0])}, label=ParticleId
    )  # a vocabulary smaller than the table's
    joined_systems, joined = Table.union([systems, systems], [particles, particles])
    assert joined_systems.keys == (0, 1, 2, 3)
    assert joined.data["system"].indices.tolist() == [1, 1, 3, 3]
    assert joined_systems[joined.data["system"]].tolist() == [90.0] * 4


def test_other_keys_are_merged_in_order_with_indices_into_them():
    kinds_a = Table(("C", "O"), jnp.array([6, 8]), cls=Label)
    kinds_b = Table(("H", "N"), jnp.array([1, 7]), cls=Label)
    atoms_a = Table.arange({"kind": Index(("C", "O"), [1, 0], cls=Label)}, label=ParticleId)
    atoms_b = Table.arange({"kind": Index(("H", "N"), [0, 2], cls=Label)}, label=ParticleId)
    kinds, atoms = Table.union([kinds_a, kinds_b], [atoms_a, atoms_b])
    assert kinds.keys == ("C", "H", "N", "O")
    assert kinds.data.tolist() == [6, 1, 7, 8]
    assert kinds[atoms.data["kind"]].tolist() == [8, 6, 1, 0]
    with raises(ValueError, "Duplicate key: 'C'."):
        Table.union([kinds_a, kinds_a])


def test_bounds_follow_the_keys():
    def group(bound: int | None) -> Table:
        index = Index.integer([0, 0], n=1, label=SystemId, max_count=bound)
        return Table.arange({"system": index}, label=ParticleId)

    systems = [Table.arange(jnp.zeros(1), label=SystemId)] * 2
    _, own = Table.union(systems, [group(2), group(3)])
    assert own.data["system"].max_count == 3
    assert Table.union([group(2), group(3)]).data["system"].max_count == 5
    _, unknown = Table.union(systems, [group(2), group(None)])
    assert unknown.data["system"].max_count is None


def test_buffers_stay_buffers():
    _, particles = piece([2], 0.0)
    joined = Table.union([Buffered.pad(particles, 1), Buffered.pad(particles, 2)])
    assert isinstance(joined, Buffered)
    assert joined.occupation.tolist() == [True, True, False, True, True, False, False]


def test_many_systems_of_different_size_compile_nothing():
    made = [piece([n], 0.0) for n in range(1, 40)]
    groups = [s for s, _ in made], [p for _, p in made]
    with jax.log_compiles(True), pytest.MonkeyPatch.context() as patch:
        compiled = []
        patch.setattr("logging.Logger.warning", lambda self, msg, *args: compiled.append(msg))
        Table.union(*groups)
    assert [m for m in compiled if "Compiling" in m] == []


@pytest.mark.parametrize(
    ("groups", "first_line"),
    [
        ([], "Table.union takes one or more groups, each of one or more tables."),
        ([[]], "Table.union takes one or more groups, each of one or more tables."),
        (
            [[Table.arange(jnp.zeros(1))], [Table.arange(jnp.zeros(1))]],
            "Two groups have the key class int.",
        ),
        (
            [[Table.arange(jnp.zeros(1)), Table.arange(jnp.zeros(1), label=GroupId)]],
            "The tables of one group have different key classes: GroupId, int.",
        ),
        (
            [[Table.arange(jnp.zeros(1))] * 2, [Table.arange(jnp.zeros(1), label=GroupId)]],
            "Table.union takes groups of equal length, not of 2, 1 tables.",
        ),
        (
            [
                [Table.arange(jnp.zeros(1), label=SystemId)],
                [Table.arange({"system": Index((SystemId(3),), [0])})],
            ],
            "Keys in self not found in target: [3]",
        ),
    ],
)
def test_bad_groups_are_refused(groups, first_line):
    with raises(ValueError, first_line):
        Table.union(*groups)


# Edges ------------------------------------------------------------------------------------


def test_buffers_of_different_kinds_are_refused():
    _, particles = piece([2], 0.0)
    other = Buffered.pad(particles, 1, view=lens(lambda d: d.partner))
    message = (
        "The tables of one group must be of one kind: all Table, or all Buffered with the same "
        "occupation column."
    )
    for group in ([Buffered.pad(particles, 1), other], [particles, Buffered.pad(particles, 1)]):
        with raises(ValueError, message):
            Table.union(group)


def test_a_column_that_is_an_index_in_one_table_only_is_refused():
    with raises(TypeError, "A column is an Index in one table and an array in another."):
        Table.union([Table.arange({"a": Index.arange(2)}), Table.arange({"a": jnp.zeros(2)})])


TWO_DEVICES = """
import jax, jax.numpy as jnp
from instar import Index, SystemId, Table
from instar.core.data import Buffered
there = jax.devices()[1]
data = {"x": jnp.ones(2), "system": Index.zeros(2, label=SystemId)}
table = jax.device_put(Table.arange(data), there)
systems = jax.device_put(Table.arange(jnp.ones(1), label=SystemId), there)
for joined in (Table.union([table, table]), Table.union([systems, systems], [table, table])[1]):
    print({d for leaf in jax.tree.leaves(joined) for d in leaf.devices()} == {there})
"""


def test_what_is_placed_on_a_device_stays_there():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PATH": ""}
    run = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], env=flags, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["True", "True"]


def test_columns_of_different_shape_are_refused():
    def table(entries):
        return Table.arange({"c": Index.integer(entries, n=3, label=SystemId)}, label=ParticleId)

    systems = [Table.arange(jnp.zeros(3), label=SystemId)] * 2
    with raises(ValueError, "An Index column has different shapes in the tables: (2, 2), (2, 1)."):
        Table.union(systems, [table([[0, 1], [1, 2]]), table([[0], [1]])])


def test_entries_stay_32_bits_in_double_precision():
    systems = Table.arange(np.zeros(4), label=SystemId)
    column = Index((SystemId(0), SystemId(1), SystemId(3)), [0, 1, 2, 3])

    def join(column):
        particles = Table.arange({"c": column}, label=ParticleId)
        return Table.union([systems, systems], [particles, particles])

    with jax.enable_x64(True):
        traced, host = jax.jit(join)(column)[1], join(column)[1]
        assert traced.data["c"].dtype == host.data["c"].dtype == jnp.int32
        assert traced.data["c"].indices.tolist() == [0, 1, 3, 8, 4, 5, 7, 8]
