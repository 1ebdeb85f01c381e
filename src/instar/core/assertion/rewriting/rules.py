"""Checks in functions that have other rules: for derivatives, batches, linear solves.

Which of function and rules is run is JAX's choice, and made later. A check counts where the one
that holds it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import primitives

from instar.core.assertion.collecting import collect, refusing
from instar.core.assertion.description import Check
from instar.core.assertion.rewriting.exposed import (
    Bind,
    Exposed,
    all_passed,
    emit_all,
    flat,
    regroup,
)
from instar.core.utils import jax_compat
from instar.core.utils.jax_compat import Program, as_program, run_program

__all__ = [
    "rewrite_custom_jvp",
    "rewrite_custom_vjp",
    "rewrite_custom_vmap",
    "rewrite_linear_solve",
]


class _Slots:
    """The checks of a function that has other rules, which may meet them too."""

    def __init__(self) -> None:
        self.results = 0
        self.types: list[tuple[Any, list[Any]]] = []

    def primal(self, function: Callable[..., Any]) -> Callable[..., list[Any]]:
        """The function, with the operands of its checks as further results."""

        def run(*args: Any) -> list[Any]:
            results, checks = collect(function, *args)
            self.results = len(results)
            self.types = [(c.info, [jax.typeof(x) for x in c.operands]) for c in checks]
            return [*results, *flat(checks)]

        return run

    def of_rule(self, checks: Sequence[Check]) -> list[Any]:
        """Operands in the function's places, from a rule that runs in its stead.

        A check that the rule shares with the function takes its place; a further one is stated
        here, in the trace that the rule runs in.
        """
        left, found = list(checks), []
        for info, avals in self.types:
            match = next((i for i, c in enumerate(left) if _same(c, info, avals)), None)
            found.append(all_passed([(info, avals)])[0] if match is None else left.pop(match))
        emit_all(left)
        return flat(found)

    @property
    def operands(self) -> int:
        """How many results the function has in addition to its own."""
        return sum(len(avals) for _, avals in self.types)

    def finish(self, out: Sequence[Any]) -> list[Any]:
        """State the function's checks, and give what it returned."""
        emit_all(regroup(self.types, [jax_compat.unlinked(x) for x in out[self.results :]]))
        return list(out[: self.results])


def _same(check: Check, info: Any, avals: Sequence[Any]) -> bool:
    shapes = [(jnp.shape(x), jnp.result_type(x)) for x in check.operands]
    return check.info == info and shapes == [(a.shape, a.dtype) for a in avals]


def _fresh(function: Any) -> Callable[..., Any]:
    """A function of JAX's inside, which may be called more than once."""

    def call(*args: Any) -> Any:
        for store in function.stores:
            if store:
                store.reset()
        return function.call_wrapped(*args)

    return call


def rewrite_custom_jvp(bind: Bind, args: Any, params: Any) -> Any:
    """The function returns its checks; so does the rule, where it meets the same ones."""
    function, rule = params["subfuns"]
    slots = _Slots()

    def jvp(*primals_and_tangents: Any) -> list[Any]:
        out, checks = collect(_fresh(rule), *primals_and_tangents)
        half = len(out) // 2
        operands = slots.of_rule(checks)
        zeros = [_zero_tangent(x) for x in operands]
        return [*out[:half], *operands, *out[half:], *zeros]

    new = jax_compat.replace_subfunctions(params, [slots.primal(function.call_wrapped), jvp])
    return slots.finish(bind(*args, **new))


def _zero_tangent(array: Any) -> Any:
    if jnp.issubdtype(array.dtype, jnp.inexact):
        return jnp.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)


def rewrite_custom_vjp(bind: Bind, args: Any, params: Any) -> Any:
    """Function and forward rule return their checks; the backward rule states its own."""
    function, forward, backward = params["subfuns"]
    slots = _Slots()

    def fwd(*args: Any) -> list[Any]:
        out, checks = collect(_fresh(forward), *args)
        return [*out, *slots.of_rule(checks)]

    def bwd(*args: Any) -> Any:
        return backward.call_wrapped(*args[: len(args) - slots.operands])

    later = refusing(bwd, "the backward pass of custom_vjp runs outside of with_runtime_assertions")
    if jax_compat.is_staging(jax_compat.current_trace()):
        functions = [slots.primal(function.call_wrapped), fwd, later]
        return slots.finish(bind(*args, **jax_compat.replace_subfunctions(params, functions)))
    functions = [function.call_wrapped, forward.call_wrapped, later]
    return bind(*args, **jax_compat.replace_subfunctions(params, functions))


def rewrite_custom_vmap(bind: Bind, args: Any, params: Any) -> Any:
    """The function returns its checks; the rule, which runs in its stead, states its own."""
    inner = Exposed(params["call"])

    def rule(axis_size: int, in_batched: Any, *args: Any) -> Any:
        (out, batched) = params["rule"](axis_size, in_batched, *args)
        return (out, flat(all_passed(inner.types))), (batched, [False] * inner.operands)

    out_tree = jax.tree.structure(
        (jax.tree.unflatten(params["out_tree"], range(inner.results)), [0] * inner.operands)
    )
    new = {**params, "call": inner.program, "rule": rule, "out_tree": out_tree}
    results, checks = inner.split(bind(*args, **new))
    emit_all(checks)
    return results


def rewrite_linear_solve(_: Bind, args: Any, params: Any) -> Any:
    """Differentiated by JAX's own rule, which solves again: that solve has checks of its own."""

    @jax.custom_jvp
    def solve(*args: Any) -> list[Any]:
        programs = params["jaxprs"]
        inner = Exposed(programs.solve)
        transposed = programs.transpose_solve
        if transposed is not None:
            transposed = _with_all_passed(transposed, inner)
        new = programs._replace(solve=inner.program, transpose_solve=transposed)
        out = primitives.linear_solve_p.bind(*args, **{**params, "jaxprs": new})
        results, checks = inner.split(out)
        emit_all(checks)
        return results

    @solve.defjvp
    def solve_jvp(primals: Any, tangents: Any) -> Any:
        return jax_compat.linear_solve_derivative(primals, tangents, params)

    return solve(*args)


def _with_all_passed(program: Program, inner: Exposed) -> Program:
    """The transposed solve has as many results as the solve."""
    without = jax_compat.split_checks(program)[0]
    results = len(program.out_avals)

    def run(*args: Any) -> list[Any]:
        return [*run_program(without, *args)[:results], *flat(all_passed(inner.types))]

    return as_program(run, program.in_avals)
