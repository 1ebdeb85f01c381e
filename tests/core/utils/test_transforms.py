import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.core.utils.jax import (
    NotJaxCompatibleError,
    is_traced,
    isin,
    key_chain,
    linearize,
    no_jax_tracing,
    non_differentiable,
    sequential_vmap_with_vjp,
)


def test_linearize_with_and_without_aux():
    out, jvp = linearize(lambda x: x**2, 3.0)
    assert (out, jvp(1.0)) == (9.0, 6.0)
    out, jvp, aux = linearize(lambda x: (x**2, "aux"), 3.0, has_aux=True)
    assert (out, jvp(1.0), aux) == (9.0, 6.0, "aux")


def test_is_traced_looks_at_every_leaf():
    seen = []
    jax.jit(lambda x: seen.append((is_traced({"a": (1, x)}), is_traced((1, 2)))))(1.0)
    assert seen == [(True, False)]
    assert not is_traced(jnp.ones(2))


def test_no_jax_tracing_names_the_function():
    @no_jax_tracing
    def on_host(x: float) -> float:
        return x

    assert on_host(2.0) == 2.0
    with pytest.raises(NotJaxCompatibleError, match="on_host works on the host"):
        jax.jit(on_host)(1.0)
    assert issubclass(NotJaxCompatibleError, TypeError)


@pytest.mark.parametrize(
    "differentiate",
    [
        jax.grad,
        lambda f: lambda x: jax.jvp(f, (x,), (x,)),
        lambda f: lambda x: jax.vjp(f, x),
        lambda f: lambda x: jax.linearize(f, x),
        lambda f: jax.jit(jax.grad(f)),
        lambda f: lambda x: jax.vmap(jax.grad(f))(x[None]),
    ],
)
def test_non_differentiable_refuses_every_derivative(differentiate):
    def f(x):
        return 2.0 * non_differentiable({"x": x})["x"]

    assert f(3.0) == 6.0
    assert jax.jit(f)(3.0) == 6.0
    np.testing.assert_array_equal(jax.vmap(f)(jnp.ones(2)), [2.0, 2.0])
    with pytest.raises(NotImplementedError):
        differentiate(f)(jnp.asarray(1.0))


def test_sequential_vmap_with_vjp_matches_plain_vmap():
    def energy(x, weights, n):
        return jnp.sum(jnp.sin(x) * weights["w"]) * n

    sequential = sequential_vmap_with_vjp(energy)
    x = jnp.linspace(0.0, 1.0, 12).reshape(4, 3)
    weights = {"w": jnp.arange(12.0).reshape(4, 3)}
    n = jnp.arange(1, 5).astype(float)
    np.testing.assert_allclose(
        jax.vmap(sequential)(x, weights, n), jax.vmap(energy)(x, weights, n), rtol=1e-6
    )
    for argnums in (0, 1):
        ours = jax.vmap(jax.grad(sequential, argnums))(x, weights, n)
        plain = jax.vmap(jax.grad(energy, argnums))(x, weights, n)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), ours, plain)


def test_sequential_vmap_takes_integer_arguments():
    pick = sequential_vmap_with_vjp(lambda x, i: x[i] ** 2)
    x = jnp.arange(6.0).reshape(2, 3)
    gradient = jax.vmap(jax.grad(pick))(x, jnp.array([1, 2]))
    np.testing.assert_array_equal(gradient, [[0.0, 2.0, 0.0], [0.0, 0.0, 10.0]])


def test_sequential_vmap_has_second_derivatives_and_takes_keywords():
    cube = sequential_vmap_with_vjp(lambda x, power: jnp.sum(x**power))
    x = jnp.array([1.0, 2.0])
    hessian = jax.jacrev(jax.grad(lambda x: cube(x, power=3.0)))(x)
    np.testing.assert_allclose(hessian, np.diag([6.0, 12.0]), rtol=1e-6)
    batched = jax.vmap(jax.jacrev(jax.grad(lambda x: cube(power=3.0, x=x))))(x[None])
    np.testing.assert_allclose(batched[0], hessian, rtol=1e-6)


def test_sequential_vmap_keeps_every_keyword():
    line = sequential_vmap_with_vjp(lambda x, a=1.0, b=10.0: x * a + b)
    assert line(2.0, b=0.0) == 2.0
    assert line(2.0) == 12.0

    def scaled(x, *, by=1.0):
        return x * by

    with pytest.raises(TypeError, match="has keyword-only arguments, which can't be batched"):
        sequential_vmap_with_vjp(scaled)(2.0, by=5.0)


def test_sequential_vmap_runs_one_entry_at_a_time():
    loop = jax.make_jaxpr(jax.vmap(sequential_vmap_with_vjp(lambda x: x @ x)))(jnp.ones((4, 2, 2)))
    assert "scan" in str(loop)


def test_isin_matches_numpy_and_ignores_what_is_out_of_range():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 50, (3, 4)), rng.integers(0, 50, 7)
    found = isin(jnp.asarray(a), jnp.asarray(b), 50)
    np.testing.assert_array_equal(found, np.isin(a, b))
    edge = isin(jnp.array([-1, 0, 5, 9]), jnp.array([-1, 5, 9]), 5)
    np.testing.assert_array_equal(edge, [False] * 4)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32"])
def test_isin_for_every_integer_type(dtype):
    a, b = np.array([1, 2, 100], dtype), np.array([2, 100], dtype)
    for max_item in (101, 127, 200, 256, 70_000):
        assert isin(a, b, max_item).tolist() == [False, True, True]
    assert isin([1, 2], [2], 3).tolist() == [False, True]
    assert isin(np.array([2**32 + 1]), np.array([1]), 5).tolist() == [False]


def test_key_chain_is_reproducible_and_never_repeats():
    first = list(itertools.islice(key_chain(jax.random.key(0)), 5))
    again = list(itertools.islice(key_chain(jax.random.key(0)), 5))
    data = [tuple(np.asarray(jax.random.key_data(key))) for key in first]
    assert len(set(data)) == 5
    assert data == [tuple(np.asarray(jax.random.key_data(key))) for key in again]
    assert next(key_chain(jax.random.key(0), (2, 3))).shape == (2, 3)
    assert next(key_chain(jax.random.PRNGKey(0), np.int64(4))).shape == (4, 2)
    np.testing.assert_array_equal(
        jax.random.key_data(first[3]), jax.random.key_data(jax.random.fold_in(jax.random.key(0), 3))
    )


def test_key_chain_takes_seed_zero_for_a_seed():
    zero, one = next(key_chain(jax.random.key(0))), next(key_chain(jax.random.key(1)))
    assert not np.array_equal(jax.random.key_data(zero), jax.random.key_data(one))


def test_installed_jax_compiles_matrix_vector_norms_correctly():
    """JAX 0.10.2 doesn't (docs/decisions.md); a release that does so again must not go unseen."""
    with jax.enable_x64(True):
        x = np.zeros((20000, 3))
        x[:, 0] = np.arange(20000)
        norms = jax.jit(lambda x, m: (jnp.einsum("ij,nj->in", m, x) ** 2).sum(0))
        np.testing.assert_array_equal(norms(x, np.eye(3)), x[:, 0] ** 2)
