"""The program of a step makes what the first step begins with: forces and a look, and no step."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynamics.systems import FS, KEY, METHODS, chain_state, with_lists
from instar.core.propagator import advance
from instar.core.utils.jax import dataclass
from instar.dynamics import Observing, Part, Step, md, observing
from instar.observables import Rows

pytestmark = pytest.mark.usefixtures("quickly_compiled")
NEVER = np.zeros((), bool)


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def positions(state):
    return state.particles.data.positions


def prepared(step, state):
    """Ready for its step, with a look at its positions."""
    watched = observing(state, {"seen": Rows.of(positions, state, 8)}, 1)
    made = Observing(step, NEVER)
    return made, advance(made.preparing, KEY, watched, 1, start=int(state.step))


@pytest.mark.parametrize("name", with_lists("langevin", "mtk"))
def test_forces_are_made_and_nothing_moves(name):
    step = METHODS[name].step()
    state = step.laid_out(chain_state(forces=False))
    whole = step.begin(chain_state())
    for number in (0, 5):
        numbered = dataclasses.replace(state, step=jnp.uint32(number))
        _, ready = prepared(step, numbered)
        assert int(ready.step) == number
        for column in ("positions", "velocities"):
            one, other = (getattr(s.particles.data, column) for s in (ready, state))
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
        right = np.asarray(whole.particles.data.forces)
        assert np.abs(right).max() > 0.1
        np.testing.assert_allclose(ready.particles.data.forces, right, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ready.systems.data.stored, whole.systems.data.stored, atol=1e-9)
        steps, seen = ready.observed["seen"].result()
        assert steps.tolist() == [number]
        assert seen[0].tobytes() == np.asarray(positions(state)).tobytes()


@pytest.mark.parametrize("name", with_lists("langevin", "mtk"))
def test_steps_from_there_are_those_of_a_state_that_was_begun(name):
    step = METHODS[name].step()
    made, ready = prepared(step, step.laid_out(chain_state(forces=False)))
    moved = advance(made, KEY, ready, 6)
    right = advance(step, KEY, step.begin(chain_state()), 6)
    one, other = (positions(state) for state in (moved, right))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)
    assert np.abs(np.asarray(one) - np.asarray(positions(ready))).max() > 1e-3


def test_a_system_whose_first_forces_are_not_finite_is_not_frozen_before_its_first_step():
    state = chain_state(forces=False)
    data = state.particles.data
    state = state.with_particles(positions=data.positions.at[0, 0].set(np.nan))
    made, ready = prepared(md.nve(1 * FS), state)
    assert not np.asarray(ready.systems.data.frozen).any()
    moved = advance(made, KEY, ready, 1)
    assert np.asarray(moved.systems.data.frozen).tolist() == [True, False, False]
    assert np.asarray(moved.systems.data.frozen_at)[0] == 0


class Alone(Part):
    """A step of its own that makes no forces beforehand."""


@dataclass
class Wrapped(Part):
    """A whole step that is not made of parts, as packages may have one."""

    step: Part

    def __call__(self, key, state, /):
        return self.step(key, state)

    def begin(self, state):
        return self.step.begin(state)


@pytest.mark.parametrize("number", [0, 5])
def test_a_step_that_knows_of_no_waiting_is_where_it_was(number):
    step = Wrapped(md.nve(1 * FS))
    state = step.laid_out(dataclasses.replace(chain_state(), step=jnp.uint32(number)))
    made, ready = prepared(step, state)
    assert int(ready.step) == number
    assert positions(ready).tobytes() == positions(state).tobytes()
    assert int(advance(made, KEY, ready, 3, start=number).step) == number + 3


def test_steps_that_prepare_nothing_say_so():
    assert md.nve(1.0).prepares
    assert not Alone().prepares
    assert not Step((md.Kick(1.0), md.Drift(1.0)), (0, 1)).prepares
