"""A check is reported exactly when it fails, wherever it lies."""

import functools
from pathlib import Path

import cases_branches
import cases_calls
import cases_derivatives
import cases_loops
import cases_meshes
import cases_solves
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from case_table import CASES

from instar.core.assertion import with_runtime_assertions

MODULES = (
    cases_branches,
    cases_calls,
    cases_derivatives,
    cases_loops,
    cases_meshes,
    cases_solves,
)
COMPILED = {"eager": lambda f: f, "jit": jax.jit}


@functools.cache
def collecting(program, compiled):
    """One function for all numbers and tests of a case, so that it is compiled once."""
    return COMPILED[compiled](with_runtime_assertions(program))


def outcome(case, compiled, number):
    value, assertions = collecting(case.program, compiled)(jnp.float32(number))
    return value, assertions


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request):
    if request.param.devices > len(jax.devices()):
        pytest.fail("The suite runs on two host devices.")
    return request.param


def test_every_module_of_cases_is_in_the_table():
    files = Path(__file__).parent.glob("cases_*.py")
    assert {module.__name__ for module in MODULES} == {file.stem for file in files}


def test_every_case_has_a_name_of_its_own():
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("compiled", COMPILED)
def test_a_check_is_reported_exactly_when_it_fails(case, compiled):
    _, assertions = outcome(case, compiled, case.good)
    assert assertions
    assert not any(a.failed for a in assertions)
    if case.bad is not None:
        _, assertions = outcome(case, compiled, case.bad)
        failed = [a for a in assertions if a.failed]
        assert failed
        text = str(failed[0].exception())
        assert len(text.splitlines()) <= 10
        assert f"Checked at {case.stated_in}:" in text
    if case.idle is not None:
        _, assertions = outcome(case, compiled, case.idle)
        assert not any(a.failed for a in assertions)


def test_collecting_leaves_the_value_as_it_is(case):
    for number in (case.good, case.bad, case.idle):
        if number is not None:
            value, _ = outcome(case, "jit", number)
            bare = jax.jit(case.program)(jnp.float32(number))
            jax.tree.map(np.testing.assert_array_equal, value, bare)
