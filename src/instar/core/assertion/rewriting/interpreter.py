"""How a check gets out of the transforms that it lies in.

A check is an equation without results. Before JAX transforms a program that holds one, at the
moment when the primitive that runs the program is bound, the program is rewritten: the check's
operands become results of it, and the check is stated again outside, in the trace around. So it
climbs, level by level, to the trace that collects.

===================  ==========================================================================
jit, checkpoint      operands become further results
cond, switch         the same for each branch; one that lacks a check says that it passed
scan, while, fori    the carry holds what is remembered of the first failure (`Memory`)
custom_jvp, _vjp     each rule runs where JAX runs it, and states its checks there
custom_vmap          likewise
custom_linear_solve  the checks of the solve that is run, in the backward pass of the transposed
shard_map            operands are joined along the mesh as a further batch dimension
===================  ==========================================================================

vmap, grad, jvp, vjp, linearize need nothing: their traces hand a check to the trace around.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import primitives

from instar.core.assertion.collecting import collect, emit, is_collecting, refuse_holder
from instar.core.assertion.description import Check
from instar.core.assertion.rewriting import loops, rules
from instar.core.assertion.rewriting.exposed import (
    Bind,
    Exposed,
    all_passed,
    emit_all,
    flat,
    regroup,
)
from instar.core.utils import jax_compat
from instar.core.utils.jax_compat import Program, as_program, holds_check

__all__ = ["install"]


# ------------------------------------------------------------------ jit, checkpoint


def _call(primitive: Any, bind: Bind, args: Any, params: Any) -> Any:
    inner = Exposed(params[jax_compat.HOLDERS[primitive]])
    extended = jax_compat.extend_call(primitive, params, inner.program, inner.operands)
    results, checks = inner.split(bind(*args, **extended))
    emit_all(checks)
    return results


# --------------------------------------------------------------------- cond, switch


def _cond(bind: Bind, args: Any, params: Any) -> Any:
    branches, types, results = _rewritten_branches(params["branches"][0], params["branches"])
    out = bind(*args, **{**params, "branches": branches})
    emit_all(regroup(types, out[results:]))
    return out[:results]


@jax_compat.cached_by_program
def _rewritten_branches(first: Program, branches: tuple[Program, ...]) -> Any:
    exposed = [Exposed(branch) for branch in branches]

    def branch(taken: int) -> Program:
        def run(*args: Any) -> list[Any]:
            results, checks = exposed[taken](*args)
            by_branch = [
                checks if k == taken else all_passed(other.types) for k, other in enumerate(exposed)
            ]
            return [*results, *(operand for met in by_branch for operand in flat(met))]

        return as_program(run, branches[taken].in_avals)

    types = [entry for inner in exposed for entry in inner.types]
    return tuple(map(branch, range(len(branches)))), types, len(first.out_avals)


# ------------------------------------------------------------------------ shard_map


def _shard_map(bind: Bind, args: Any, params: Any) -> Any:
    axes = jax_compat.manual_axes(params)
    infos: list[tuple[Any, int]] = []

    def run(function: Callable[..., Any], *args: Any) -> Any:
        results, checks = collect(function, *args)
        infos[:] = [(check.info, len(check.operands)) for check in checks]
        further, joined = [], []
        for check in checks:
            varying = frozenset().union(*(_varies(x, axes, params) for x in check.operands))
            over = tuple(axis for axis in axes if axis in varying)
            for operand in check.operands:
                whole = jax_compat.vary_over(frozenset(over), operand) if over else operand
                further.append(whole[None] if over else whole)
                joined.append(over)
        return results, further, joined

    new, split = jax_compat.over_shards(params, run)
    results, arrays = split(bind(*args, **new))
    for info, count in infos:
        emit(Check(info, arrays[:count]))
        arrays = arrays[count:]
    return results


def _varies(operand: Any, axes: Sequence[str], params: Any) -> frozenset[str]:
    """Without ``check_vma`` JAX does not know along which axes a value differs."""
    if not params["check_vma"]:
        return frozenset(axes)
    return jax_compat.varies_over(jax.typeof(operand))


# ---------------------------------------------------------------------------- hooks


def _holding(*names: str) -> Callable[[Any, Any], bool]:
    def wanted(trace: Any, params: Any) -> bool:
        return any(holds_check(params[name]) for name in names)

    return wanted


def _stages_a_function(trace: Any, params: Any) -> bool:
    """JAX writes the function down, to transform or to run it later."""
    return is_collecting() and jax_compat.is_staging(trace)


def _solves(trace: Any, params: Any) -> bool:
    """Transforms solve again, by their own rules."""
    here = jax_compat.is_staging(trace) or jax_compat.is_evaluating(trace)
    return here and holds_check(params["jaxprs"].solve)


def _branches(trace: Any, params: Any) -> bool:
    return any(map(holds_check, params["branches"]))


def _whenever_collecting(trace: Any, params: Any) -> bool:
    return is_collecting()


def install() -> None:
    """Hook into JAX; programs without checks are left as they are."""
    jax_compat.refuse_unknown_holders(is_collecting, refuse_holder)
    for primitive, name in jax_compat.HOLDERS.items():
        jax_compat.intercept(primitive, _holding(name), functools.partial(_call, primitive))
    jax_compat.intercept(primitives.scan_p, _holding("jaxpr"), loops.rewrite_scan)
    jax_compat.intercept(
        primitives.while_p, _holding("cond_jaxpr", "body_jaxpr"), loops.rewrite_while
    )
    jax_compat.intercept(primitives.cond_p, _branches, _cond)
    jax_compat.intercept(primitives.linear_solve_p, _solves, rules.rewrite_linear_solve)
    jax_compat.intercept(jax_compat.WITH_JVP, _stages_a_function, rules.rewrite_custom_jvp)
    jax_compat.intercept(jax_compat.WITH_VJP, _whenever_collecting, rules.rewrite_custom_vjp)
    jax_compat.intercept(jax_compat.WITH_VMAP, _holding("call"), rules.rewrite_custom_vmap)
    jax_compat.intercept(jax_compat.SHARDED, _whenever_collecting, _shard_map)
