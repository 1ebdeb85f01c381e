"""A step is anybody's: parts, knobs, streams, containment and observers for a state of its own."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.core.data import Index, Table
from instar.core.typing import GroupId, SystemId
from instar.core.utils.jax import dataclass
from instar.core.utils.random import key_of
from instar.dynamics import (
    DynamicState,
    ExplosionWarning,
    Part,
    Ramp,
    explosions,
    knob,
    simulate,
    step_of,
    system_normals,
)
from instar.observables import Rows, RunningBlocks, Series

COUNTS = (2, 3, 1)


@dataclass
class Walkers:
    """Rows of a table that is not one of particles."""

    heights: jax.Array
    system: Index[SystemId]
    number: jax.Array
    suspect: jax.Array


@dataclass
class Hills:
    """The systems that walkers belong to."""

    slope: jax.Array
    stream: jax.Array
    frozen: jax.Array
    frozen_at: jax.Array


@dataclass
class Walk(DynamicState):
    """A kind of dynamics that knows neither particles nor forces."""

    walkers: Table[GroupId, Walkers]
    systems: Table[SystemId, Hills]
    step: jax.Array
    observed: Any = None

    CHANGED = ("walkers", "systems", "step")
    ADVICE = "Walk more slowly."

    @property
    def dtype(self):
        return self.walkers.data.heights.dtype

    def vital(self):
        return {"walkers": self.walkers.data.heights, "systems": self.systems.data.slope}


@dataclass
class Climb(Part):
    """h += speed · slope + noise of the system."""

    speed: object

    def __call__(self, key, state, /):
        rise = knob(self.speed, state) * state.systems.data.slope
        rise = rise + system_normals(key, state, 1)[:, 0]
        own = state.systems.set_data(rise)[state.walkers.data.system]
        return state.with_columns("walkers", heights=state.walkers.data.heights + own)


def walk(streams=(7, 8, 9), slopes=(1.0, 2.0, 3.0), counts=COUNTS):
    system = np.repeat(np.arange(len(counts)), counts)
    hills = Table.arange(
        Hills(
            jnp.asarray(slopes),
            jnp.asarray(streams, jnp.uint32),
            jnp.zeros(len(counts), bool),
            jnp.zeros(len(counts), jnp.uint32),
        ),
        label=SystemId,
    )
    walkers = Table.arange(
        Walkers(
            jnp.zeros(len(system)),
            Index.integer(system, n=len(counts), label=SystemId),
            jnp.asarray(np.concatenate([np.arange(n) for n in counts]), jnp.int32),
            jnp.zeros(len(system), bool),
        ),
        label=GroupId,
    )
    return Walk(walkers, hills, jnp.zeros((), jnp.uint32))


def mean_height(state):
    data = state.walkers.data
    return data.system.sum_over(data.heights).data / jnp.asarray(COUNTS, float)


def heights(state):
    return np.asarray(state.walkers.data.heights)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def test_systems_draw_from_their_streams_and_no_batch_mate_changes_it():
    together = simulate(step_of(Climb(1.0)), walk(), 5, seed=3)
    alone = simulate(step_of(Climb(1.0)), walk((8,), (2.0,), (3,)), 5, seed=3)
    np.testing.assert_array_equal(heights(together)[2:5], heights(alone))


def test_a_ramp_follows_the_step_and_pieces_are_the_same_run():
    step = step_of(Climb(Ramp(0.0, 10.0, 0, 8)))
    whole = simulate(step, walk(), 8, seed=1)
    pieces = simulate(step, simulate(step, walk(), 3, seed=1), 5, seed=1)
    np.testing.assert_array_equal(heights(whole), heights(pieces))
    still = simulate(step_of(Climb(0.0)), walk(), 8, seed=1)
    risen = (heights(whole) - heights(still))[[0, 2, 5]]
    np.testing.assert_allclose(risen, np.array([1, 2, 3]) * 10 / 8 * np.arange(8).sum())


def test_a_system_that_is_no_longer_finite_is_frozen_and_the_others_go_on():
    step = step_of(Climb(Ramp([1, 1, 1.0], [1, 1e308, 1.0], 0, 4)))
    with pytest.warns(ExplosionWarning, match="(?s)System 1 exploded at step 2.*Walk more slowly"):
        done = simulate(step, walk(slopes=(1.0, 4.0, 3.0)), 10, seed=3)
    (found,) = explosions(done)
    assert (found.system, found.step, found.atoms) == (1, 2, (0, 1, 2))
    assert np.isfinite(heights(done)).all()
    calm = simulate(step_of(Climb(1.0)), walk(slopes=(1.0, 4.0, 3.0)), 10, seed=3)
    np.testing.assert_array_equal(heights(done)[[0, 1, 5]], heights(calm)[[0, 1, 5]])


def test_observers_look_at_any_state():
    state, step = walk(), step_of(Climb(1.0))
    observers = {
        "series": Series.of(mean_height, state, 6),
        "mean": RunningBlocks.of(mean_height, state),
        "rows": Rows.of(mean_height, state, 6),
    }
    done = simulate(step, state, 12, seed=2, observers=observers, every=2)
    series = done.observed["series"].result()
    steps, rows = done.observed["rows"].result()
    np.testing.assert_array_equal(steps, [2, 4, 6, 8, 10, 12])
    np.testing.assert_array_equal(rows, series)
    np.testing.assert_allclose(done.observed["mean"].result().mean, series.mean(axis=0))
    np.testing.assert_array_equal(heights(done), heights(simulate(step, state, 12, seed=2)))


def test_rows_that_nobody_fetches_are_a_failed_check():
    state = walk()
    rows = {"rows": Rows.of(mean_height, state, 2)}
    with pytest.raises(Exception, match="Fetch rows more often"):
        simulate(step_of(Climb(1.0)), state, 6, observers=rows, every=2)


def test_erased_rows_are_noted_again_from_the_first():
    state = walk()
    done = simulate(
        step_of(Climb(1.0)), state, 4, observers={"r": Rows.of(mean_height, state, 2)}, every=2
    )
    emptied = dataclasses.replace(done.observed, observers={"r": done.observed["r"].erased()})
    assert len(emptied["r"].result()[0]) == 0
    more = simulate(step_of(Climb(1.0)), dataclasses.replace(done, observed=emptied), 4)
    np.testing.assert_array_equal(more.observed["r"].result()[0], [6, 8])


def test_a_checkpoint_holds_what_a_state_says():
    from instar.app.run.snapshot import arrays_of, restored
    from instar.dynamics import observing

    state = observing(walk(), {"mean": RunningBlocks.of(mean_height, walk())}, 1)
    done = simulate(step_of(Climb(1.0)), state, 5, seed=4)
    again = restored(state, arrays_of(done), {})
    further = [simulate(step_of(Climb(1.0)), one, 5, seed=4) for one in (done, again)]
    for a, b in zip(*map(jax.tree.leaves, further), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", [0, 5, 2**31 + 5, 2**32 - 1])
def test_a_small_seed_is_that_of_jax(precision, seed):
    found = [jax.random.key_data(key) for key in (key_of(seed), jax.random.key(seed))]
    np.testing.assert_array_equal(*found)


def test_all_bits_of_a_seed_count(precision):
    seeds = (5, 2**32 + 5, 2**62 + 5, 2**63 - 1, 2**31 - 1)
    assert len({tuple(np.asarray(jax.random.key_data(key_of(seed)))) for seed in seeds}) == 5
