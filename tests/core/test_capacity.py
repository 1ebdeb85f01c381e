import doctest
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintParamViolation
from hypothesis import given
from hypothesis import strategies as st
from support import raises

from instar.core import capacity as module
from instar.core.assertion import with_runtime_assertions
from instar.core.capacity import (
    Capacity,
    CapacityError,
    FixedCapacity,
    LensCapacity,
    LensCapacityFix,
    MultipliedCapacity,
    sum_over_capacity,
)
from instar.core.lens import lens
from instar.core.utils.jax import dataclass, field

SIZES = lens(lambda s: s["sizes"])


def traced_check(capacity, need):
    _, (check,) = jax.jit(with_runtime_assertions(capacity.generate_assertion))(jnp.asarray(need))
    return check


def fixed_sizes(capacity, need):
    return traced_check(capacity, need).fix({"sizes": capacity.size})["sizes"]


@pytest.mark.parametrize(
    "capacity",
    [
        FixedCapacity(3),
        LensCapacity(3, SIZES),
        MultipliedCapacity(LensCapacity(3, SIZES), 2),
    ],
)
def test_every_capacity_keeps_the_protocol(capacity):
    assert isinstance(capacity, Capacity)
    assert capacity.generate_assertion(required_capacity=2).size == capacity.size
    assert capacity.multiply(3).size == 3 * capacity.size
    check = traced_check(capacity, 7)
    with raises(CapacityError, check.message.format(**check.fmt_args).splitlines()[0]):
        check.check()
    assert jax.tree.leaves(FixedCapacity(3)) == []
    assert hash(jax.tree.structure(capacity)) == hash(jax.tree.structure(capacity))


def test_a_fixed_capacity_checks_and_never_grows():
    capacity = FixedCapacity(3, "Enlarge the box.")
    assert capacity.generate_assertion(3) is capacity
    with pytest.raises(CapacityError, match=r"^Insufficient capacity: 5 > 3\.\nEnlarge the box\.$"):
        capacity.generate_assertion(required_capacity=5)
    with raises(CapacityError, "Insufficient capacity: 4 > 3."):
        capacity.generate_assertion(jnp.array([1.0, 3.5]))
    assert capacity.multiply(2) == FixedCapacity(6, "Enlarge the box.")

    check = traced_check(capacity, [1, 7])
    assert check.fix_fn is None
    with pytest.raises(CapacityError, match=r"^Insufficient capacity: 7 > 3\.\nEnlarge the box\."):
        check.check()


@pytest.mark.parametrize(
    ("size", "base", "need", "grown"),
    [
        (100, 2.0, 150, 256),
        (10, 2.0, 150, 256),
        (100, 2.0, [10, 150, 300], 512),
        (100, 2.0, [[10, 20], [101, 3]], 128),
        (100, 2.0, 100, 100),
        (100, 2.0, 0, 100),
        (100, 2.0, 128.0, 128),
        (100, 2.0, 128.5, 256),
        (100, 1.0, 150, 150),
        (100, 0.5, 150.2, 151),
        (100, 10.0, 150, 1000),
        (4, 1.5, 5, 6),
        ({"atoms": 100, "bonds": 50}, 2.0, [150, 40], {"atoms": 256, "bonds": 50}),
        ((10, 20), 2.0, [[1, 21], [12, 3]], (16, 32)),
    ],
)
def test_a_capacity_grows_to_the_next_size_of_its_grid(size, base, need, grown):
    capacity = LensCapacity(size, SIZES, base)
    assert fixed_sizes(capacity, need) == grown
    assert capacity.generate_assertion(np.asarray(need)) == LensCapacity(grown, SIZES, base)


@given(st.integers(1, 2**30), st.sampled_from([1.0, 1.3, 2.0, 3.0]))
def test_a_grown_size_is_the_smallest_power_that_suffices(need, base):
    grown = LensCapacity(0, SIZES, base).generate_assertion(need).size
    powers = [np.ceil(base**k) for k in range(100)] if base > 1 else [need]
    assert grown == min(p for p in powers if p >= need)


def test_while_tracing_a_capacity_stays_as_it_is():
    capacity = LensCapacity(100, SIZES)
    seen = []
    jax.jit(lambda need: seen.append(capacity.generate_assertion(need)))(150)
    jax.jit(lambda need: seen.append(capacity.generate_assertion(150)))(150)
    assert seen == [capacity] * 2
    jax.jit(lambda: FixedCapacity(3).generate_assertion(5) and 0)()


def test_a_need_that_is_no_number_is_not_met():
    for capacity in (FixedCapacity(5), LensCapacity(5, SIZES)):
        assert traced_check(capacity, jnp.nan).failed
        assert traced_check(capacity, jnp.inf).failed
    with pytest.raises(CapacityError):
        FixedCapacity(5).generate_assertion(float("nan"))


def test_what_is_beyond_32_bits_is_an_error_not_a_smaller_buffer():
    for need in (jnp.nan, jnp.inf, 1e12):
        with raises(CapacityError, "A capacity can't grow beyond 2³¹ - 1."):
            traced_check(LensCapacity(5, SIZES), need).fix({"sizes": 5})
    with raises(CapacityError, "A capacity can't grow beyond 2³¹ - 1."):
        LensCapacity(5, SIZES).generate_assertion(2**40)


def test_a_need_of_another_length_is_refused():
    with raises(ValueError, "A need of shape (3,) fits no capacity of 2 sizes."):
        LensCapacity((10, 20), SIZES).generate_assertion(jnp.array([1, 2, 3]))
    with raises(ValueError, "A need of shape () fits no capacity of 2 sizes."):
        LensCapacity((10, 20), SIZES).generate_assertion(5)


def test_a_multiplied_capacity_shares_one_number():
    single = LensCapacity(100, SIZES)
    triple = single.multiply(3)
    assert triple.size == 300
    assert traced_check(triple, 301).fix({"sizes": 100})["sizes"] == 128
    assert triple.generate_assertion(301).size == 384
    assert triple.multiply(2).size == 600
    assert triple.multiply(2).generate_assertion(601).size == 768
    assert LensCapacity((10, 20), SIZES).multiply(2).size == (20, 40)
    with raises(ValueError, "A capacity is multiplied by a whole number, not by 0."):
        MultipliedCapacity(single, 0)
    assert LensCapacity((10, 20), SIZES).multiply(2).generate_assertion([21, 5]).size == (32, 40)
    with raises(CapacityError, "Insufficient capacity: 4 > 3."):
        MultipliedCapacity(FixedCapacity(3), 2).generate_assertion(7)


@pytest.mark.parametrize(
    ("present", "target", "fixed"),
    [
        (10, 4, 10),
        (10, 16, 16),
        (10, [4, 16], 16),
        ((10, 20), [16, 4], (16, 20)),
        ((10, 20), 15, (15, 20)),
        ((10, 20), [[16, 4], [1, 40]], (16, 40)),
    ],
)
def test_a_fix_never_shrinks(present, target, fixed):
    assert LensCapacityFix(SIZES).fix({"sizes": present}, jnp.asarray(target))["sizes"] == fixed


@dataclass
class Box:
    needs: jax.Array
    room: int = field(static=True)


ROOM = lens(lambda s: s.room, cls=Box)
GENERIC = [
    (FixedCapacity[int], (3,)),
    (LensCapacity[Box, int], (3, ROOM)),
    (MultipliedCapacity[int], (FixedCapacity(3), 2)),
    (LensCapacityFix[Box, int], (ROOM,)),
]


@pytest.mark.parametrize(("alias", "arguments"), GENERIC, ids=lambda x: getattr(x, "__name__", ""))
def test_a_capacity_of_a_named_type_is_the_same_as_one_without(alias, arguments):
    cls = typing.get_origin(alias)
    made, plain = alias(*arguments), cls(*arguments)
    assert len(typing.get_args(alias)) == len(cls.__type_params__)
    assert isinstance(made, cls)
    assert made == plain
    assert hash(jax.tree.structure(made)) == hash(jax.tree.structure(plain))
    assert isinstance(made, Capacity) == (cls is not LensCapacityFix)


@pytest.mark.parametrize(("alias", "arguments"), GENERIC, ids=lambda x: getattr(x, "__name__", ""))
def test_a_capacity_of_a_named_type_passes_run_time_type_checks(alias, arguments):
    checked = beartype(_takes(alias))
    assert checked(alias(*arguments)) is None
    with pytest.raises(BeartypeCallHintParamViolation):
        checked(3)


def _takes(hint):
    def takes(value): ...

    takes.__annotations__ = {"value": hint}
    return takes


def test_examples_of_the_docstrings_run():
    found = doctest.testmod(module)
    assert (found.failed, found.attempted) == (0, 6)


def test_under_vmap_the_largest_lane_decides():
    def lane(need):
        LensCapacity(4, ROOM).generate_assertion(need)

    _, (check,) = jax.jit(with_runtime_assertions(jax.vmap(lane)))(jnp.array([3, 5, 17]))
    assert check.predicate.tolist() == [True, False, False]
    assert check.fix(Box(jnp.zeros(1), 4)).room == 32


@pytest.mark.parametrize("axis", [0, 1, -1])
@given(used=st.integers(0, 70), room=st.integers(0, 200), seed=st.integers(0, 99))
def test_a_sum_over_a_capacity_does_not_depend_on_its_room(axis, used, room, seed):
    values = np.random.default_rng(seed).normal(size=(used, 5)).astype(np.float32)
    values[:, 0] = -0.0
    roomy = np.pad(values, [(0, room), (0, 0)])
    if axis:
        values, roomy = values.T, roomy.T
    add = jax.jit(sum_over_capacity, static_argnums=1)
    tight = np.asarray(add(values, axis))
    assert tight.tobytes() == np.asarray(add(roomy, axis)).tobytes()
    np.testing.assert_allclose(tight, values.sum(axis), rtol=1e-4, atol=1e-5)


def test_a_sum_over_a_capacity_counts_like_a_sum():
    assert sum_over_capacity(jnp.ones(300, bool)) == 300
    assert sum_over_capacity(jnp.full((300, 2), 2, jnp.int8)).tolist() == [600, 600]


def test_a_sum_over_a_capacity_counts_what_it_is_told_and_differentiates():
    values = jnp.array([1.0, jnp.nan, 2.0])
    where = jnp.array([True, False, True])
    assert sum_over_capacity(values, where=where) == 3.0
    slope = jax.grad(lambda v: sum_over_capacity(v, where=where))(values)
    assert slope.tolist() == [1.0, 0.0, 1.0]
    assert jax.grad(sum_over_capacity)(jnp.zeros(3)).tolist() == [1.0, 1.0, 1.0]
