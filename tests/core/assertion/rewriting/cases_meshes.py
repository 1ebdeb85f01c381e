"""Checks in shard_map, and in a program the compiler shards."""

import jax
import jax.numpy as jnp
import numpy as np
from case_table import IDLE, awake, case, check, checked, last_of, same, trips, twice
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = PartitionSpec("x")


def mesh():
    return Mesh(np.array(jax.devices()[:2]), ("x",))


def on_shards(f, out_specs=ROWS, **options):
    return jax.shard_map(f, mesh=mesh(), in_specs=ROWS, out_specs=out_specs, **options)


@case(devices=2)
def shard_map_per_shard(x):
    return on_shards(checked)(last_of(2, x))


@case(devices=2)
def shard_map_replicated(x):
    def f(y):
        total = lax.psum(y.sum(), "x")
        check(total)
        return total

    return on_shards(f, PartitionSpec())(twice(x))


@case(devices=2)
def shard_map_unchecked(x):
    return on_shards(checked, check_vma=False)(last_of(2, x))


@case(devices=2)
def shard_map_in_jit(x):
    return jax.jit(on_shards(checked))(last_of(2, x))


@case(devices=2)
def grad_of_shard_map(x):
    sine = on_shards(lambda y: jnp.sin(checked(y)))
    return jax.grad(lambda y: sine(y).sum())(last_of(2, x))


@case(devices=2)
def vmap_of_shard_map(x):
    return jax.vmap(on_shards(checked))(last_of(4, x).reshape(2, 2))


@case(devices=2, idle=IDLE)
def scan_and_cond_in_shard_map(x):
    def step(c, _):
        return lax.cond(awake(c[0]), checked, same, c), None

    return on_shards(lambda y: lax.scan(step, y, None, length=2)[0])(last_of(2, x))


@case(devices=2)
def while_in_shard_map(x):
    return on_shards(lambda y: trips(2, checked, y)[1])(last_of(2, x))


@case(devices=2)
def scan_of_shard_map(x):
    return lax.scan(lambda c, _: (on_shards(checked)(c), None), last_of(2, x), None, length=2)


@case(devices=2)
def sharded_by_the_compiler(x):
    sharding = NamedSharding(mesh(), ROWS)
    return jax.jit(checked, in_shardings=sharding, out_shardings=sharding)(last_of(2, x))


@case(devices=2)
def replicated_check_in_nested_loops_in_shard_map(x):
    def f(y):
        total = lax.psum(y.sum(), "x")
        inner = lambda c, _: (checked(c), None)  # noqa: E731
        outer = lambda c, _: (lax.scan(inner, c, None, length=2)[0], None)  # noqa: E731
        return lax.scan(outer, total, None, length=2)[0]

    return on_shards(f, PartitionSpec())(jnp.stack([x, x]))


@case(devices=2)
def nested_loops_in_shard_map(x):
    inner = lambda c, _: (checked(c), None)  # noqa: E731
    outer = lambda c, _: (lax.scan(inner, c, None, length=2)[0], None)  # noqa: E731
    return on_shards(lambda y: lax.scan(outer, y, None, length=2)[0])(jnp.stack([jnp.abs(x), x]))


@case(devices=2)
def checks_of_both_kinds_in_nested_loops_in_shard_map(x):
    def f(y):
        def outer(c, i):
            check(c)
            inner = lambda k, j: (k + checked(1.0 + i + j), None)  # noqa: E731
            return c + lax.scan(inner, jnp.float32(0), jnp.arange(2.0))[0], None

        return lax.scan(outer, y, jnp.arange(2.0))[0]

    return on_shards(f)(jnp.stack([jnp.abs(x), x]))
