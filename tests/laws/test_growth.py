"""Growing a capacity never changes a trajectory, to the bit."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dynamics.systems import KEY, LENNARD_JONES, METHODS, argon, rows, state_of, with_lists
from hypothesis import example, given, settings
from hypothesis import strategies as st

from instar.core.capacity import LensCapacity, sum_over_capacity
from instar.core.data import Buffered, Index, Table
from instar.core.lens import lens
from instar.core.propagator import advance
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass, field


@dataclass
class Walker:
    x: jax.Array
    system: Index[SystemId]


@dataclass
class Swarm:
    """Walkers that attract each other through a list of close pairs; they are born and die."""

    walkers: Buffered
    pairs: int = field(static=True)


WALKERS = lens(lambda s: s.walkers, cls=Swarm)
PAIRS = lens(lambda s: s.pairs, cls=Swarm)


def swarm(x, free, pairs):
    data = Walker(jnp.asarray(x), Index.zeros(len(x), n=1, label=SystemId))
    return Swarm(Buffered.pad(Table.arange(data, label=ParticleId), free), pairs)


def drifted(swarm, noise):
    x, alive = swarm.walkers.data.x, swarm.walkers.occupation
    rows = len(swarm.walkers)
    apart = x[:, None, :] - x[None, :, :]
    close = alive[:, None] & alive[None, :] & ~jnp.eye(rows, dtype=bool)
    close &= (apart**2).sum(-1) < 1
    LensCapacity(swarm.pairs, PAIRS).generate_assertion(close.sum())
    i, j = jnp.nonzero(close, size=swarm.pairs, fill_value=rows)
    mine = i[None, :] == jnp.arange(rows)[:, None]
    pull = jnp.where(mine[..., None], -apart.at[i, j].get(mode="fill")[None], 0)
    x = x + sum_over_capacity(pull, axis=1) / 10 + noise / 5
    return lens(lambda s: s.walkers.data.x).set(swarm, jnp.where(alive[:, None], x, 0))


def born(swarm, wanted, x):
    place = swarm.walkers.select_free(1, where=WALKERS)
    system = Index.integer(jnp.where(wanted, 0, 1)[None], n=1, label=SystemId)
    return WALKERS.set(swarm, swarm.walkers.update(place, Walker(x[None], system)))


def died(swarm, chances):
    chances = jnp.where(swarm.walkers.occupation, chances, 0)
    victim = jnp.where(chances.max() > 0.9, jnp.argmax(chances), len(chances))
    index = Index(swarm.walkers.vocabulary, victim[None].astype(jnp.int32))
    return WALKERS.set(swarm, swarm.walkers.free(index))


def step(key, swarm):
    """Row i draws the same numbers however many rows there are."""
    drawn = jax.random.uniform(key, (len(swarm.walkers), 3), swarm.walkers.data.x.dtype)
    swarm = drifted(swarm, drawn[:, :2] - 0.5)
    swarm = born(swarm, drawn[0, 2] < 0.4, drawn[0, :2])
    return died(swarm, drawn[:, 2])


def bits(swarm):
    alive = np.asarray(swarm.walkers.occupation)
    return np.flatnonzero(alive).tolist(), np.asarray(swarm.walkers.data.x)[alive].tobytes()


def run(x, free, pairs, seed, steps):
    repairs = []
    final = advance(
        step, jax.random.key(seed), swarm(x, free, pairs), steps, on_repair=repairs.append
    )
    return final, repairs


@pytest.mark.parametrize(
    "dtype", [pytest.param(np.float32, marks=pytest.mark.long), np.float64], ids=str
)
@given(
    free=st.sampled_from([0, 2]),
    pairs=st.sampled_from([1, 5]),
    seed=st.integers(0, 2**31 - 1),
    steps=st.integers(1, 60),
)
@settings(max_examples=5)
@example(free=0, pairs=1, seed=0, steps=60)
def test_a_run_that_had_to_grow_equals_one_that_had_room(dtype, free, pairs, seed, steps):
    with jax.enable_x64(dtype is np.float64):
        x = np.random.default_rng(seed).normal(size=(3, 2)).astype(dtype)
        tight, repairs = run(x, free, pairs, seed, steps)
        roomy, none = run(x, 61, 1024, seed, steps)
    assert bits(tight) == bits(roomy)
    assert tight.walkers.data.x.dtype == dtype
    assert none == []
    if (seed, steps) == (0, 60):
        assert len(repairs) > 3


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", with_lists("langevin"))
@pytest.mark.usefixtures("double")
def test_growing_a_list_changes_no_trajectory_to_the_bit(name):
    step = METHODS[name].step()
    start = step.begin(state_of(argon(), LENNARD_JONES, skin=0.3))
    repairs = []
    small = resized(start, neighbors=6, images=80)
    grown = advance(step, KEY, small, 12, on_repair=repairs.append)
    sizes = sizes_of(grown)
    roomy = resized(start, neighbors=sizes.neighbors, images=sizes.images)
    again = advance(step, KEY, roomy, 12)
    assert repairs
    assert sizes_of(again) == sizes
    assert rows(grown) == rows(again)


def sizes_of(state):
    return state.neighbors.sizes


def resized(state, **sizes):
    return dataclasses.replace(state, neighbors=state.neighbors.resized(**sizes))
