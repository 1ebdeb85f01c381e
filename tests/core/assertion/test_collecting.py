import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.extend.core import Primitive, jaxpr_as_fun
from support import raises

from instar.core.assertion import (
    RuntimeAssertion,
    UncollectableError,
    is_collecting,
    runtime_assert,
    with_outcome,
    with_runtime_assertions,
)


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


# Never lost ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "nested",
    [
        jax.jit(square),
        jax.vmap(square),
        jax.jit(jax.grad(lambda y: jnp.sum(square(y)))),
        lambda x: lax.scan(lambda c, y: (c, square(y)), 0, x),
        lambda x: lax.fori_loop(0, 2, lambda _, y: jax.jit(square)(y), x),
    ],
)
def test_what_was_traced_without_collecting_is_traced_anew(nested):
    nested(jnp.array([-1.0, 1.0]))
    for _ in range(2):
        _, (check,) = with_runtime_assertions(nested)(jnp.array([-1.0, 1.0]))
        assert check.failed
    nested(jnp.array([-1.0, 1.0]))


compiled_square = jax.jit(square)


def test_collecting_again_compiles_nothing_new(caplog):
    def add_square(total, x):
        return total + compiled_square(x), None

    def program(x):
        return lax.scan(add_square, jnp.zeros(()), x)

    collected = with_runtime_assertions(program)
    xs = jnp.ones(3)
    with jax.log_compiles():
        collected(xs)
        assert "Compiling" in caplog.text
        caplog.clear()
        collected(xs)
    assert "Compiling" not in caplog.text


@jax.custom_jvp
def with_checked_rule(x):
    return jnp.sin(x)


@with_checked_rule.defjvp
def _(primals, tangents):
    runtime_assert(primals[0] > 0, "in the rule")
    return jnp.sin(primals[0]), jnp.cos(primals[0]) * tangents[0]


@jax.custom_jvp
def with_shared_check(x):
    return jnp.sin(square(x))


@with_shared_check.defjvp
def _(primals, tangents):
    return with_shared_check(*primals), tangents[0]


@jax.custom_vjp
def with_checked_backward(x):
    return jnp.sin(x)


def _backward(x, ct):
    runtime_assert(x > 0, "in the backward pass")
    return (ct,)


with_checked_backward.defvjp(lambda x: (jnp.sin(x), x), _backward)


def derivative(function, *, compiled):
    """Differentiated outside of what collects."""
    collected = with_runtime_assertions(function)
    return jax.value_and_grad(jax.jit(collected) if compiled else collected, has_aux=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_function_that_collects_can_be_differentiated(compiled):
    def function(x):
        return lax.scan(lambda c, y: (c + square(y), None), 0.0, jnp.stack([x, x]))[0]

    (value, (check,)), slope = derivative(function, compiled=compiled)(-3.0)
    assert (value, slope) == (18.0, -12.0)
    assert check.failed
    assert check.steps[0] == 0


@pytest.mark.parametrize("compiled", [False, True])
def test_a_check_shared_with_the_rule_is_kept_when_differentiated_later(compiled):
    (_, (check,)), _ = derivative(with_shared_check, compiled=compiled)(-1.0)
    assert check.failed
    (_, (check,)), _ = derivative(with_shared_check, compiled=compiled)(1.0)
    assert check.valid


@pytest.mark.parametrize("compiled", [False, True])
def test_a_rule_run_inside_of_what_collects_keeps_its_check_by_lane(compiled):
    batch = jax.vmap(derivative(with_checked_rule, compiled=False))
    (_, (check,)), _ = (jax.jit(batch) if compiled else batch)(jnp.array([-1.0, 1.0]))
    assert check.predicate.tolist() == [False, True]


@pytest.mark.parametrize(
    ("function", "compiled", "why"),
    [
        (with_checked_rule, True, "nothing collects checks where it is run"),
        (with_checked_backward, True, "the backward pass of custom_vjp runs outside"),
        (with_checked_backward, False, "the backward pass of custom_vjp runs outside"),
    ],
)
def test_a_rule_run_later_than_collecting_is_an_error_not_lost(function, compiled, why):
    with pytest.raises(UncollectableError, match=why):
        derivative(function, compiled=compiled)(1.0)


def test_a_check_on_a_tangent_is_an_error_in_reverse_mode():
    @jax.custom_jvp
    def function(x):
        return jnp.sin(x)

    @function.defjvp
    def _(primals, tangents):
        runtime_assert(tangents[0] > 0, "slope")
        return jnp.sin(*primals), tangents[0]

    for differentiated in (jax.grad(function), jax.grad(jax.jit(function))):
        with pytest.raises(UncollectableError, match="depends on a tangent"):
            with_runtime_assertions(differentiated)(1.0)


def test_a_root_keeps_its_checks_or_says_that_it_cannot():
    def root_of(x):
        def solve(f, guess):
            runtime_assert(x > 0, "negative")
            return guess - f(guess)

        return lax.custom_root(lambda y: y - x, 0.5, solve, lambda g, y: y / g(1.0))

    for compiled in (lambda f: f, jax.jit):
        try:
            _, assertions = compiled(with_runtime_assertions(root_of))(-1.0)
        except UncollectableError as error:
            assert "CustomRoot" in str(error)  # noqa: PT017
        else:
            assert any(a.failed for a in assertions)


def test_a_check_in_an_unknown_primitive_is_an_error_that_names_it():
    unknown = Primitive("unheard_of")
    unknown.multiple_results = True
    unknown.def_effectful_abstract_eval(lambda *a, program: (program.out_avals, program.effects))

    def call(x):
        program = jax.make_jaxpr(square)(x)
        return unknown.bind(x, program=program)

    for function in (call, jax.jit(call), lambda x: lax.map(call, jnp.stack([x, x]))):
        with pytest.raises(UncollectableError, match="unheard_of"):
            jax.jit(with_runtime_assertions(function))(jnp.float32(1))


def checked_sum(a, b):
    runtime_assert(a < 3, "too large")
    return a + b


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("reduce", lambda x: lax.reduce(x, 0.0, checked_sum, (0,))),
        ("reduce_window", lambda x: lax.reduce_window(x, 0.0, checked_sum, (2,), (1,), "VALID")),
        ("scatter", lambda x: x.at[0].apply(square)),
        ("composite", lax.composite(square, "my.square")),
    ],
)
@pytest.mark.parametrize("compiled", [lambda f: f, jax.jit])
def test_a_primitive_that_cannot_carry_a_check_is_named_also_when_unused(name, function, compiled):
    def unused(x):
        function(x)
        return x

    for program in (function, unused):
        with pytest.raises(UncollectableError, match=f"inside of {name}"):
            compiled(with_runtime_assertions(program))(jnp.arange(5.0))


def test_a_check_on_what_is_known_when_tracing_is_not_lost():
    @jax.jit
    def failing(x):
        with jax.ensure_compile_time_eval():
            runtime_assert(jnp.float32(7) < 3, "table too small")
        return x

    if jax.__version_info__ < (0, 11):
        assert with_runtime_assertions(failing)(1.0)[1][0].failed
        return
    for _ in range(2):
        with pytest.raises(UncollectableError, match="already while tracing"):
            with_runtime_assertions(failing)(1.0)


def checked_double(x):
    runtime_assert(x > 0, "no")
    return 2 * x


def test_a_transposed_function_refuses_the_check_by_name():
    with pytest.raises(UncollectableError, match="transposed"):
        with_runtime_assertions(lambda x: jax.linear_transpose(checked_double, x)(x))(1.0)


def test_a_program_with_checks_that_nobody_collects_is_refused():
    with_check = []

    def remember(x):
        with_check.append(jax.make_jaxpr(square)(x))
        return x

    with_runtime_assertions(remember)(jnp.float32(1))
    with pytest.raises(UncollectableError, match="nothing collects"):
        jaxpr_as_fun(with_check[0])(jnp.float32(1))


# Counts -------------------------------------------------------------------------------------


def count(function, *args):
    return len(jax.eval_shape(with_runtime_assertions(function), *args)[1])


def test_one_assertion_for_each_path_to_a_check():
    x = jnp.float32(2)
    assert count(lambda x: square(x) + square(x), x) == 2
    assert count(lambda x: jax.jit(square)(x) + jax.jit(square)(x), x) == 2
    assert count(lambda x: lax.cond(x > 0, square, square, x), x) == 2
    assert count(lambda x: lax.fori_loop(0, 9, lambda i, c: square(c), x), x) == 1
    assert count(jax.grad(jax.checkpoint(square)), x) == 1
    assert count(jax.hessian(square), x) == 1
    assert count(lambda x: x, x) == 0


def test_what_is_collected_inside_is_not_collected_again():
    def outer(x):
        value, (check,) = with_runtime_assertions(square)(x)
        assert isinstance(check, RuntimeAssertion)
        return value, check.predicate

    (_, inside), outside = jax.jit(with_runtime_assertions(outer))(-1.0)
    assert not inside
    assert outside == ()


def test_an_outcome_is_known_inside_and_its_checks_go_on():
    def outer(x):
        value, passed = with_outcome(square)(x)
        return jnp.where(passed, value, 0.0)

    mapped = jax.jit(with_runtime_assertions(lambda x: lax.map(outer, x)))
    value, (check,) = mapped(jnp.array([3.0, -1.0]))
    assert value.tolist() == [9.0, 0.0]
    assert check.steps[0] == 1
    assert with_outcome(square)(-1.0)[1] == False  # noqa: E712


def test_an_error_in_the_function_leaves_nothing_behind():
    def broken(x):
        runtime_assert(x > 0, "no")
        raise KeyError("broken")

    for function in (broken, jax.jit(broken), lambda x: lax.map(broken, x[None])):
        with pytest.raises(KeyError):
            with_runtime_assertions(function)(jnp.float32(1))
    assert not is_collecting()
    assert jax.jit(square)(-1.0) == 1.0


def test_a_donated_argument_is_donated():
    collected = jax.jit(with_runtime_assertions(square), donate_argnums=0)
    x = jnp.arange(4.0)
    _, (check,) = collected(x)
    assert x.is_deleted()
    assert check.predicate.tolist() == [False, True, True, True]


def test_callbacks_run_as_often_as_without_checks():
    def program(x):
        def body(c, y):
            jax.experimental.io_callback(lambda v: seen.append(float(v)), None, y, ordered=True)
            return c + square(y), None

        return lax.scan(body, x, jnp.arange(3.0))

    for function in (program, with_runtime_assertions(program)):
        seen = []
        jax.block_until_ready(jax.jit(function)(1.0))
        jax.effects_barrier()
        assert seen == [0.0, 1.0, 2.0]
