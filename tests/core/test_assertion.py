import re

import jax
import jax.numpy as jnp
import pytest
from support import raises

from instar.core.assertion import runtime_assert, with_runtime_assertions
from instar.core.capacity import Capacity, CapacityError, FixedCapacity


def square(x):
    runtime_assert(x > 0, "x must be positive")
    return x**2


def root(x):
    runtime_assert(x >= 0, "Cannot take sqrt of {val}", fmt_args={"val": x})
    return jnp.sqrt(x)


def test_on_its_own_a_check_does_nothing_and_leaves_nothing():
    def program(function):
        compiled = jax.jit(function).lower(-1.0).compile().as_text()
        return re.sub(r", metadata=\{.*?\}|jit_\w+", "", compiled).split("FileNames")[0]

    assert jax.jit(square)(-1.0) == 1.0
    assert program(square) == program(lambda x: x**2)


@pytest.mark.parametrize("compiled", [False, True])
def test_checks_come_out_as_data(compiled):
    collected = with_runtime_assertions(square)
    value, (check,) = (jax.jit(collected) if compiled else collected)(-1.0)
    assert value == 1.0
    assert check.predicate == False  # noqa: E712
    assert check.failed
    _, (check,) = collected(2.0)
    assert check.valid


def test_the_message_is_filled_and_the_place_is_named():
    _, (check,) = jax.jit(with_runtime_assertions(root))(-4.0)
    with raises(AssertionError, "Cannot take sqrt of -4.0"):
        check.check()
    assert "test_assertion.py" in str(check.exception())
    assert str(check.exception()).endswith("in root.")


def test_a_fix_repairs_a_state():
    def claim(state):
        runtime_assert(
            jnp.array(state["size"] >= 10),
            "too small",
            exception_type=ValueError,
            fix_fn=lambda s, n: {"size": int(n)},
            fix_args=10,
        )

    _, (check,) = with_runtime_assertions(claim)({"size": 5})
    assert check.fix({"size": 5}) == {"size": 10}
    with raises(ValueError, "too small"):
        check.check()


@pytest.mark.parametrize(
    "nested",
    [
        jax.jit(square),
        jax.vmap(square),
        jax.grad(lambda y: jnp.sum(square(y))),
        lambda x: jax.lax.scan(lambda c, y: (c, square(y)), 0, x),
        lambda x: jax.lax.cond(True, square, lambda y: y, x),
        lambda x: jax.lax.fori_loop(0, 2, lambda _, y: square(y), x),
    ],
)
def test_a_check_that_cannot_be_carried_is_an_error_not_lost(nested):
    nested(jnp.ones(2))  # traced and cached without collecting
    for _ in range(2):
        with raises(
            NotImplementedError, "A check inside a nested transform can't be collected yet."
        ):
            with_runtime_assertions(nested)(jnp.ones(2))


def test_fixed_capacity_checks_and_never_grows():
    capacity = FixedCapacity(3, "Enlarge the box.")
    assert isinstance(capacity, Capacity)
    assert capacity.generate_assertion(3) is capacity
    with pytest.raises(CapacityError, match=r"^Insufficient capacity: 5 > 3\.\nEnlarge the box\.$"):
        capacity.generate_assertion(required_capacity=5)
    with raises(CapacityError, "Insufficient capacity: 4 > 3."):
        capacity.generate_assertion(jnp.array([1.0, 3.5]))
    assert capacity.multiply(2) == FixedCapacity(6, "Enlarge the box.")

    _, (check,) = jax.jit(with_runtime_assertions(capacity.generate_assertion))(jnp.array([1, 7]))
    with raises(CapacityError, "Insufficient capacity: 7 > 3."):
        check.check()
