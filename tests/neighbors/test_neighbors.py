"""Lists equal brute force for every cell shape, also where the cutoff exceeds the cell."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh
from neighbors.batches import ROWS, SYSTEMS, Box, Particle, random_batch, tables

from instar.core.capacity import CapacityError
from instar.core.data import Index, Table
from instar.core.lens import lens
from instar.core.propagator import advance, propagate_and_fix
from instar.core.result import as_result_function
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell
from instar.neighbors import NeighborList, Sizes, brute_force, query

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SEEDS = st.integers(0, 2**32 - 1)
ROOM = Sizes(images=3000, neighbors=260, words=2, subdivision=2)


@dataclass
class State:
    particles: Table[ParticleId, Particle]
    systems: Table[SystemId, Box]
    neighbors: NeighborList


NEIGHBORS = lens(lambda s: s.neighbors, cls=State)


@jax.jit
@as_result_function
def updated(state):
    return state.neighbors.updated(state.particles, state.systems, where=NEIGHBORS)


def settled(state):
    neighbors, state = propagate_and_fix(updated, state)
    return NEIGHBORS.set(state, neighbors)


def listed(state):
    """Ordered pairs of the list with their shifts, as a sorted array."""
    matrix = state.neighbors.matrix()
    second = np.asarray(matrix.neighbors.indices)
    row, column = np.nonzero(second < len(state.particles))
    rows = np.column_stack([row, second[row, column], np.asarray(matrix.shift)[row, column]])
    return rows[np.lexsort(rows.T[::-1])]


def expected(state, cutoff):
    data = state.particles.data
    pairs = brute_force(data.positions, data.system.indices, state.systems.data.cell, cutoff)
    rows = np.column_stack([pairs.first, pairs.second, pairs.shift])
    return rows[np.lexsort(rows.T[::-1])], pairs


@pytest.mark.parametrize(
    ("subdivision", "straight"),
    [
        (0, False),
        (1, False),
        (2, False),
        (2, True),
        pytest.param(0, True, marks=pytest.mark.long),
        pytest.param(1, True, marks=pytest.mark.long),
        pytest.param(3, False, marks=pytest.mark.long),
        pytest.param(3, True, marks=pytest.mark.long),
    ],
)
@settings(max_examples=6)
@given(seed=SEEDS)
def test_every_search_equals_brute_force(subdivision, straight, seed):
    with jax.enable_x64(True):
        particles, systems, cutoff = random_batch(seed, straight)
        room = dataclasses.replace(
            ROOM, subdivision=subdivision, words=10 if subdivision < 2 else 2
        )
        state = settled(
            State(particles, systems, NeighborList.of(particles, systems, cutoff, sizes=room))
        )
        right, pairs = expected(state, cutoff)
        assert len(pairs.first) > 30
        np.testing.assert_array_equal(listed(state), right)


@settings(max_examples=4)
@given(seed=SEEDS)
def test_no_pair_is_lost_in_single_precision(seed):
    particles, systems, cutoff = random_batch(seed)
    cutoff = cutoff.astype(np.float32)
    data = particles.data
    home, _ = Cell(*(a[data.system.indices] for a in jax.tree.leaves(systems.data.cell))).wrapped(
        jnp.nan_to_num(data.positions)
    )  # far outside, single precision has no digits left
    particles = Table.arange(Particle(home, data.system), label=ParticleId)
    state = settled(
        State(particles, systems, NeighborList.of(particles, systems, cutoff, sizes=ROOM))
    )
    # Pairs within rounding of the cutoff may be on either side of it.
    surely, _ = expected(state, cutoff * (1 - 1e-5))
    perhaps, _ = expected(state, cutoff * (1 + 1e-5))
    found = {tuple(row) for row in listed(state).tolist()}
    assert {tuple(row) for row in surely.tolist()} <= found
    assert found <= {tuple(row) for row in perhaps.tolist()}


def fluid(count, density=0.8442, seed=0, edge=None):
    """One system of Lennard-Jones density, in units of σ."""
    edge = edge or (count / density) ** (1 / 3)
    places = round(count ** (1 / 3) + 0.499)
    grid = np.stack(np.meshgrid(*[np.arange(places)] * 3), -1).reshape(-1, 3)[:count]
    noise = np.random.default_rng(seed).normal(0, 0.1, (count, 3))
    positions = (grid / places * edge) + noise
    system = np.zeros(count, np.int32)
    return tables(positions, system, np.eye(3)[None] * edge, np.ones((1, 3), bool), straight=True)


@pytest.mark.parametrize(("count", "skin"), [(1000, 0.4)])
def test_estimates_suffice_for_a_liquid(count, skin):
    particles, systems = fluid(count)
    state = State(particles, systems, NeighborList.of(particles, systems, 2.5, skin))
    result = updated(state)
    assert result.failed_assertions == ()
    assert state.neighbors.sizes.neighbors < 1.5 * 4 / 3 * np.pi * 0.8442 * (2.5 + skin) ** 3


def test_estimates_suffice_for_a_crystal_that_is_smaller_than_the_cutoff():
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    cell, system = 5.6 * np.eye(3)[None], np.zeros(4, np.int32)
    particles, systems = tables(5.6 * basis, system, cell, np.ones((1, 3), bool), straight=True)
    state = State(particles, systems, NeighborList.of(particles, systems, 6.0, 0.3))
    assert updated(state).failed_assertions == ()


def test_what_does_not_fit_is_an_error_without_a_place_to_grow():
    particles, systems = fluid(64)
    room = Sizes(images=2000, neighbors=5, words=4, subdivision=2)
    small = NeighborList.of(particles, systems, 2.5, sizes=room)
    result = jax.jit(as_result_function(lambda: small.updated(particles, systems)))()
    with pytest.raises(CapacityError, match="more room for neighbors"):
        result.raise_assertion()


@pytest.mark.long
def test_every_buffer_grows_from_one_and_the_result_is_the_same_to_the_bit():
    particles, systems = fluid(64)
    tight = Sizes(images=65, neighbors=1, words=1, subdivision=1)
    grown = settled(
        State(particles, systems, NeighborList.of(particles, systems, 2.5, sizes=tight))
    )
    wide = Sizes(images=5000, neighbors=200, words=9, subdivision=1)
    roomy = settled(State(particles, systems, NeighborList.of(particles, systems, 2.5, sizes=wide)))
    np.testing.assert_array_equal(listed(grown), expected(grown, 2.5)[0])
    few = grown.neighbors.slots.shape[1]
    assert few < 200
    np.testing.assert_array_equal(grown.neighbors.slots, roomy.neighbors.slots[:, :few])
    assert not np.any(roomy.neighbors.slots[:, few:])


@dataclass
class Drift:
    """Every particle moves a little at each step; so does the cell."""

    velocity: jax.Array
    growth: float

    def __call__(self, key, state, /):
        data = state.particles.data
        vectors = state.systems.data.cell.vectors * self.growth
        moved = data.positions * self.growth + self.velocity
        cell = Cell(
            vectors, state.systems.data.cell.periodic, state.systems.data.cell.bounded, True
        )
        particles = Table.arange(Particle(moved, data.system), label=ParticleId)
        systems = Table.arange(Box(cell), label=SystemId)
        return State(
            particles, systems, state.neighbors.updated(particles, systems, where=NEIGHBORS)
        )


@pytest.mark.parametrize("growth", [1.0, 0.999, 1.001])
def test_a_list_with_a_skin_never_misses_a_pair_as_particles_and_cells_move(growth):
    with jax.enable_x64(True):
        particles, systems = fluid(64)
        state = State(particles, systems, NeighborList.of(particles, systems, 1.8, 0.3))
        velocity = jnp.asarray(np.random.default_rng(1).normal(0, 0.02, (64, 3)))
        drift, made = Drift(velocity, growth), 0
        for step in range(25):
            before = np.asarray(state.neighbors.positions)
            state = advance(drift, jax.random.key(0), state, 1, start=step)
            made += not np.array_equal(before, state.neighbors.positions)
            near, _ = expected(state, 1.8)
            assert {tuple(r) for r in near.tolist()} <= {tuple(r) for r in listed(state).tolist()}
        assert 2 <= made <= 15


def test_rows_spread_over_devices_give_the_same_list():
    particles, systems = fluid(200)
    mesh = Mesh(np.array(jax.devices()[:2]), ("rows",))
    one, two = (
        settled(State(particles, systems, NeighborList.of(particles, systems, 2.5, mesh=m)))
        for m in (None, mesh)
    )
    np.testing.assert_array_equal(listed(one), listed(two))


@jax.jit
def queried(particles, systems, points, where, cutoff):
    return query(particles, systems, points, where, cutoff, ROOM)


@settings(max_examples=4)
@given(seed=SEEDS)
def test_a_query_finds_what_is_near_a_point(seed):
    with jax.enable_x64(True):
        particles, systems, cutoff = random_batch(seed)
        rng = np.random.default_rng(seed)
        system = rng.integers(0, SYSTEMS - 2, 5).astype(np.int32)
        points = jnp.asarray(rng.normal(0, 8, (5, 3)))
        where = Index.integer(system, n=SYSTEMS, label=SystemId)
        found = queried(particles, systems, points, where, cutoff)
        data = particles.data
        joined = np.concatenate([np.asarray(data.positions), points])
        owners = np.append(np.asarray(data.system.indices), system)
        pairs = brute_force(joined, owners, systems.data.cell, cutoff)
        for number in range(5):
            mine = (pairs.first == ROWS + number) & (pairs.second < ROWS)
            near = np.asarray(found.neighbors.indices[number])
            right = sorted(zip(pairs.second[mine], pairs.distance[mine].round(9), strict=True))
            there = near < ROWS
            distance = np.linalg.norm(np.asarray(found.separation[number])[there], axis=1)
            assert sorted(zip(near[there], distance.round(9), strict=True)) == right


def test_a_position_that_is_no_number_is_an_error():
    particles, systems = fluid(8)
    broken = particles.data.positions.at[3, 1].set(jnp.nan)
    particles = Table.arange(Particle(broken, particles.data.system), label=ParticleId)
    with pytest.raises(AssertionError, match="particle 3"):
        settled(State(particles, systems, NeighborList.of(particles, systems, 2.5)))


@pytest.mark.parametrize(
    ("cutoff", "skin"), [(-1.0, 0.0), (1.0, -0.1), (np.nan, 0.0), (np.inf, 0.0)]
)
def test_lengths_that_are_none_are_refused(cutoff, skin):
    particles, systems = fluid(8)
    with pytest.raises(ValueError, match="is a length"):
        NeighborList.of(particles, systems, cutoff, skin)


def test_edges_carry_shifts_that_reach_the_image():
    with jax.enable_x64(True):
        particles, systems, cutoff = random_batch(3)
        state = settled(
            State(particles, systems, NeighborList.of(particles, systems, cutoff, sizes=ROOM))
        )
        edges = state.neighbors.edges(particles, systems)
        first, second = np.asarray(edges.indices.indices).T
        there = second < ROWS
        x = np.asarray(particles.data.positions)
        apart = x[second[there]] + np.asarray(edges.shifts)[there] - x[first[there]]
        _, pairs = expected(state, cutoff)
        np.testing.assert_allclose(
            np.sort(np.linalg.norm(apart, axis=1)), np.sort(pairs.distance), atol=1e-9
        )


def with_system(state, system):
    data = state.particles.data
    index = Index.integer(np.asarray(system, np.int32), n=len(state.systems), label=SystemId)
    particles = Table.arange(Particle(data.positions, index), label=ParticleId)
    return State(particles, state.systems, state.neighbors)


def test_particles_that_come_go_or_change_their_system_make_a_list_stale():
    positions = np.random.default_rng(0).random((8, 3)).astype(np.float32) * 4
    vectors, periodic = np.tile(np.eye(3, dtype=np.float32) * 4, (2, 1, 1)), np.ones((2, 3), bool)
    first = np.array([0, 0, 0, 1, 1, 1, 2, 2], np.int32)
    particles, systems = tables(positions, first, vectors, periodic)
    state = settled(State(particles, systems, NeighborList.of(particles, systems, 2.5, 1.0)))
    for system in ([0, 0, 2, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 1, 0], [1, 0, 0, 0, 1, 1, 2, 2]):
        changed = settled(with_system(state, system))
        near = {tuple(row) for row in expected(changed, 2.5)[0].tolist()}
        found = {tuple(row) for row in listed(changed).tolist()}
        assert near
        assert near <= found
        assert found <= {tuple(row) for row in expected(changed, 3.5001)[0].tolist()}


def test_a_list_that_shrank_is_made_anew():
    particles, systems = fluid(64)
    state = settled(State(particles, systems, NeighborList.of(particles, systems, 2.5, 0.5)))
    tight = State(particles, systems, state.neighbors.resized(neighbors=3))
    np.testing.assert_array_equal(listed(settled(tight)), listed(state))


def test_a_list_for_other_numbers_of_particles_is_refused():
    particles, systems = fluid(8)
    more, _ = fluid(9)
    with pytest.raises(ValueError, match="for 8 particles in 1 systems can't serve 9 in 1"):
        NeighborList.of(particles, systems, 2.5).updated(more, systems)


def test_nobody_has_no_neighbors():
    none = np.zeros((0, 3), np.float32), np.zeros(0, np.int32)
    particles, systems = tables(*none, 5 * np.eye(3)[None], np.ones((1, 3), bool))
    room = Sizes(images=8, neighbors=3, words=1, subdivision=2)
    state = State(particles, systems, NeighborList.of(particles, systems, 2.5, sizes=room))
    assert listed(settled(state)).shape == (0, 5)
    point = jnp.zeros((1, 3))
    home = Index.integer(np.zeros(1, np.int32), n=1, label=SystemId)
    found = jax.jit(lambda: query(particles, systems, point, home, 2.5, room))()
    assert not np.any(found.neighbors.valid_mask)
