"""Checks in jit, in vmap and beside other effects."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from case_table import case, check, checked, last_of, silent
from jax import lax
from jax.custom_batching import sequential_vmap
from jax.experimental import io_callback


@case
def plain(x):
    return checked(x)


@case
def jit(x):
    return jax.jit(checked)(x)


@case
def nested_jit(x):
    return jax.jit(lambda x: jax.jit(lambda x: jax.jit(checked)(x) + 1.0)(x) + 1.0)(x)


@case
def jit_with_unused_result(x):
    jax.jit(checked)(x)
    return x


@case
def jit_without_results(x):
    jax.jit(check)(x)
    return x


@case
def jit_called_twice(x):
    inner = jax.jit(checked)
    return inner(jnp.abs(x)) + inner(x)


@case
def jit_inlined(x):
    return jax.jit(checked, inline=True)(x)


@case
def jit_with_static_and_named_arguments(x):
    @functools.partial(jax.jit, static_argnames="n")
    def inner(x, *, n):
        check(x)
        return x * n

    return inner(x, n=3.0)


@case
def jit_with_donated_argument(x):
    return jax.jit(checked, donate_argnums=0)(x + 1.0 - 1.0)


@case
def vmap(x):
    return jax.vmap(checked)(jnp.stack([x, jnp.abs(x)]))


@case
def nested_vmap(x):
    return jax.vmap(jax.vmap(checked))(jnp.stack([jnp.abs(x), x, x, jnp.abs(x)]).reshape(2, 2))


@case
def vmap_of_jit(x):
    return jax.vmap(jax.jit(checked))(jnp.stack([x, jnp.abs(x)]))


@case
def vmap_over_what_is_not_checked(x):
    return jax.vmap(lambda y: checked(x) + y)(jnp.arange(3.0))


@case
def vmap_with_axes_and_a_name(x):
    def inner(row, y):
        check(lax.psum(y, "rows"))
        return row + y

    rows = jnp.stack([x, x, x, x]).reshape(2, 2)
    return jax.vmap(inner, in_axes=(1, None), out_axes=1, axis_name="rows")(rows, x)


@case
def vectorize(x):
    return jnp.vectorize(checked)(last_of(2, x))


@case
def custom_vmap(x):
    return sequential_vmap(checked)(x)


@case
def custom_vmap_rule(x):
    return jax.vmap(sequential_vmap(checked))(last_of(2, x))


@case
def custom_vmap_rule_of_jit(x):
    return jax.vmap(jax.jit(sequential_vmap(checked)))(last_of(2, x))


@case
def callbacks_nearby(x):
    seen = jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), x.dtype), x)
    io_callback(silent, None, x)
    return checked(seen)


@case
def callbacks_in_scan(x):
    def body(c, y):
        io_callback(silent, None, y, ordered=True)
        return c + checked(y), None

    return lax.scan(body, x, last_of(3, x))
