"""Points of images by the kernel are those of the JAX code, and so are their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar import kernels
from instar.geometry import Cell
from instar.kernels.choice import by_platform
from instar.neighbors.images import FAR, Images
from instar.potentials.pair_kernel import points_by_kernel
from instar.potentials.pair_sum import _points

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SKEWED = np.array([[5.0, 0, 0], [1.2, 4.5, 0], [-0.7, 0.3, 6.1]])


def located(systems, dtype, images=50, particles=9, seed=0):
    """Particles anywhere, and images of them a few cells away; some rows are nowhere."""
    rng = np.random.default_rng(seed)
    vectors = SKEWED * rng.uniform(0.9, 1.1, (systems, 1, 1))
    owner = rng.integers(0, particles + 1, images)
    owner[0] = particles
    return (
        jnp.asarray(rng.uniform(-9, 9, (particles, 3)), dtype),
        jnp.asarray(rng.integers(0, systems + 1, particles), jnp.int32),  # some are absent
        Cell.of(vectors.astype(dtype)),
        Images(
            jnp.asarray(owner, jnp.int32), jnp.asarray(rng.integers(-3, 4, (images, 3)), jnp.int32)
        ),
    )


def points(given):
    return by_platform(points_by_kernel, _points, given) if kernels.in_use() else _points(given)


@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_points_of_kernel_and_jax_agree_to_rounding(systems, dtype):
    with jax.enable_x64(dtype == np.float64):
        given = located(systems, dtype)
        found, expected = jax.jit(points)(given), jax.jit(_points)(given)
        nowhere = np.asarray(given[3].owner) == 9
        assert nowhere.sum() > 1
        np.testing.assert_array_equal(found[nowhere], [[FAR, FAR, FAR, 0]] * nowhere.sum())
        bound = 50 * np.finfo(dtype).eps  # |r| + Σ |shift·A| is below 50 Å
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)
        assert np.abs(expected[~nowhere]).max() > 9


def test_derivatives_of_points_are_those_of_the_jax_code():
    with jax.enable_x64(True):
        positions, system, cell, images = located(2, np.float64)

        def slopes(way):
            def total(positions, cell):
                return jnp.sum(jnp.sin(way((positions, system, cell, images))[1:]))

            return jax.grad(total, (0, 1), allow_int=True)(positions, cell)

        found, expected = jax.tree.map(np.asarray, (slopes(points), slopes(_points)))
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1].vectors, expected[1].vectors, rtol=1e-9, atol=1e-12)


def test_a_batch_of_points_is_points_one_by_one():
    with jax.enable_x64(True):
        positions, *rest = located(2, np.float64)
        many = jnp.stack([positions, 2 * positions])
        together = jax.jit(jax.vmap(lambda one: points((one, *rest))))(many)
        alone = [jax.jit(lambda one: points((one, *rest)))(one) for one in many]
        np.testing.assert_array_equal(together, alone)
