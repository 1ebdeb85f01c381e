"""Checks in scan, while_loop, fori_loop, map and associative_scan."""

import jax
import jax.numpy as jnp
from case_table import BAD, IDLE, case, check, checked, constant, last_of, trips
from jax import lax

from instar.core.assertion import runtime_assert


@case
def scan(x):
    return lax.scan(lambda c, y: (c + y, checked(y)), x, last_of(3, x))


@case
def scan_reverse(x):
    return lax.scan(lambda c, y: (c + y, checked(y)), x, last_of(3, x), reverse=True)


@case
def scan_unrolled(x):
    return lax.scan(lambda c, y: (c + y, checked(y)), x, last_of(3, x), unroll=2)


@case
def scan_without_xs(x):
    return lax.scan(lambda c, _: (checked(c), None), x, None, length=3)


@case(bad=None, idle=BAD)
def scan_of_length_zero(x):
    return lax.scan(lambda c, y: (checked(c) + y, y), x, jnp.zeros(0))


@case(stated_in=__file__)
def scan_with_constant_predicate(x):
    def body(c, y):
        runtime_assert(jnp.array(False), "never")
        return c, y

    return lax.cond(x > 0, lambda: x, lambda: lax.scan(body, x, None, length=2)[0])


@case
def nested_scan(x):
    def row(c, ys):
        return lax.scan(lambda c, y: (c + checked(y), None), c, ys)[0], None

    return lax.scan(row, x, jnp.stack([last_of(3, jnp.abs(x)), last_of(3, x)]))


@case
def scan_with_unused_result(x):
    lax.scan(lambda c, y: (c, checked(y)), x, last_of(3, x))
    return x


@case
def scan_with_checked_constant(x):
    return lax.scan(lambda c, y: (c + checked(x), None), x, jnp.arange(3.0))


@case
def grad_of_scan(x):
    def loop(x):
        return lax.scan(lambda c, y: (jnp.sin(c) + checked(y), None), x, last_of(3, x))[0]

    return jax.grad(loop)(x)


@case
def hessian_of_scan(x):
    def loop(x):
        return lax.scan(lambda c, y: (jnp.sin(c) * checked(y), None), x, last_of(3, x))[0]

    return jax.hessian(loop)(x)


@case
def grad_of_scan_with_check_on_carry(x):
    def loop(x):
        return lax.scan(lambda c, _: (jnp.abs(checked(c)), None), x, None, length=3)[0]

    return jax.grad(loop)(x)


@case
def scan_of_vmap(x):
    def step(c, y):
        return c + jax.vmap(checked)(jnp.stack([c, y])).sum(), None

    return lax.scan(step, jnp.abs(x), last_of(3, x))


@case
def vmap_of_scan(x):
    def loop(x):
        return lax.scan(lambda c, y: (c + checked(y), None), x, last_of(3, x))

    return jax.vmap(loop)(last_of(2, x))


@case
def vmap_of_grad_of_scan(x):
    def loop(x):
        return lax.scan(lambda c, y: (jnp.sin(c) * checked(y), None), x, last_of(3, x))[0]

    return jax.vmap(jax.grad(loop))(last_of(2, x))


@case
def jit_in_scan_in_grad(x):
    def step(c, y):
        return jnp.sin(c) * jax.jit(checked)(y), None

    return jax.grad(lambda x: lax.scan(step, x, last_of(3, x))[0])(x)


@case
def check_of_gradient_in_scan(x):
    def body(c, y):
        slope = jax.grad(lambda y: y**2)(y)
        check(slope)
        return c + slope, None

    return lax.scan(body, x, last_of(3, x))


@case
def while_body(x):
    return trips(3, checked, x)


@case
def while_condition(x):
    def condition(c):
        check(c[1])
        return c[0] < 3

    return lax.while_loop(condition, lambda c: (c[0] + 1, c[1]), (0, x))


@case
def while_condition_fails_only_at_the_end(x):
    def condition(c):
        check(c[1] + 3.5)
        return c[0] < 3

    return lax.while_loop(condition, lambda c: (c[0] + 1, c[1] + x), (0, x))


@case
def while_body_and_condition(x):
    def condition(c):
        check(jnp.abs(c[1]))
        return c[0] < 3

    return lax.while_loop(condition, lambda c: (c[0] + 1, checked(c[1])), (0, x))


@case(bad=None, idle=BAD)
def while_of_no_trips(x):
    return trips(0, checked, x)


@case
def while_with_constants(x):
    y = jnp.arange(3.0) * x

    def condition(c):
        check(c[1] + y[1] + 10.0)
        return c[0] < y.shape[0]

    return lax.while_loop(condition, lambda c: (c[0] + 1, c[1] + checked(x + y[0])), (0, x))


@case
def fori_static(x):
    return lax.fori_loop(0, 3, lambda i, c: c + checked(x), x)


@case
def fori_dynamic(x):
    return lax.fori_loop(0, jnp.int32(jnp.abs(x)) + 2, lambda i, c: c + checked(x), x)


@case(bad=None, idle=BAD)
def fori_of_no_trips(x):
    return lax.fori_loop(0, jnp.int32(x) + 1, lambda i, c: c + checked(x), x)


@case
def grad_of_fori(x):
    return jax.grad(lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + checked(x), x))(x)


@case
def jvp_of_while(x):
    return jax.jvp(lambda x: trips(3, checked, x)[1], (x,), (x,))


@case(idle=IDLE)
def vmap_of_while(x):
    def body(c):
        check(c[1] + 2.0)
        return c[0] + 1, c[1] + x

    def lane(n):
        return lax.while_loop(lambda c: (c[0] < n) & (x > -2.5), body, (0, x))

    return jax.vmap(lane)(jnp.array([1, 3]))


@case(bad=None, idle=BAD)
def vmap_of_while_with_finished_lanes(x):
    def lane(n):
        def body(c):
            check(constant(0.5, x) + n - c)
            return c + 1.0

        return lax.while_loop(lambda c: c < n, body, constant(0.0, x))

    return jax.vmap(lane)(jnp.array([1.0, 4.0, 0.0]))


@case(bad=None, idle=BAD)
def vmap_of_while_with_finished_lanes_and_checked_condition(x):
    def lane(n):
        def condition(c):
            check(constant(0.5, x) + n - c)
            return c < n

        return lax.while_loop(condition, lambda c: c + 1.0, constant(0.0, x))

    return jax.vmap(lane)(jnp.array([1.0, 4.0, 0.0]))


@case
def map_in_batches(x):
    return lax.map(checked, last_of(5, x), batch_size=2)


@case
def map_one_by_one(x):
    return lax.map(checked, last_of(3, x))


@case
def associative_scan(x):
    def combine(a, b):
        check(b)
        return a + b

    return lax.associative_scan(combine, last_of(3, x) * jnp.array([1.0, 1.0, 10.0]))


@case
def reduce_by_associative_scan_in_jit(x):
    def combine(a, b):
        return checked(b) + a

    return jax.jit(lambda y: lax.associative_scan(combine, y))(last_of(3, x) * 1.0)
