"""Programs with a check in every transform of JAX: one table, for one law.

Each program takes one number. It must report a check when that is ``bad``, must not when it is
``good``, and must not when it is ``idle``: then the check would fail, but is not run.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from instar.core.assertion import runtime_assert

GOOD, BAD, IDLE = 1.0, -1.0, -3.0


class Case(NamedTuple):
    name: str
    program: Callable[[Any], Any]
    good: float = GOOD
    bad: float | None = BAD
    idle: float | None = None
    devices: int = 1
    stated_in: str = __file__


CASES: list[Case] = []


def case(program=None, **options):
    if program is None:
        return functools.partial(case, **options)
    CASES.append(Case(program.__name__, program, **options))
    return program


def check(x):
    runtime_assert(jnp.all(x > 0), "x is {x}", fmt_args={"x": x})


def checked(x):
    check(x)
    return x * 2.0


def same(x):
    return x


def silent(_):
    return None


def awake(x):
    return x > -2.0


def constant(value, like):
    return jnp.full_like(like, value)


def twice(x):
    return jnp.stack([x, x])


def last_of(n, x):
    return jnp.stack([jnp.abs(x)] * (n - 1) + [x])


def trips(n, body, x):
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, body(c[1])), (0, x))
