"""The one place that knows what differs between JAX releases.

Nothing else in instar looks at JAX's version, its private modules, or options that come and go.

Besides the options of ``jit`` it holds what checks inside compiled code need of JAX's inside: an
effect that keeps a check's equation alive, a hook on the binding of the primitives that hold
programs, and how each of these primitives writes its parameters down.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import jax
import jax._src.compilation_cache as _compilation_cache
import jax._src.core as _core
import jax._src.effects as _effects
import jax._src.linear_util as _linear_util
import numpy as np
from jax._src.ad_util import stop_gradient_p
from jax._src.custom_batching import custom_vmap_p
from jax._src.interpreters import ad, batching, mlir, partial_eval
from jax._src.shard_map import shard_map_p
from jax._src.util import weakref_lru_cache
from jax.extend.core import (
    Primitive,
    jaxpr_as_fun,
    jaxprs_in_params,
    primitives,
    take_current_trace,
)
from jax.sharding import PartitionSpec

_src: Any = jax._src  # pyright: ignore[reportAttributeAccessIssue]
_ad: Any = ad
_batching: Any = batching
_flattree: Any = getattr(_src, "flattree", None)

Program = Any
"""A traced function as JAX keeps it: a ``Jaxpr``, or in older releases a ``ClosedJaxpr``."""

UNSPECIFIED: Any = _src.sharding_impls.UNSPECIFIED
"""A sharding that is left to JAX: the default of ``jit``, for which JAX has no public name."""


def options_for(theirs: Any, ours: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of our function to pass on to JAX's: all that are not at our default.

    One that the installed JAX lost is refused by name.
    """
    defaults, known = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    given = {k: v for k, v in options.items() if v is not defaults[k].default}
    for name in sorted(given.keys() - known.keys()):
        raise TypeError(
            f"{ours.__name__} has no option {name!r} in JAX {jax.__version__}.\n"
            f"It was given as {given[name]!r}; leave it out, or at {defaults[name].default!r}."
        )
    return given


# ---------------------------------------------------------------------- traces

set_current_trace = _core.set_current_trace


def current_trace() -> Any:
    """What JAX is tracing into at this moment; equal while no transform is entered or left."""
    return _core.trace_ctx.trace


def is_staging(trace: Any) -> bool:
    """Whether this trace writes equations down, rather than computing or passing them on."""
    return isinstance(trace, partial_eval.DynamicJaxprTrace)


def _is_linear(trace: Any) -> bool:
    """Whether this trace writes down the linear half of a linearised function."""
    return is_staging(trace) and hasattr(trace, "tag")


def is_evaluating(trace: Any) -> bool:
    """Whether this trace computes at once, on concrete values."""
    return isinstance(trace, _core.EvalTrace)


class _Eager(_core.EvalTrace):
    """Plain evaluation, in which a call of a compiled function is seen by its primitive's hook.

    At the outermost level JAX runs a compiled function without binding its primitive.
    """

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        avals = tuple(jax.typeof(arg) for arg in args)
        return primitive.bind_with_trace(_core.eval_trace, args, avals, params)


EAGER = _Eager()
_BINDS_IN_EVAL_TRACE = not hasattr(_core.trace_ctx, "is_empty")  # older releases, in any trace


def eager_if_outermost(trace: Any) -> Any:
    """The trace to collect in: that one, or `EAGER` where JAX would take its shortcuts."""
    return EAGER if trace is _core.eval_trace else trace


def where_rules_run(trace: Any) -> list[Any]:
    """This trace, and those around it in which derivative rules of its functions run."""
    traces = [trace]
    if trace is EAGER and _BINDS_IN_EVAL_TRACE:
        traces.append(_core.eval_trace)
    while isinstance(traces[-1], ad.JVPTrace | ad.LinearizeTrace):
        traces.append(traces[-1].parent_trace)
    return traces


# ------------------------------------------------------- the primitive of a check


class _CheckEffect(_effects.Effect):
    """Marks programs that hold a check, and keeps its equation from being removed as unused."""

    def __repr__(self) -> str:
        return "RuntimeAssert"

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)


_CHECK = _CheckEffect()
for _allowed in (
    _effects.control_flow_allowed_effects,
    _effects.custom_derivatives_allowed_effects,
    _effects.remat_allowed_effects,
    _effects.partial_eval_kept_effects,
):
    _allowed.add_type(_CheckEffect)

_check_p = Primitive("runtime_assert")
_check_p.multiple_results = True


@_check_p.def_effectful_abstract_eval
def _check_type(*_: Any, **__: Any) -> Any:
    return [], {_CHECK}


def check_primitive(
    *, met: Callable[[Any, Any, Any], bool], refuse: Callable[[str, Any], Any]
) -> Primitive:
    """The primitive of a check: operands in, nothing out.

    ``met(trace, operands, info)`` is asked first whenever a check reaches a trace, and says
    whether it took it. ``refuse(why, info)`` raises, for what can't be carried.
    """
    plain = _check_p.bind_with_trace

    def bind_with_trace(trace: Any, args: Any, avals: Any, params: Any, /) -> Any:
        if met(trace, args, params["info"]):
            return []
        if _is_linear(trace):
            refuse(
                "it depends on a tangent, which reverse-mode differentiation has not",
                params["info"],
            )
        return plain(trace, args, avals, params)

    def batch(axis: Any, args: Any, dims: Any, *, info: Any) -> Any:
        moved = [
            _batching.broadcast(x, axis.size, 0, axis.explicit_mesh_axis)
            if d is None
            else _batching.moveaxis(x, d, 0)
            for x, d in zip(args, dims, strict=True)
        ]
        return _check_p.bind(*moved, info=info), []

    def lowering(_: Any, *__: Any, info: Any) -> Any:
        return refuse("the transform around it is unknown", info)

    def transposition(*_: Any, info: Any) -> Any:
        return refuse("it lies in a linear function that is transposed", info)

    _ad.primitive_transposes[_check_p] = transposition
    _check_p.bind_with_trace = bind_with_trace
    _batching.fancy_primitive_batchers[_check_p] = batch
    mlir.register_lowering(_check_p, lowering)
    return _check_p


# ------------------------------------------------- programs, and checks inside them


def as_program(fn: Callable[..., Sequence[Any]], avals: Iterable[Any]) -> Program:
    """Trace a function of flat arguments."""
    return jax.make_jaxpr(fn)(*avals)


def run_program(program: Program, *args: Any) -> list[Any]:
    """Run a program, equation by equation, in the current trace."""
    return jaxpr_as_fun(program)(*args)


def holds_check(program: Program) -> bool:
    """Whether a check lies in the program, at any depth."""
    return program is not None and _CHECK in program.effects


def cached_by_program[F: Callable[..., Any]](fn: F) -> F:
    """Remember results as long as the program lives that is the first argument."""
    return cast(F, weakref_lru_cache(fn))


def _open(program: Program) -> Any:
    return program.jaxpr if hasattr(program, "jaxpr") else program


def _edited(program: Program, **changes: Any) -> Program:
    inner = _open(program)
    new = inner.replace(debug_info=inner.debug_info.with_unknown_names(), **changes)
    return new if inner is program else program.replace(jaxpr=new)


@cached_by_program
def split_checks(program: Program) -> tuple[Program, tuple[tuple[Any, int], ...], str | None]:
    """The program with its checks' operands as further results, and what these are.

    For each check its description and its number of operands; last, the name of a primitive
    inside of which a check remained, if there is one.
    """
    inner = _open(program)
    checks = [eqn for eqn in inner.eqns if eqn.primitive is _check_p]
    others = [eqn for eqn in inner.eqns if eqn.primitive is not _check_p]
    stuck = next((_name(eqn) for eqn in others if _CHECK in eqn.effects), None)
    outvars = [*inner.outvars, *(v for eqn in checks for v in eqn.invars)]
    new = _edited(program, eqns=others, outvars=outvars, effects=inner.effects - {_CHECK})
    described = tuple((eqn.params["info"], len(eqn.invars)) for eqn in checks)
    return new, described, stuck


_blank_p = Primitive("blank_record")
_blank_p.multiple_results = True


@_blank_p.def_abstract_eval
def _blank_types(*, constants: _Named) -> list[Any]:
    return [_core.ShapedArray(array.shape, array.dtype) for array in constants.arrays]


@_blank_p.def_impl
def _blank_arrays(*, constants: _Named) -> list[Any]:
    return [jax.numpy.asarray(array) for array in constants.arrays]


mlir.register_lowering(_blank_p, mlir.lower_fun(_blank_arrays, multiple_results=True))


class _Named:
    """Constants that are told apart by which they are, not by what they hold."""

    def __init__(self, token: object, arrays: Sequence[np.ndarray]) -> None:
        self.token, self.arrays = token, arrays


def blank(token: object, arrays: Sequence[np.ndarray]) -> list[Any]:
    """Constant arrays, from an equation that can be found again by its token."""
    return _blank_p.bind(constants=_Named(token, arrays))


def take_in(program: Program, tokens: Sequence[object]) -> Program:
    """The program with the constants of these tokens as further arguments."""
    inner = _open(program)
    found = {eqn.params["constants"].token: eqn for eqn in inner.eqns if eqn.primitive is _blank_p}
    taken = [found[token] for token in tokens]
    others = [eqn for eqn in inner.eqns if not any(eqn is one for one in taken)]
    invars = [*inner.invars, *(v for eqn in taken for v in eqn.outvars)]
    return _edited(program, eqns=others, invars=invars)


def blanks(program: Program) -> dict[object, list[Any]]:
    """The types of the constants that can be found in a program, by their token."""
    return {
        eqn.params["constants"].token: [v.aval for v in eqn.outvars]
        for eqn in _open(program).eqns
        if eqn.primitive is _blank_p
    }


def _name(equation: Any) -> str:
    """The primitive's name; of one that stands for a class of the user's or JAX's, that too."""
    name = equation.primitive.name
    inner = equation.params.get("_prim")
    return name if inner is None else f"{type(inner).__name__} ({name})"


def effect_holders(trace: Any) -> list[str]:
    """Names of the primitives written down so far in a staging trace that hold a check."""
    if not is_staging(trace):
        return []
    return [_name(eqn) for eqn in trace.frame.get_eqns() if _CHECK in eqn.effects]


# ------------------------------------------------------------ hooks on primitives


def intercept(
    primitive: Any,
    wanted: Callable[[Any, Any], bool],
    rewrite: Callable[[Callable[..., Any], Any, Any], Any],
) -> None:
    """Call ``rewrite(bind, args, params)`` in place of a binding where ``wanted(trace, params)``.

    ``bind`` binds in the same trace, past this hook. What is linear is left alone: it is there
    to be transposed, and what comes of that is bound again.
    """
    plain = primitive.bind_with_trace

    def bind_with_trace(trace: Any, args: Any, avals: Any, params: Any, /) -> Any:
        if not wanted(trace, params) or _is_linear(trace):
            return plain(trace, args, avals, params)

        def bind(*args: Any, **params: Any) -> Any:
            with take_current_trace():
                return plain(trace, args, tuple(map(jax.typeof, args)), params)

        with set_current_trace(trace):
            return rewrite(bind, args, params)

    primitive.bind_with_trace = bind_with_trace


HOLDERS: dict[Any, str] = {primitives.jit_p: "jaxpr", primitives.remat_p: "jaxpr"}
"""Primitives that run one program as it is, and the parameter that holds it."""
if hasattr(_core, "eval_jaxpr_p"):
    HOLDERS[_core.eval_jaxpr_p] = "call_jaxpr"

WITH_JVP = primitives.custom_jvp_call_p
WITH_VJP = primitives.custom_vjp_call_p
WITH_VMAP = custom_vmap_p
SHARDED = shard_map_p


def linear_solve_derivative(primals: Any, tangents: Any, params: Any) -> Any:
    """JAX's own rule for custom_linear_solve, which solves once for the value and once more."""
    symbolic = [_ad.Zero(jax.typeof(t)) if t.dtype == jax.dtypes.float0 else t for t in tangents]
    out, out_tangents = _ad.primitive_jvps[primitives.linear_solve_p](primals, symbolic, **params)
    return out, [_ad.instantiate_zeros(t) for t in out_tangents]


def refuse_unknown_holders(collecting: Callable[[], bool], refuse: Callable[[str], None]) -> None:
    """Have ``refuse(name)`` called for a primitive without a hook that holds a check.

    Many of these don't tell JAX of the effects of the programs that they hold: unused, they
    would be removed together with the check.
    """
    plain = _core.Primitive.bind_with_trace

    def bind_with_trace(self: Any, trace: Any, args: Any, avals: Any, params: Any, /) -> Any:
        if collecting() and self is not primitives.linear_solve_p and not _is_linear(trace):
            held = jaxprs_in_params(params)
            if any(_CHECK in program.effects for program in held):
                refuse(self.name)
        return plain(self, trace, args, avals, params)

    _core.Primitive.bind_with_trace = bind_with_trace


def extend_call(primitive: Any, params: Any, program: Program, results: int) -> dict[str, Any]:
    """Parameters of a call whose program has that many further results."""
    new = {**params, HOLDERS[primitive]: program}
    if primitive is primitives.jit_p:
        new["out_shardings"] = (*params["out_shardings"], *[UNSPECIFIED] * results)
        new["out_layouts"] = (*params["out_layouts"], *[None] * results)
    return new


def scan_layout(params: Any) -> tuple[int, int]:
    """Of the operands of a scan: how many constants, how many carried."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


def scan_parameters(params: Any, program: Program, constants: int, carried: int) -> Any:
    """Parameters of a scan with another body; what is not carried is per step."""
    new = {**params, "jaxpr": program}
    if "num_consts" in params:
        return {**new, "num_consts": constants, "num_carry": carried}
    steps = len(program.in_avals) - constants - carried
    results = len(program.out_avals) - carried
    nones = _flattree.nones
    new["ft_in"] = _flattree.pack(tuple(map(nones, (constants, carried, steps))))
    new["ft_out"] = _flattree.pack((nones(carried), nones(results)))
    return new


def replace_subfunctions(params: Any, functions: Sequence[Callable[..., Any]]) -> dict[str, Any]:
    """Parameters of a primitive that holds functions, with others in their place."""
    wrapped = [
        _linear_util.wrap_init(new, debug_info=old.debug_info.with_unknown_names())
        for new, old in zip(functions, params["subfuns"], strict=True)
    ]
    return {**params, "subfuns": tuple(wrapped)}


def unlinked(array: Any) -> Any:
    """The array without a derivative, whatever its dtype."""
    return stop_gradient_p.bind(array)


# ------------------------------------------------------------------- manual axes


def varies_over(aval: Any) -> frozenset[str]:
    """The mesh axes, inside a shard_map, along which a value differs."""
    return frozenset(aval.mat.varying)


def constant_like(aval: Any, fill: Any) -> Any:
    """An array of that type, everywhere the same."""
    return vary_over(varies_over(aval), jax.numpy.full(aval.shape, np.asarray(fill, aval.dtype)))


def vary_over(axes: frozenset[str], array: Any) -> Any:
    """The array, taken to differ along these mesh axes too."""
    missing = tuple(axes - varies_over(jax.typeof(array)))
    return jax.lax.pcast(array, missing, to="varying") if missing else array


def manual_axes(params: Any) -> tuple[str, ...]:
    """The mesh axes that a shard_map splits over."""
    names = params["newly_manual_axes" if "newly_manual_axes" in params else "manual_axes"]
    return tuple(name for name in params["mesh"].axis_names if name in names)


def over_shards(
    params: Any, run: Callable[..., tuple[Any, Sequence[Any], Sequence[tuple[str, ...]]]]
) -> tuple[dict[str, Any], Callable[[Any], tuple[Any, list[Any]]]]:
    """Parameters of a shard_map whose function returns more than before.

    ``run(function, *args)`` returns the function's own results, further arrays, and for each of
    these the mesh axes along which its first dimension is to be joined. The second result
    splits what the shard_map returns into what it used to return, and the further arrays.
    """
    (function,) = params["subfuns"]
    own: list[Any] = []

    def wrapped(*args: Any) -> Any:
        results, further, axes = run(function, *args)
        flat, specs = results.unpack_aux()
        own[:] = [flat.map(lambda _: None)]
        more = tuple(PartitionSpec(names) if names else PartitionSpec() for names in axes)
        return _flat_tree([*flat, *further]).with_aux((*specs, *more))

    def split(results: Any) -> tuple[Any, list[Any]]:
        flat = own[0]
        everything = list(results)
        return flat.update(everything[: len(flat)]), everything[len(flat) :]

    return {**params, "subfuns": (wrapped,)}, split


def _flat_tree(items: list[Any]) -> Any:
    older = getattr(_src.tree_util, "FlatTree", None)
    return older.flatten(items) if older else _flattree.flatten(items)


# ---------------------------------------------------------------------- compiling


def closed_over(program: Program) -> Iterator[Any]:
    """The arrays that a traced function closes over, those of functions inside of it too."""
    yield from (c for c in getattr(program, "consts", ()) if hasattr(c, "dtype"))
    for equation in getattr(program, "jaxpr", program).eqns:
        for inner in jaxprs_in_params(equation.params):
            yield from closed_over(inner)


def keep_programs_in(store: Any) -> None:
    """Compiled programs are kept in a store with ``get(key)`` and ``put(key, value)``."""
    _compilation_cache.get_file_cache = lambda path: (store, path)


def planning_options(platform: str) -> dict[str, Any]:
    """Compiler options under which a program's reported memory is what it takes.

    On a CPU some fusions around products allocate inside of themselves, unreported; without
    them the same buffers are temporaries of the program.
    """
    return {"xla_cpu_experimental_ynn_fusion_type": ""} if platform == "cpu" else {}


def sorts_pairs_as_pairs() -> bool:
    """Whether the CPU's stable sort of two arrays takes no more room than their values have.

    Up to JAX 0.11 it took 16 bytes for each value.
    """
    return jax.__version_info__ >= (0, 12)
