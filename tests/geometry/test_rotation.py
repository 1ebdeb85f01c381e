"""Unit quaternions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.geometry import Rotation


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


IDENTITY = np.tile(np.eye(3), (50, 1, 1))


def some(seed, count=50):
    return Rotation.random(jax.random.key(seed), count)


def test_matrices_are_rotations_and_come_back():
    matrix = np.asarray(some(0).matrix)
    np.testing.assert_allclose(matrix @ matrix.transpose(0, 2, 1), IDENTITY, atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(matrix), 1, atol=1e-14)
    np.testing.assert_allclose(Rotation.from_matrix(jnp.asarray(matrix)).matrix, matrix, atol=1e-14)


@pytest.mark.parametrize("axis", np.eye(3))
def test_half_turns_come_back_from_their_matrix(axis):
    turned = Rotation.about(jnp.asarray(axis), np.pi)
    np.testing.assert_allclose(
        Rotation.from_matrix(turned.matrix).matrix, turned.matrix, atol=1e-14
    )


def test_one_after_the_other_is_the_product_of_matrices():
    first, second = some(1), some(2)
    np.testing.assert_allclose(second.after(first).matrix, second.matrix @ first.matrix, atol=1e-14)
    np.testing.assert_allclose(first.inverse.after(first).matrix, IDENTITY, atol=1e-14)


def test_a_quarter_turn_about_z_takes_x_to_y():
    turned = Rotation.about(jnp.array([0.0, 0, 2]), np.pi / 2).apply(jnp.array([1.0, 0, 0]))
    np.testing.assert_allclose(turned, [0, 1, 0], atol=1e-15)


def test_small_rotations_are_differentiable_at_zero():
    turn = jax.jacobian(lambda w: Rotation.from_vector(w).apply(jnp.array([1.0, 2.0, 3.0])))
    cross = np.cross(np.eye(3), [1.0, 2, 3]).T
    np.testing.assert_allclose(turn(jnp.zeros(3)), cross, atol=1e-12)
    vector = jnp.array([0.3, -0.4, 0.5])
    axis = Rotation.about(vector, jnp.linalg.norm(vector))
    np.testing.assert_allclose(Rotation.from_vector(vector).matrix, axis.matrix, atol=1e-14)


def test_random_rotations_are_uniform():
    mean = np.asarray(some(3, 20000).matrix).mean(0)
    assert np.abs(mean).max() < 5 / np.sqrt(3 * 20000)
