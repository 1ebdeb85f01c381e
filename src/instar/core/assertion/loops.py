"""Checks in scan and while: what is remembered of them is carried from step to step."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from instar.core.assertion.exposed import Bind, Exposed, emit_all
from instar.core.assertion.memory import Memory
from instar.core.utils import jax_compat
from instar.core.utils.jax_compat import Program, as_program, evaluate, holds_check

__all__ = ["rewrite_scan", "rewrite_while"]


def rewrite_scan(bind: Bind, args: Any, params: Any) -> Any:
    """A scan that carries a step counter and what is remembered of its checks."""
    constants, carried = jax_compat.scan_layout(params)
    body, memory = _rewritten_scan(params["jaxpr"], constants, carried)
    start = [jnp.int32(0), *memory.empty()]
    extra = len(start)
    new = jax_compat.scan_parameters(params, body, constants, carried + extra)
    out = bind(*args[:constants], *start, *args[constants:], **new)
    emit_all(memory.checks(out[1:extra]))
    return out[extra:]


@jax_compat.cached_by_program
def _rewritten_scan(program: Program, constants: int, carried: int) -> tuple[Program, Memory]:
    inner = Exposed(program)
    memory = Memory("scan", inner.types)
    start = jax.eval_shape(lambda: [jnp.int32(0), *memory.empty()])
    extra = len(start)

    def body(*args: Any) -> list[Any]:
        step, *kept = args[constants : constants + extra]
        results, checks = inner(*args[:constants], *args[constants + extra :])
        return [step + 1, *memory.after(step, kept, checks), *results]

    types = program.in_avals
    return as_program(body, [*types[:constants], *start, *types[constants:]]), memory


def rewrite_while(bind: Bind, args: Any, params: Any) -> Any:
    """A while loop that carries a step counter and what is remembered of its checks."""
    n, m = params["cond_nconsts"], params["body_nconsts"]
    if holds_check(params["cond_jaxpr"]):
        return _while_with_checked_condition(bind, args, params)
    condition, body, memory = _rewritten_while(params["body_jaxpr"], params["cond_jaxpr"], n, m)
    start = [jnp.int32(0), *memory.empty()]
    new = {**params, "cond_jaxpr": condition, "body_jaxpr": body}
    out = bind(*args[: n + m], *start, *args[n + m :], **new)
    emit_all(memory.checks(out[1 : len(start)]))
    return out[len(start) :]


@jax_compat.cached_by_program
def _rewritten_while(body: Program, condition: Program, n: int, m: int) -> Any:
    inner = Exposed(body)
    memory = Memory("while_loop", inner.types)
    start = jax.eval_shape(lambda: [jnp.int32(0), *memory.empty()])
    extra = len(start)

    def new_body(*args: Any) -> list[Any]:
        step, *kept = args[m : m + extra]
        results, checks = inner(*args[:m], *args[m + extra :])
        return [step + 1, *memory.after(step, kept, checks), *results]

    def new_condition(*args: Any) -> list[Any]:
        return evaluate(condition, *args[:n], *args[n + extra :])

    carry = body.in_avals[m:]
    return (
        as_program(new_condition, [*condition.in_avals[:n], *start, *carry]),
        as_program(new_body, [*body.in_avals[:m], *start, *carry]),
        memory,
    )


def _while_with_checked_condition(bind: Bind, args: Any, params: Any) -> Any:
    """The condition is worked out before the loop and at the end of its body, and carried."""
    n, m = params["cond_nconsts"], params["body_nconsts"]
    consts, body_consts, carry = args[:n], args[n : n + m], args[n + m :]
    rewritten = _rewritten_checked_while(params["body_jaxpr"], params["cond_jaxpr"], n, m)
    condition, goes_on, body, of_body, of_condition = rewritten
    (going,), checks = condition(*consts, *carry)
    kept = [*of_body.empty(), *of_condition.after(jnp.int32(0), of_condition.empty(), checks)]
    start = [going, jnp.int32(0), *kept]
    new = {
        **params,
        "cond_nconsts": 0,
        "cond_jaxpr": goes_on,
        "body_nconsts": n + m,
        "body_jaxpr": body,
    }
    out = bind(*consts, *body_consts, *start, *carry, **new)
    split = 2 + len(of_body.empty())
    emit_all(of_condition.checks(out[split : len(start)]))
    emit_all(of_body.checks(out[2:split]))
    return out[len(start) :]


@jax_compat.cached_by_program
def _rewritten_checked_while(body: Program, condition: Program, n: int, m: int) -> Any:
    inner, test = Exposed(body), Exposed(condition)
    of_body = Memory("while_loop", inner.types)
    of_condition = Memory("the condition of while_loop", test.types)
    kept_types = jax.eval_shape(lambda: (of_body.empty(), of_condition.empty()))
    start = [
        *condition.out_avals,
        jax.eval_shape(lambda: jnp.int32(0)),
        *jax.tree.leaves(kept_types),
    ]
    extra, split = len(start), 2 + len(kept_types[0])

    def new_body(*args: Any) -> list[Any]:
        consts, body_consts, carried = args[:n], args[n : n + m], args[n + m :]
        (_, step, *_), carry = carried[:extra], carried[extra:]
        results, checks = inner(*body_consts, *carry)
        (going,), tested = test(*consts, *results)
        return [
            going,
            step + 1,
            *of_body.after(step, carried[2:split], checks),
            *of_condition.after(step + 1, carried[split:extra], tested),
            *results,
        ]

    carry = body.in_avals[m:]
    consts = [*condition.in_avals[:n], *body.in_avals[:m]]
    return (
        test,
        as_program(lambda going, *_: [going], [*start, *carry]),
        as_program(new_body, [*consts, *start, *carry]),
        of_body,
        of_condition,
    )
