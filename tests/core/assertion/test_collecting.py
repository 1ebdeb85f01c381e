import re

import jax
import jax.numpy as jnp
import pytest
from support import raises

from instar.core.assertion import runtime_assert, with_runtime_assertions


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
    assert "test_collecting.py" in str(check.exception())
    assert "in root." in str(check.exception())


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
