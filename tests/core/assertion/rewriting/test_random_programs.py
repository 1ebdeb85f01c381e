"""In any nesting of transforms, JAX reports what plain Python finds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import MODULUS, Failure, Log, Number, programs

from instar.core.assertion import with_runtime_assertions


def over_lanes(array, lanes, entries=1):
    """With the batches that it does not depend on, too; each batch has a size of its own."""
    batch = [size if size in np.shape(array) else 1 for size in lanes]
    return np.broadcast_to(np.reshape(array, (*batch, entries)), (*lanes, entries))


def failures(assertion, lanes, entries):
    passed = over_lanes(assertion.predicate, lanes, entries)
    steps = [over_lanes(step, lanes)[..., 0] for step in assertion.steps]
    values = {name: over_lanes(x, lanes)[..., 0] for name, x in assertion.fmt_args.items()}
    assert assertion.failed == (not passed.all())
    return {
        lane: Failure(
            tuple(passed[lane].tolist()),
            tuple(step[lane].item() for step in steps),
            **{name: x[lane].item() for name, x in values.items()},
        )
        for lane in np.ndindex(lanes)
        if not passed[lane].all()
    }


def assert_reports(program, transform, starts):
    collected, bare = transform(with_runtime_assertions(program.trace)), jax.jit(program.trace)
    for x in starts:
        value, assertions = collected(jnp.float32(x), jnp.float32(0))
        plain = bare(jnp.float32(x), jnp.float32(0))
        assert np.asarray(value).tobytes() == np.asarray(plain).tobytes()
        log = Log()
        assert value == program.walk(Number(x), 0, log).value
        for check, lanes in program.checks():
            wanted = {lane: f for (site, lane), f in log.failures.items() if site == check.site}
            reports = [a for a in assertions if a.message == f"check {check.site}"]
            assert reports
            for report in reports:
                assert failures(report, lanes, len(check.refused)) == wanted


@given(program=programs(depth=3))
def test_a_random_program_reports_what_plain_python_finds(program):
    assert_reports(program, jax.jit, range(MODULUS))


@given(program=programs(depth=2), start=st.integers(0, MODULUS - 1))
def test_a_random_program_that_is_not_compiled_reports_the_same(program, start):
    assert_reports(program, lambda run: run, [start])


@pytest.mark.long
@given(program=programs(depth=5))
def test_a_deep_random_program_reports_what_plain_python_finds(program):
    assert_reports(program, jax.jit, range(MODULUS))
