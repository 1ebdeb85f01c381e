"""Checks under differentiation, in custom rules and in checkpoint."""

import functools

import jax
import jax.numpy as jnp
from case_table import BAD, CASES, Case, case, check, checked, constant, last_of, same, twice
from jax import lax


@case
def grad(x):
    return jax.grad(lambda x: checked(x) ** 2)(x)


@case
def value_and_grad(x):
    return jax.value_and_grad(lambda x: checked(x) ** 2)(x)


@case
def grad_of_grad(x):
    return jax.grad(jax.grad(lambda x: checked(x) ** 3))(x)


@case
def jvp(x):
    return jax.jvp(checked, (x,), (constant(1.0, x),))


@case
def vjp(x):
    out, pull = jax.vjp(checked, x)
    return pull(out)


@case
def linearize(x):
    out, push = jax.linearize(checked, x)
    return push(out)


@case
def hessian(x):
    return jax.hessian(lambda x: checked(x).sum() ** 3)(twice(x))


@case
def jacobians(x):
    def f(x):
        return jnp.sin(checked(x))

    return jax.jacfwd(f)(twice(x)), jax.jacrev(f)(twice(x))


@case
def grad_of_jit(x):
    return jax.grad(jax.jit(lambda x: jnp.sin(checked(x))))(x)


@case
def check_on_a_tangent(x):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        check(tangents[0])
        return f(*primals), tangents[0]

    return jax.jvp(f, (constant(1.0, x),), (x,))


@case
def vmap_of_grad(x):
    return jax.vmap(jax.grad(lambda x: checked(x) ** 2))(last_of(2, x))


@case
def grad_of_vmap(x):
    return jax.grad(lambda x: jax.vmap(checked)(x).sum())(last_of(2, x))


@jax.custom_jvp
def primal_jvp(x):
    check(x)
    return jnp.sin(x)


@primal_jvp.defjvp
def _(primals, tangents):
    return primal_jvp(*primals), jnp.cos(primals[0]) * tangents[0]


@jax.custom_jvp
def rule_jvp(x):
    return jnp.sin(x)


@rule_jvp.defjvp
def _(primals, tangents):
    check(primals[0])
    return jnp.sin(primals[0]), jnp.cos(primals[0]) * tangents[0]


def sine_forward(x):
    return jnp.sin(x), x


def sine_backward(x, ct):
    return (jnp.cos(x) * ct,)


@jax.custom_vjp
def primal_vjp(x):
    check(x)
    return jnp.sin(x)


primal_vjp.defvjp(lambda x: (primal_vjp(x), x), sine_backward)


@jax.custom_vjp
def forward_vjp(x):
    return jnp.sin(x)


def checked_forward(x):
    check(x)
    return sine_forward(x)


forward_vjp.defvjp(checked_forward, sine_backward)


@jax.custom_vjp
def backward_vjp(x):
    return jnp.sin(x)


def checked_backward(x, ct):
    check(x)
    return sine_backward(x, ct)


backward_vjp.defvjp(sine_forward, checked_backward)


@case
def custom_jvp_primal(x):
    return primal_jvp(x)


@case
def custom_jvp_primal_in_jit(x):
    return jax.jit(primal_jvp)(x)


@case
def custom_jvp_primal_under_grad(x):
    return jax.grad(primal_jvp)(x)


@case
def custom_jvp_rule_under_jvp(x):
    return jax.jvp(rule_jvp, (x,), (constant(1.0, x),))


@case
def custom_jvp_rule_under_grad(x):
    return jax.grad(rule_jvp)(x)


@case(bad=None, idle=BAD)
def custom_jvp_rule_not_run(x):
    check(constant(1.0, x))
    return rule_jvp(x)


@case
def custom_vjp_primal(x):
    return primal_vjp(x)


@case
def custom_vjp_primal_under_grad(x):
    return jax.grad(primal_vjp)(x)


@case
def custom_vjp_forward(x):
    return jax.grad(forward_vjp)(x)


@case
def custom_vjp_backward(x):
    return jax.grad(backward_vjp)(x)


@case(bad=None, idle=BAD)
def custom_vjp_rules_not_run(x):
    check(constant(1.0, x))
    return forward_vjp(x) + backward_vjp(x)


def in_scan(f):
    return lambda x: lax.scan(lambda c, y: (c + f(y), None), constant(0.0, x), twice(x))[0]


def in_cond(f):
    return lambda x: lax.cond(jnp.abs(x) > 0, f, same, x)


def in_while(f):
    def loop(x):
        steps = jnp.int32(jnp.abs(x)) + 1
        return lax.fori_loop(0, steps, lambda i, c: c + f(x), constant(0.0, x))

    return loop


def in_vmap(f):
    return lambda x: jax.vmap(f)(x).sum()


USES = {
    "grad_of_jit": lambda rule, x: jax.grad(jax.jit(rule))(x),
    "grad_of_scan": lambda rule, x: jax.grad(in_scan(rule))(x),
    "grad_of_cond": lambda rule, x: jax.grad(in_cond(rule))(x),
    "grad_of_checkpoint": lambda rule, x: jax.grad(jax.checkpoint(rule))(x),
    "grad_of_checkpoint_scan": lambda rule, x: jax.grad(jax.checkpoint(in_scan(rule)))(x),
    "vmap_of_grad": lambda rule, x: jax.vmap(jax.grad(rule))(last_of(2, x)),
    "grad_of_vmap": lambda rule, x: jax.grad(in_vmap(rule))(twice(x)),
    "grad_of_vmap_of_jit": lambda rule, x: jax.grad(in_vmap(jax.jit(rule)))(twice(x)),
    "jit_of_grad_of_scan_of_jit": lambda rule, x: jax.jit(jax.grad(in_scan(jax.jit(rule))))(x),
    "scan_of_grad": lambda rule, x: in_scan(jax.grad(rule))(x),
    "while_of_grad": lambda rule, x: in_while(jax.grad(rule))(x),
}
RULES = (primal_jvp, rule_jvp, primal_vjp, forward_vjp, backward_vjp)

CASES.extend(
    Case(f"{rule.__name__}_in_{name}", functools.partial(use, rule))
    for rule in RULES
    for name, use in USES.items()
)


@case
def custom_jvp_primal_in_while_under_jvp(x):
    return jax.jvp(in_while(rule_jvp), (x,), (constant(1.0, x),))


@case
def checkpoint(x):
    return jax.checkpoint(checked)(x)


@case
def checkpoint_under_grad(x):
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(checked(x))))(x)


@case
def checkpoint_with_policy_under_grad(x):
    policy = jax.checkpoint_policies.everything_saveable
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(checked(x)), policy=policy))(x)


@case
def nested_checkpoint_under_grad(x):
    inner = jax.checkpoint(lambda x: jnp.sin(checked(x)))
    return jax.grad(jax.checkpoint(lambda x: jnp.cos(inner(x))))(x)


@case
def checkpoint_of_scan_under_grad(x):
    def loop(x):
        return lax.scan(lambda c, y: (jnp.sin(checked(y) + c), None), x, twice(x))[0]

    return jax.grad(jax.checkpoint(loop))(x)


@case
def scan_of_checkpoint_under_grad(x):
    step = jax.checkpoint(lambda c, y: (jnp.sin(checked(y) + c), None))
    return jax.grad(lambda x: lax.scan(step, x, twice(x))[0])(x)
