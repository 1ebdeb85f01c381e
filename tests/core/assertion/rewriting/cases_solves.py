"""Checks in custom_linear_solve."""

import functools

import jax
import jax.numpy as jnp
from case_table import BAD, case, check, constant, last_of, silent, twice
from jax import lax


def diagonal_solve(solve_check, transposed_check, x, b):
    def solve(matvec, b):
        solve_check(b)
        return b / jnp.abs(x)

    def transposed(vecmat, b):
        transposed_check(b)
        return b / jnp.abs(x)

    return lax.custom_linear_solve(lambda v: v * jnp.abs(x), b, solve, transposed)


def checked_solve(x):
    return functools.partial(diagonal_solve, check, silent, x)


def solve_with_checked_transposed(x):
    return functools.partial(diagonal_solve, silent, check, x)


@case
def linear_solve(x):
    return checked_solve(x)(twice(x))


@case
def linear_solve_in_jit(x):
    return jax.jit(checked_solve(x))(twice(x))


@case
def vmap_of_linear_solve(x):
    return jax.vmap(checked_solve(x))(last_of(2, x))


@case
def jvp_of_linear_solve(x):
    return jax.jvp(checked_solve(x), (constant(1.0, x),), (x,))


@case
def jvp_of_jit_of_linear_solve(x):
    return jax.jvp(jax.jit(checked_solve(x)), (constant(1.0, x),), (x,))


@case
def grad_of_linear_solve(x):
    return jax.grad(checked_solve(x))(x)


@case
def grad_of_linear_solve_checks_the_transposed(x):
    solve = solve_with_checked_transposed(x)
    return jax.grad(lambda b: solve(b) * x)(constant(1.0, x))


@case
def grad_of_jit_of_linear_solve_checks_the_transposed(x):
    solve = solve_with_checked_transposed(x)
    return jax.grad(jax.jit(lambda b: solve(b) * x))(constant(1.0, x))


@case(bad=None, idle=BAD)
def linear_solve_transposed_not_run(x):
    check(constant(1.0, x))
    return solve_with_checked_transposed(x)(x)


@case
def grad_of_linear_solve_in_scan(x):
    solve = solve_with_checked_transposed(x)

    def loss(b):
        return lax.scan(lambda c, y: (c + solve(b + y) * x, None), b, jnp.arange(2.0))[0]

    return jax.grad(loss)(constant(1.0, x))
