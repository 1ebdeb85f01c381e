import jax
import jax.numpy as jnp
import pytest
from support import raises

from instar.core.assertion import runtime_assert, with_runtime_assertions
from instar.core.result import Result, as_result_function


def checked_divide(a, b):
    runtime_assert(b != 0, "division by zero", exception_type=ZeroDivisionError)
    return jnp.divide(a, b)


def claim(state):
    runtime_assert(
        jnp.array(state["buffer_size"] >= 10),
        "too small",
        fix_fn=lambda s, n: {**s, "buffer_size": int(n)},
        fix_args=10,
    )
    return state["buffer_size"]


@pytest.mark.parametrize("compiled", [lambda f: f, jax.jit])
def test_a_result_says_in_one_boolean_whether_all_passed(compiled):
    divide = compiled(as_result_function(checked_divide))
    fine, wrong = divide(10.0, 4.0), divide(10.0, 0.0)
    assert fine.value == 2.5
    assert wrong.value == jnp.inf
    assert fine.all_assertions_pass.nbytes == wrong.all_assertions_pass.nbytes == 1
    assert bool(fine.all_assertions_pass)
    assert not bool(wrong.all_assertions_pass)
    assert (len(fine.failed_assertions), len(wrong.failed_assertions)) == (0, 1)
    fine.raise_assertion()
    with raises(ZeroDivisionError, "division by zero"):
        wrong.raise_assertion()


def test_a_repaired_state_passes():
    result = as_result_function(claim)({"buffer_size": 5})
    assert not bool(result.all_assertions_pass)
    state = result.fix_or_raise({"buffer_size": 5})
    assert state == {"buffer_size": 10}
    again = as_result_function(claim)(state)
    assert bool(again.all_assertions_pass)
    assert again.fix_or_raise(state) is state


def test_a_failure_without_repair_raises_before_anything_is_repaired():
    repaired = []

    def both(x):
        runtime_assert(x > 0, "one", fix_fn=lambda s, _: repaired.append(s))
        runtime_assert(x > 0, "two", exception_type=ValueError)

    with raises(ValueError, "two"):
        as_result_function(both)(jnp.float32(-1)).fix_or_raise(None)
    assert repaired == []


def test_repairs_are_applied_in_turn():
    def both(state):
        runtime_assert(jnp.array(False), "a", fix_fn=lambda s, n: [*s, n], fix_args=1)
        runtime_assert(jnp.array(True), "b", fix_fn=lambda s, n: [*s, n], fix_args=2)
        runtime_assert(jnp.array(False), "c", fix_fn=lambda s, n: [*s, n], fix_args=3)

    assert as_result_function(both)([]).fix_or_raise([]) == [1, 3]


def test_a_result_without_checks_passes():
    assert bool(as_result_function(lambda x: x)(1.0).all_assertions_pass)
    assert bool(Result(1, ()).all_assertions_pass)


def test_a_batch_of_results_passes_only_together():
    batch = jax.vmap(as_result_function(checked_divide))(jnp.ones(3), jnp.array([1.0, 0.0, 2.0]))
    assert batch.all_assertions_pass.tolist() == [True, False, True]
    with pytest.raises(ZeroDivisionError, match="Batch entry 1"):
        batch.raise_assertion()


def test_a_result_can_be_built_from_assertions():
    value, assertions = with_runtime_assertions(checked_divide)(1.0, 0.0)
    assert not bool(Result(value, assertions).all_assertions_pass)


def test_compiling_ahead_of_time_keeps_the_checks():
    compiled = jax.jit(as_result_function(checked_divide)).lower(1.0, 1.0).compile()
    assert not bool(compiled(1.0, 0.0).all_assertions_pass)
    assert bool(compiled(1.0, 2.0).all_assertions_pass)


def test_an_exported_function_keeps_the_checks_it_was_made_with():
    with_checks = jax.export.export(jax.jit(as_result_function(checked_divide)))(1.0, 1.0)
    result = with_checks.call(1.0, 0.0)
    with raises(ZeroDivisionError, "division by zero"):
        result.raise_assertion()
    without = jax.export.export(jax.jit(checked_divide))(1.0, 1.0)
    _, assertions = with_runtime_assertions(without.call)(1.0, 0.0)
    assert assertions == ()
