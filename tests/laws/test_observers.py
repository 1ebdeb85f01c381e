"""Laws of everything that ``observe:`` may name: a system is observed as if it were alone."""

import jax
import numpy as np
import pytest
from observables.states import frames, state

from instar.app.config.observers import observations_of
from instar.app.config.registry import found
from instar.core.lens import identity_lens
from instar.observables import observe
from instar.observables.entry import OBSERVERS

pytestmark = pytest.mark.usefixtures("quickly_compiled")

CELLS = [10 * np.eye(3), np.array([[9.0, 0, 0], [2.0, 8.0, 0], [0, 1.0, 11.0]])]
COUNTS = (12, 7)
LOOKS = 6


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def motion():
    rng = np.random.default_rng(2)
    start = [rng.uniform(0, 8, (n, 3)) for n in COUNTS]
    return [
        [(p + 0.3 * t * np.sin(p[:, ::-1] + t), rng.normal(size=p.shape)) for p in start]
        for t in range(LOOKS)
    ]


def seen(name, systems, frozen=(), absent=0):
    """What an observer with its defaults finds in some of the systems, moving."""
    states = [
        state(
            [now[s][0] for s in systems],
            [CELLS[s] for s in systems],
            velocities=[now[s][1] for s in systems],
            labels=[np.arange(COUNTS[s]) % 2 for s in systems],
            frozen=[s in frozen and t >= 3 for s in systems],
            absent=absent,
        )
        for t, now in enumerate(motion())
    ]
    keys = {"window": 3} if "window" in found(OBSERVERS)[name].options else {}
    (entry,) = observations_of([{"type": name, **keys}])
    observer = observe(entry.made(states[0], identity_lens()), frames(states))
    finding = entry.found(observer, 1.0)
    curves = [array for one in finding.curves.values() for array in (one.x, one.y)]
    values = [array for one in finding.values.values() for array in (one.value, one.error)]
    return [np.asarray(array) for array in curves + values]


OWN = [n for n, known in found(OBSERVERS).items() if known.target.__module__[:7] == "instar."]


@pytest.mark.parametrize("name", OWN)
def test_a_system_is_observed_as_it_is_alone_in_any_order_and_with_any_room(name):
    both = seen(name, (0, 1), absent=3)
    turned = seen(name, (1, 0))
    assert both
    for together, backwards, first, second in zip(
        both, turned, seen(name, (0,)), seen(name, (1,)), strict=True
    ):
        np.testing.assert_allclose(together[0], first[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together[1], second[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(together, backwards[::-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OWN)
def test_a_frozen_system_is_looked_at_no_more_and_the_other_as_ever(name):
    free, stopped = seen(name, (0, 1)), seen(name, (0, 1), frozen=(1,))
    for a, b in zip(free, stopped, strict=True):
        np.testing.assert_allclose(a[0], b[0], rtol=1e-12, atol=1e-12)
    assert any((a[1] != b[1]).any() for a, b in zip(free, stopped, strict=True))
