"""What a failed check tells: first failing step, lane, values, place; in ten lines at most."""

import functools
import inspect
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from support import raises

from instar.core.assertion import runtime_assert, with_runtime_assertions
from instar.core.result import as_result_function


def positive(x):
    runtime_assert(x > 0, "x is {x}", fmt_args={"x": x})
    return x


def only(function, *args):
    _, (check,) = jax.jit(with_runtime_assertions(function))(*args)
    return check


def lines(check):
    return str(check.exception()).splitlines()


def place_of(function):
    source, first = inspect.getsourcelines(function)
    offset = next(i for i, line in enumerate(source) if "runtime_assert" in line)
    return f"Checked at {__file__}:{first + offset}, in {function.__name__}."


def test_the_report_names_the_users_line():
    assert lines(only(positive, -1.0)) == ["x is -1.0", place_of(positive)]


def test_a_loop_reports_its_first_failing_step_and_the_values_of_that_step():
    xs = jnp.array([3.0, 2.0, -7.0, -8.0, 1.0, -9.0])
    check = only(lambda xs: lax.scan(lambda c, x: (c, positive(x)), 0, xs), xs)
    assert check.fmt_args["x"] == -7.0
    assert lines(check) == [
        "x is -7.0",
        place_of(positive),
        "First failed in step 2 of scan (counted from 0).",
    ]


def test_a_reverse_scan_counts_in_the_order_it_runs():
    xs = jnp.array([-5.0, -7.0, 2.0, 1.0])
    check = only(lambda xs: lax.scan(lambda c, x: (c, positive(x)), 0, xs, reverse=True), xs)
    assert check.fmt_args["x"] == -7.0
    assert check.steps[0] == 2


def test_nested_loops_report_every_step_from_the_inside_out():
    def countdown(x):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, positive(c[1]) - 1), (0, x))

    check = only(lambda xs: lax.scan(lambda c, x: (c, countdown(x)), 0, xs), jnp.array([9.0, 2.0]))
    assert check.fmt_args["x"] == 0.0
    assert [int(step) for step in check.steps] == [1, 2]
    assert lines(check)[2] == (
        "First failed in step 2 of while_loop, in step 1 of scan (counted from 0)."
    )


def repeat(kind, times, step, state):
    """``step(state)`` so many times, by a scan or by a while loop."""
    if kind == "scan":
        return lax.scan(lambda c, _: (step(c), None), state, None, length=times)[0]
    body = lambda c: (c[0] + 1, step(c[1]))  # noqa: E731
    return lax.while_loop(lambda c: c[0] < times, body, (0, state))[1]


@pytest.mark.parametrize("kinds", list(itertools.product(["scan", "while_loop"], repeat=4)))
def test_steps_are_counted_in_every_nesting_of_loops(kinds):
    """The innermost steps are numbered 0, 1, 2, …; one of them fails."""
    lengths = (2, 3, 2, 4)
    failing = 29

    def loop(level, number):
        if level == 4:
            runtime_assert(number < failing, "{number}", fmt_args={"number": number})
            return number + 1
        return repeat(kinds[level], lengths[level], functools.partial(loop, level + 1), number)

    check = only(lambda: loop(0, jnp.int32(0)))
    assert check.fmt_args["number"] == failing
    assert [int(s) for s in check.steps] == list(np.unravel_index(failing, lengths))
    assert check.info.loops == kinds


def test_a_batch_of_checks_passes_through_nested_loops():
    def inner(c, x):
        jax.vmap(positive)(x)
        return c, None

    def outer(c, xs):
        return lax.scan(inner, c, xs)[0], None

    xs = jnp.ones((2, 3, 4)).at[1, 2, 3].set(-5.0).at[1, 0, 1].set(-6.0)
    check = only(lambda xs: lax.scan(outer, 0, xs), xs)
    assert check.predicate.tolist() == [True, False, True, False]
    assert check.fmt_args["x"].tolist()[1::2] == [-6.0, -5.0]
    assert [step.tolist()[1::2] for step in check.steps] == [[1, 1], [0, 2]]


def test_one_loop_in_two_programs_keeps_its_checks_apart():
    def body(c, x):
        return c, positive(x)

    collected = with_runtime_assertions(lambda xs: lax.scan(body, 0, xs))
    for compiled in (collected, jax.jit(collected), jax.jit(lambda xs: collected(2 * xs))):
        _, (check,) = compiled(jnp.array([1.0, -2.0]))
        assert check.steps[0] == 1


def test_lanes_are_judged_each_by_itself():
    def lane(xs):
        return lax.scan(lambda c, x: (c, positive(x)), 0, xs)

    rows = jnp.array([[1.0, -2.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, -6.0]])
    for check in (
        only(jax.vmap(lane), rows),
        only(lambda rows: lax.scan(lambda c, x: (c, jax.vmap(positive)(x)), 0, rows.T), rows),
        jax.vmap(with_runtime_assertions(lane))(rows)[1][0],
    ):
        assert check.predicate.tolist() == [False, True, False]
        assert check.steps[0].tolist()[::2] == [1, 2]
        assert check.fmt_args["x"].tolist()[::2] == [-2.0, -6.0]
        assert lines(check) == [
            "x is -2.0",
            place_of(positive),
            "First failed in step 1 of scan (counted from 0).",
            "Batch entry 0; 2 of 3 entries failed.",
        ]


def test_the_lane_that_failed_first_in_time_is_shown():
    def lane(xs):
        return lax.scan(lambda c, x: (c, positive(x)), 0, xs)

    check = only(jax.vmap(lane), jnp.array([[1.0, 1.0, -2.0], [1.0, -3.0, 1.0]]))
    assert lines(check)[0] == "x is -3.0"
    assert lines(check)[-1] == "Batch entry 1; 2 of 2 entries failed."


def test_entries_of_a_predicate_are_named():
    def all_below(limit, x):
        runtime_assert(x < limit, "some of {n} are too large", fmt_args={"n": x.size})

    check = only(all_below, 5.0, jnp.array([[1.0, 9.0], [2.0, 7.0]]))
    assert lines(check)[0] == "some of 4 are too large"
    assert lines(check)[-1] == "Entry (0, 1) of the predicate; 2 of 4 entries failed."
    batched = only(jax.vmap(all_below, (None, 0)), 5.0, jnp.array([[1.0, 2.0], [2.0, 7.0]]))
    assert lines(batched)[-1] == ("Batch entry 1, entry 1 of the predicate; 1 of 4 entries failed.")


def test_a_predicate_with_entries_keeps_its_shape_through_loops():
    def body(c, x):
        runtime_assert(x > 0, "x is {x}", fmt_args={"x": x})
        return c, None

    xs = jnp.array([[1.0, 1.0], [1.0, -2.0], [-3.0, 1.0]])
    check = only(lambda xs: lax.scan(body, 0, xs), xs)
    assert check.predicate.tolist() == [True, False]
    assert check.steps[0] == 1
    assert check.fmt_args["x"].tolist() == [1.0, -2.0]
    assert lines(check) == [
        "x is [ 1., -2.]",
        place_of(body),
        "First failed in step 1 of scan (counted from 0).",
        "Entry 1 of the predicate; 1 of 2 entries failed.",
    ]
    fine = only(lambda xs: lax.scan(body, 0, xs), jnp.ones((3, 2)))
    assert fine.predicate.tolist() == [True, True]


def test_values_keep_their_kind():
    key = jax.random.key(3)

    def all_kinds(x, key):
        runtime_assert(
            x > 0,
            "{text} {number} {i} {half:.1f} {flag}",
            fmt_args={
                "text": "a word",
                "number": 7,
                "i": x.astype(jnp.int8),
                "half": x.astype(jnp.bfloat16),
                "flag": x < 0,
            },
            fix_args={"key": key, "none": None, "name": "b", "row": jnp.arange(3)},
        )

    def loop(x, key):
        return lax.scan(lambda c, y: (all_kinds(y, key), 0), None, x)

    check = only(loop, -jnp.ones(2), key)
    assert lines(check)[0] == "a word 7 -1 -1.0 True"
    fix_args = check.fix_args
    assert jnp.array_equal(jax.random.key_data(fix_args["key"]), jax.random.key_data(key))
    assert fix_args["none"] is None
    assert fix_args["name"] == "b"
    assert fix_args["row"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("message", "first"),
    [
        ("a set {1, 2}", "a set {1, 2}"),
        ("{missing} is missing", "{missing} is missing"),
        ("{x:d} has no such format", "-1.0 has no such format"),
        ("{nope} is missing, {x} is not", "{nope} is missing, -1.0 is not"),
        ("{row[1]} of {row}", "8.0 of [7., 8.]"),
        ("{row:.2f}", "[7., 8.]"),
        ("{row.shape} unmatched {", "{row.shape} unmatched {"),
        ("100 % of {x}", "100 % of -1.0"),
        ("{{x}} in braces", "{x} in braces"),
        ("", ""),
    ],
)
def test_a_message_that_does_not_format_is_shown_as_it_is(message, first):
    row = jnp.array([7.0, 8.0])
    check = only(lambda x: runtime_assert(x > 0, message, fmt_args={"x": x, "row": row}), -1.0)
    assert lines(check)[0] == first


def test_a_report_has_ten_lines_at_most():
    def talkative(x):
        runtime_assert(x > 0, "line\n" * 30 + "{x}", fmt_args={"x": jnp.zeros((50, 50)) + x})

    def loop(x):
        return lax.fori_loop(0, 3, lambda i, c: talkative(c) or c, x)

    check = only(jax.vmap(loop), -jnp.ones(2))
    assert 5 < len(lines(check)) <= 10
    large = only(lambda x: runtime_assert(x > 0, "{x}", fmt_args={"x": np.eye(200) + x}), -1.0)
    assert len(lines(large)) == 2
    assert len(lines(large)[0]) < 200


def test_values_of_64_bits_are_read_in_any_setting():
    def body(total, i):
        value = {"v": total + i / 3, "n": i.astype(jnp.uint64) + 2**40, "z": total * (1 + 2j)}
        runtime_assert(i < 3, "{v} {n} {z}", fmt_args=value, fix_args=total)
        return total, None

    with jax.enable_x64(True):
        result = jax.jit(as_result_function(lambda x: lax.scan(body, x, jnp.arange(5))[0]))(1e300)
    (check,) = result.failed_assertions
    assert lines(check)[0] == "1e+300 1099511627779 (1e+300+2e+300j)"
    assert check.fix_args == 1e300


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "complex64",
    ],
)
def test_values_are_kept_to_the_bit(dtype):
    values = jnp.array([0, 1, 100, 3], dtype) if dtype != "bool" else jnp.array([True, False])

    def body(c, _):
        runtime_assert(jnp.array(False), "no", fix_args=values)
        return c, None

    run = with_runtime_assertions(lambda: lax.scan(body, 0, None, length=2))
    for _, (check,) in (run(), jax.jit(run)()):
        assert check.fix_args.dtype == values.dtype
        assert np.asarray(check.fix_args).tobytes() == np.asarray(values).tobytes()


def test_numbers_of_numpy_are_not_cut_to_32_bits():
    check = only(lambda: runtime_assert(jnp.array(False), "{v}", fmt_args={"v": np.int64(2**40)}))
    assert lines(check)[0] == str(2**40)


def test_arrays_of_keys_can_be_shown():
    keys = jax.random.split(jax.random.key(0), 2)
    check = only(lambda: runtime_assert(jnp.array(False), "{k}", fmt_args={"k": keys}))
    assert lines(check)[0].startswith("[[")


def test_an_exception_that_takes_no_text_does_not_hide_the_failure():
    class PickyError(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

    check = only(lambda: runtime_assert(jnp.array(False), "no", exception_type=PickyError))
    assert isinstance(check.exception(), AssertionError)
    assert lines(check)[-1] == "To be raised as PickyError."


def test_a_predicate_is_boolean():
    with raises(TypeError, "A predicate is boolean, not float32."):
        with_runtime_assertions(lambda x: runtime_assert(x, "no"))(jnp.float32(1))
