"""`jit`, `vectorize` and `shard_map`: each option is written out, and has its effect."""

import doctest
import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from support import raises, shown_signature

from instar.core.utils import wrappers
from instar.core.utils.jax import jit, shard_map, vectorize

ROWS, WHOLE = PartitionSpec("rows"), PartitionSpec()


def mesh_of(*names: str, kind: AxisType = AxisType.Auto) -> jax.sharding.Mesh:
    shape = (2,) + (1,) * (len(names) - 1)
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(names))


def raised(function, *arguments) -> str:
    """The message of what a call raises; nothing where it succeeds."""
    try:
        function(*arguments)
    except Exception as error:  # whatever JAX raises
        return str(error)
    return ""


# Signatures -------------------------------------------------------------------------------

SIGNATURES = {
    jit: """(fn=None, *, in_shardings=UnspecifiedValue, out_shardings=UnspecifiedValue,
        static_argnums=None, static_argnames=None, donate_argnums=None, donate_argnames=None,
        keep_unused=False, device=None, backend=None, inline=False, abstracted_axes=None,
        compiler_options=None)""",
    vectorize: "(pyfunc=None, *, excluded=frozenset(), signature=None)",
    shard_map: """(f, /, *, out_specs, in_specs=None, mesh=None, axis_names=frozenset(),
        check_vma=True)""",
}
THEIRS = {jit: jax.jit, vectorize: jnp.vectorize, shard_map: jax.shard_map}


def options_of(function) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.parametrize("function", SIGNATURES)
def test_every_option_is_shown_by_name(function):
    assert shown_signature(function) == " ".join(SIGNATURES[function].split())


@pytest.mark.parametrize("function", THEIRS)
def test_defaults_are_those_of_jax_and_no_option_of_jax_is_missing(function):
    ours, theirs = options_of(function), options_of(THEIRS[function])
    theirs.pop("in_specs", None)  # left out it is inferred, for which JAX has a name of its own
    assert {name: ours[name] for name in theirs} == theirs


def test_examples_of_the_docstrings_run():
    found = doctest.testmod(wrappers)
    assert (found.failed, found.attempted) == (0, 9)


# jit --------------------------------------------------------------------------------------


def on_two_devices(compiled):
    return len(compiled(jnp.arange(4.0)).devices()) == 2


def repeats(compiled):
    return raised(compiled, jnp.ones(2), 3) == ""


def takes_over_memory(compiled):
    x = jnp.arange(4.0)
    compiled(x)
    return x.is_deleted()


def has_two_arguments(compiled):
    return "%arg1" in compiled.lower(1.0, 2.0).as_text()


def is_inlined(compiled):
    return "call @" not in jax.jit(lambda x: compiled(x) + 1).lower(1.0).as_text()


def identity(x):
    return x


def double(x):
    return 2 * x


def repeat(x, n):
    return jnp.tile(x, n)


def first(x, y):
    return x


SPLIT = NamedSharding(mesh_of("rows"), ROWS)
EFFECTS = {
    "in_shardings": (double, SPLIT, on_two_devices),
    "out_shardings": (double, SPLIT, on_two_devices),
    "static_argnums": (repeat, 1, repeats),
    "static_argnames": (repeat, ("n",), repeats),
    "donate_argnums": (double, 0, takes_over_memory),
    "donate_argnames": (double, "x", takes_over_memory),
    "keep_unused": (first, True, has_two_arguments),
    "device": (double, jax.devices()[1], lambda f: f(1.0).devices() == {jax.devices()[1]}),
    "backend": (double, "abacus", lambda f: "abacus" in raised(f, 1.0)),
    "inline": (double, True, is_inlined),
    "compiler_options": (double, {"xla_no_such": 1}, lambda f: "xla_no_such" in raised(f, 1.0)),
}


@pytest.mark.filterwarnings("ignore:backend and device argument on jit is deprecated")
@pytest.mark.parametrize("option", EFFECTS)
def test_each_option_of_jit_has_its_effect(option):
    function, value, has_effect = EFFECTS[option]
    assert has_effect(jit(function, **{option: value}))
    assert has_effect(jit(**{option: value})(function))
    assert not has_effect(jit(function))


def test_no_option_of_jit_is_without_a_test_of_its_effect():
    assert {*EFFECTS, "abstracted_axes"} == set(options_of(jit))


def test_jit_bare_and_with_arguments_keeps_name_and_signature():
    @jit
    def double(x: jax.Array, *, scale: float = 2.0) -> jax.Array:
        return x * scale

    assert double.__name__ == "double"
    assert list(inspect.signature(double).parameters) == ["x", "scale"]
    np.testing.assert_array_equal(double(jnp.ones(2)), [2.0, 2.0])
    assert "stablehlo" in double.lower(jnp.ones(2)).as_text()
    assert jit(fn=identity)(3) == 3


def test_jit_accepts_all_its_options_at_their_defaults():
    assert jit(identity, **options_of(jit))(1) == 1


def test_jit_refuses_an_option_that_jax_lost():
    lost = f"jit has no option 'abstracted_axes' in JAX {jax.__version__}."
    with raises(TypeError, lost):
        jit(identity, abstracted_axes=("n",))
    with raises(TypeError, lost):
        jit(abstracted_axes=("n",))
    with pytest.raises(TypeError, match=r"given as \('n',\); leave it out, or at None\.$"):
        jit(identity, abstracted_axes=("n",))


def test_jit_refuses_an_option_that_jax_never_had():
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'statik'"):
        jit(identity, statik=1)


# vectorize --------------------------------------------------------------------------------


def test_a_vectorized_function_takes_scalars_or_what_its_signature_says():
    def squared_norm(x):
        return jnp.sum(x * x)

    x = jnp.full((4, 9), 2.0)
    assert vectorize(squared_norm)(x).shape == (4, 9)
    assert vectorize(squared_norm, signature="(n)->()")(x).tolist() == [36.0] * 4
    assert vectorize(signature="(n)->()")(squared_norm)(x).shape == (4,)
    assert vectorize(pyfunc=squared_norm).__name__ == "squared_norm"


@pytest.mark.parametrize("excluded", [{"factors"}, ("factors",), "factors"])
def test_what_is_excluded_is_not_broadcast(excluded):
    def scaled(x, factors):
        return x * sum(factors)

    assert vectorize(scaled, excluded=excluded)(jnp.ones(2), factors=(1.0, 2.0)).tolist() == [3, 3]
    assert vectorize(scaled, excluded=[1])(jnp.ones(2), (1.0, 2.0)).tolist() == [3, 3]
    assert raised(vectorize(scaled), jnp.ones(2), (1.0, 2.0))


# shard_map --------------------------------------------------------------------------------


def test_shards_are_split_and_put_together_as_the_specs_say():
    shapes = []

    def seen(x):
        shapes.append(x.shape)
        return x

    x, mesh = jnp.arange(4.0), mesh_of("rows")
    assert shard_map(seen, out_specs=ROWS, in_specs=ROWS, mesh=mesh)(x).tolist() == x.tolist()
    assert shard_map(seen, out_specs=WHOLE, in_specs=WHOLE, mesh=mesh)(x).tolist() == x.tolist()
    assert shard_map(seen, out_specs=ROWS, in_specs=WHOLE, mesh=mesh)(x).shape == (8,)
    assert shapes == [(2,), (4,), (4,)]


def test_without_specs_and_mesh_arguments_are_split_as_they_come():
    shapes = []

    def seen(x):
        shapes.append(x.shape)
        return x

    with jax.set_mesh(mesh_of("rows", kind=AxisType.Explicit)):
        shard_map(seen, out_specs=ROWS)(jax.device_put(jnp.arange(4.0), ROWS))
        shard_map(seen, out_specs=WHOLE)(jax.device_put(jnp.arange(4.0), WHOLE))
    assert shapes == [(2,), (4,)]
    assert "mesh" in raised(shard_map(seen, out_specs=ROWS, in_specs=ROWS), jnp.arange(4.0))


def test_only_the_named_axes_are_split_over():
    mesh = mesh_of("rows", "columns")
    options = {"out_specs": ROWS, "in_specs": ROWS, "mesh": mesh}

    def summed(x):
        return x + jax.lax.psum(1.0, "columns")

    x = jnp.arange(4.0)
    assert raised(jit(shard_map(summed, **options)), x) == ""
    assert "columns" in raised(jit(shard_map(summed, axis_names={"rows"}, **options)), x)


def test_results_that_differ_between_shards_are_refused_unless_told_not_to_check():
    mesh = mesh_of("rows")
    options = {"out_specs": WHOLE, "in_specs": ROWS, "mesh": mesh}
    x = jnp.arange(4.0)
    assert "out_specs" in raised(shard_map(identity, **options), x)
    assert shard_map(identity, check_vma=False, **options)(x).shape == (2,)


def test_shard_map_decorates_with_its_options_bound():
    @functools.partial(shard_map, mesh=mesh_of("rows"), in_specs=ROWS, out_specs=ROWS)
    def doubled(x: jax.Array) -> jax.Array:
        return x * 2

    assert doubled.__name__ == "doubled"
    assert doubled(jnp.arange(4.0)).tolist() == [0.0, 2.0, 4.0, 6.0]
