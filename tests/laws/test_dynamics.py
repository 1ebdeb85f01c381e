"""Laws of dynamics, for every method."""

import jax
import numpy as np
import pytest
from dynamics.systems import (
    KEY,
    LENNARD_JONES,
    METHODS,
    argon,
    by_system,
    chain_state,
    measured,
    reversed_in_time,
    state_of,
    with_lists,
)

from instar.core.propagator import advance
from instar.dynamics import md


def in_ci(names):
    """Cells that change their shape are left to `make test-long`: they take longest to compile."""
    long = pytest.mark.long
    return [
        pytest.param(n, marks=long) if n.endswith(("anisotropic", "full")) else n for n in names
    ]


ALL = in_ci(METHODS)
REVERSIBLE = in_ci(name for name, method in METHODS.items() if method.reversible)
RANDOM = in_ci(name for name, method in METHODS.items() if not method.reversible)


pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", with_lists("langevin"))
def test_a_system_moves_as_it_does_alone(name):
    method = METHODS[name]
    options = {"skin": 0.3}
    batch = advance(
        method.step(), KEY, method.step().begin(state_of(argon(), LENNARD_JONES, **options)), 10
    )
    step = method.step([1])
    alone = advance(step, KEY, step.begin(state_of(argon(), LENNARD_JONES, [1], **options)), 10)
    for found, expected in zip(by_system(alone)[7], by_system(batch)[7], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ALL, scope="module")
def test_a_system_does_not_know_its_place_in_a_batch(name):
    method = METHODS[name]
    results = []
    for order in ((0, 1, 2), (2, 0, 1)):
        step = method.step(order)
        results.append(by_system(advance(step, KEY, step.begin(chain_state(order)), 20)))
    for stream, expected in results[0].items():
        for found, right in zip(results[1][stream], expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", RANDOM, scope="module")
def test_another_stream_and_another_seed_draw_other_numbers(name):
    step = METHODS[name].step()
    start = step.begin(chain_state())
    one = advance(step, KEY, start, 5)
    other_seed = advance(step, jax.random.key(4), start, 5)
    streams = start.systems.data.stream.at[1].set(8)
    other_stream = advance(step, KEY, start.with_systems(stream=streams), 5)
    first, seeded, streamed = (
        np.asarray(s.particles.data.velocities) for s in (one, other_seed, other_stream)
    )
    own = np.asarray(start.particles.data.system.indices)
    assert (first != seeded).all()
    assert (first[own == 1] != streamed[own == 1]).all()
    np.testing.assert_array_equal(first[own != 1], streamed[own != 1])


@pytest.mark.parametrize("name", REVERSIBLE, scope="module")
def test_time_runs_backwards(name):
    step = METHODS[name].step()
    start = step.begin(chain_state())
    there = advance(step, KEY, start, 50)
    back = advance(step, KEY, reversed_in_time(there), 50, start=0)
    returned = reversed_in_time(back)
    for stream, expected in by_system(start).items():
        for found, right in zip(by_system(returned)[stream], expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ALL, scope="module")
def test_the_conserved_quantity_is_conserved(name):
    step = METHODS[name].step()
    state = step.begin(chain_state())
    first = now = measured(state)
    worst = np.zeros(3)
    for _ in range(4):
        state = advance(step, KEY, state, 25, start=int(state.step))
        now = measured(state)
        worst = np.maximum(worst, np.abs(now.conserved - first.conserved))
    kinetic = 0.5 * np.asarray(state.systems.data.degrees) * 8.617e-5 * 80
    # errors of the step: a few per cent of the thermal energy, at ω Δt ≈ 0.1 of the bonds
    assert (worst < 0.05 * kinetic).all(), worst / kinetic
    if name != "nve":
        assert (np.abs(now.total - first.total) > 1e-4 * kinetic).all()


@pytest.mark.parametrize("name", ALL, scope="module")
def test_a_system_that_explodes_is_frozen_and_the_others_do_not_notice(name):
    step = METHODS[name].step()
    start = step.begin(chain_state())
    velocities = start.particles.data.velocities
    own = np.asarray(start.particles.data.system.indices)
    row = int(np.flatnonzero(own == 1)[2])
    broken = start.with_particles(velocities=velocities.at[row].set(np.nan))
    expected = advance(step, KEY, start, 6)
    found = advance(step, KEY, broken, 6)
    (explosion,) = md.explosions(found)
    assert (explosion.system, explosion.step) == (1, 0)
    assert 2 in explosion.atoms
    for stream in (11, 400):
        for one, other in zip(by_system(found)[stream], by_system(expected)[stream], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(
        by_system(found)[7][0], np.asarray(start.particles.data.positions)[own == 1]
    )
