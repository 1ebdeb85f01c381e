"""Checks in cond and switch, and in branches, loops and vmap inside each other."""

import jax
import jax.numpy as jnp
from case_table import IDLE, awake, case, check, checked, last_of, same, silent, trips
from jax import lax

from instar.core.assertion import runtime_assert


@case(idle=IDLE)
def cond(x):
    return lax.cond(awake(x), checked, same, x)


@case(idle=IDLE)
def cond_other_branch(x):
    return lax.cond(x <= -2.0, same, checked, x)


@case(stated_in=__file__)
def cond_with_different_checks(x):
    def left(y):
        fmt_args = {"y": y, "z": jnp.arange(3)}
        runtime_assert(jnp.stack([y, y]) > 0, "both of {y}", fmt_args=fmt_args)
        return y

    return lax.cond(jnp.abs(x) > 0, left, checked, x)


@case
def cond_without_results(x):
    lax.cond(jnp.abs(x) > 0, check, silent, x)
    return x


@case(idle=IDLE)
def switch(x):
    return lax.switch(jnp.int32(x) + 3, [same, same, checked, same, checked], x)


@case(idle=IDLE)
def vmap_of_cond(x):
    return jax.vmap(lambda y: lax.cond(awake(y), checked, same, y))(last_of(2, x))


@case(idle=IDLE)
def vmap_of_switch(x):
    branches = [same, same, checked, same, checked, checked, checked]
    return jax.vmap(lambda y: lax.switch(jnp.int32(y) + 3, branches, y))(last_of(2, x))


@case(idle=IDLE)
def grad_of_cond(x):
    def sine(y):
        return jnp.sin(checked(y))

    return jax.grad(lambda x: lax.cond(awake(x), sine, same, x))(x)


@case(idle=IDLE)
def scan_in_while_in_cond(x):
    def scanned(c, y):
        return lax.scan(lambda c, y: (c + checked(y), None), c, last_of(3, y))[0]

    def looped(y):
        return trips(2, lambda c: scanned(c, y), y)[1]

    return lax.cond(awake(x), looped, same, x)


@case(idle=IDLE)
def cond_in_scan_in_vmap(x):
    def step(c, y):
        return c + lax.cond(awake(y), checked, same, y), None

    return jax.vmap(lambda x: lax.scan(step, x, last_of(3, x)))(last_of(2, x))


@case(idle=IDLE)
def while_in_vmapped_cond(x):
    def loop(y):
        return lax.fori_loop(0, jnp.int32(jnp.abs(y)) + 1, lambda i, c: c + checked(y), y)

    return jax.vmap(lambda y: lax.cond(awake(y), loop, same, y))(last_of(2, x))
