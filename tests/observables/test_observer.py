"""On the fly and afterwards are the same fold; sums over many frames lose nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.observables import (
    Correlation,
    Observer,
    ObserverError,
    RadialDistribution,
    RunningBlocks,
    Series,
    observe,
)
from instar.observables.total import Total
from observables.states import energies, frames, state


def trajectory(number=6, dtype=None):
    rng = np.random.default_rng(1)
    start = [rng.uniform(0, 10, (n, 3)) for n in (5, 3)]
    return [
        state(
            [p + 0.1 * rng.normal(size=p.shape) for p in start],
            velocities=[rng.normal(size=p.shape) for p in start],
            energy=rng.normal(size=2),
            frozen=[False, t >= 4],
            absent=2,
            dtype=dtype,
        )
        for t in range(number)
    ]


OBSERVERS = {
    "series": lambda s: Series.of(energies, s, 10),
    "blocks": lambda s: RunningBlocks.of(energies, s),
    "displacements": lambda s: Correlation.of_displacements(s, 3),
    "velocities": lambda s: Correlation.of_velocities(s, 4),
}


@pytest.mark.parametrize("name", OBSERVERS)
def test_every_observer_folds_afterwards_as_it_does_on_the_fly_and_keeps_its_shapes(name):
    states = trajectory()
    empty = OBSERVERS[name](states[0])
    assert isinstance(empty, Observer)
    folded, stepped = observe(empty, frames(states)), empty
    update = jax.jit(lambda observer, state: observer.update(state))
    for each in states:
        stepped = update(stepped, each)
    for one in (folded, stepped):
        assert jax.tree.structure(one) == jax.tree.structure(empty)
        assert [x.dtype for x in jax.tree.leaves(one)] == [x.dtype for x in jax.tree.leaves(empty)]
    results = [jax.tree.leaves(o.result()) for o in (folded, stepped)]
    assert any(np.isfinite(leaf).any() for leaf in results[0])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [*OBSERVERS, "radial"])
def test_shapes_and_types_stay_with_single_precision_among_double(name):
    with jax.enable_x64(True):
        first = trajectory(dtype=np.float32)[0]
        make = {**OBSERVERS, "radial": lambda s: RadialDistribution.of(s, 3.0, 4, pair=("A", "B"))}
        empty = make[name](first)
        updated = jax.eval_shape(lambda observer, state: observer.update(state), empty, first)
        kinds = [[(x.shape, x.dtype) for x in jax.tree.leaves(o)] for o in (empty, updated)]
        assert kinds[0] == kinds[1]
        assert {str(dtype) for _, dtype in kinds[0]} <= {"float32", "int32", "bool"}


def test_a_fold_can_be_part_of_a_compiled_program():
    states = trajectory()
    empty = OBSERVERS["series"](states[0])
    inside, outside = jax.jit(observe)(empty, frames(states)), observe(empty, frames(states))
    np.testing.assert_array_equal(inside.rows, outside.rows)
    np.testing.assert_array_equal(inside.count, [6, 4])


def test_single_precision_sums_do_not_stand_still():
    total = Total(jnp.full((1,), 2.0**24, jnp.float32), jnp.zeros((1,), jnp.float32))
    for _ in range(10):
        total = jax.jit(Total.plus)(total, jnp.ones((1,), jnp.float32), jnp.ones((1,), bool))
    assert total.on_host()[0] == 2**24 + 10


def test_an_unknown_label_is_refused():
    first = trajectory()[0]
    with raises(ObserverError, "No particle is labelled 'C'; there are A, B."):
        Correlation.of_displacements(first, 3, label="C")
