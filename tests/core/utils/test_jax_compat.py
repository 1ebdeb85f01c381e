"""What instar reads of JAX's inside: a release that changes it fails here, by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, PartitionSpec

from instar.core.utils import jax_compat


def with_jvp(x):
    function = jax.custom_jvp(jnp.sin)
    function.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return function(x)


def with_vjp(x):
    function = jax.custom_vjp(jnp.sin)
    function.defvjp(lambda x: (x, x), lambda x, ct: (ct,))
    return function(x)


def on_mesh(x):
    mesh = Mesh(np.array(jax.devices()[:1]), ("x",))
    return jax.shard_map(jnp.sin, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec())(x)


def halved(x):
    return lax.custom_linear_solve(lambda v: v * 2, x, lambda _, b: b / 2, lambda _, b: b / 2)


OF_JIT = """compiler_options_kvs ctx_mesh donated_invars in_layouts in_shardings inline jaxpr
            keep_unused name out_layouts out_shardings"""
OF_SCAN = "jaxpr length reverse unroll"
OF_MESH = "check_vma in_specs jaxpr mesh out_specs"

# program, name of its primitive, parameters: in any of the releases that are supported
KNOWN = [
    (jax.jit(jnp.sin), "jit", {OF_JIT}),
    (jax.checkpoint(jnp.sin), "remat2", {"differentiated jaxpr policy prevent_cse"}),
    (lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), "cond", {"branches"}),
    (
        lambda x: lax.scan(lambda c, y: (c + y, c), x, jnp.ones(2)),
        "scan",
        {f"{OF_SCAN} num_carry num_consts", f"{OF_SCAN} ft_in ft_out"},
    ),
    (
        lambda x: lax.while_loop(lambda c: c < 1, lambda c: c + 1, x),
        "while",
        {"body_jaxpr body_nconsts cond_jaxpr cond_nconsts"},
    ),
    (with_jvp, "custom_jvp_call", {"call_jaxpr jvp_jaxpr_fun num_consts symbolic_zeros"}),
    (
        with_vjp,
        "custom_vjp_call",
        {"bwd call_jaxpr fwd_jaxpr_thunk num_consts out_trees symbolic_zeros"},
    ),
    (
        jax.custom_batching.sequential_vmap(jnp.sin),
        "custom_vmap_call",
        {"call in_tree out_tree rule"},
    ),
    (halved, "custom_linear_solve", {"const_lengths jaxprs"}),
    (on_mesh, "shard_map", {f"{OF_MESH} manual_axes", f"{OF_MESH} newly_manual_axes"}),
]


@pytest.mark.parametrize(("program", "name", "parameters"), KNOWN, ids=[k[1] for k in KNOWN])
def test_primitives_that_hold_programs_are_as_they_were(program, name, parameters):
    equation = jax.make_jaxpr(program)(jnp.float32(1)).jaxpr.eqns[-1]
    assert equation.primitive.name == name
    assert set(equation.params) in [set(known.split()) for known in parameters]


def test_the_linear_half_of_a_function_is_told_from_its_value():
    seen = []

    @jax.custom_jvp
    def spy(x):
        return x

    @spy.defjvp
    def _(primals, tangents):
        return primals[0], tangents[0] * 2.0

    def function(x):
        seen.append(jax_compat.current_trace())
        return spy(x)

    jax.grad(jax.jit(function))(1.0)
    assert all(jax_compat.is_staging(trace) for trace in seen)
    assert jax_compat.is_evaluating(jax_compat.current_trace())
    assert jax_compat.eager_if_outermost(jax_compat.current_trace()) is jax_compat.EAGER


def test_a_program_without_checks_is_bound_as_if_there_were_no_hooks():
    calls = []
    spied = jax.extend.core.Primitive("spied")
    spied.def_impl(lambda x, held: calls.append("plain") or x)
    jax_compat.intercept(
        spied, lambda trace, params: params["held"], lambda bind, args, params: calls.append("hook")
    )
    spied.bind(1.0, held=False)
    spied.bind(1.0, held=True)
    assert calls == ["plain", "hook"]


def of_jax(fn, *, kept=1, required): ...


def of_ours(fn, *, kept=1, lost=None, required): ...


def test_options_are_passed_on_where_they_are_not_at_their_default():
    given = jax_compat.options_for(of_jax, of_ours, {"kept": 2, "lost": None, "required": 3})
    assert given == {"kept": 2, "required": 3}
    given = jax_compat.options_for(of_jax, of_ours, {"kept": 1, "lost": None, "required": None})
    assert given == {"required": None}


def test_an_option_that_jax_lost_is_refused_by_name():
    with pytest.raises(TypeError) as caught:
        jax_compat.options_for(of_jax, of_ours, {"kept": 1, "lost": "n", "required": 3})
    assert str(caught.value).splitlines() == [
        f"of_ours has no option 'lost' in JAX {jax.__version__}.",
        "It was given as 'n'; leave it out, or at None.",
    ]
