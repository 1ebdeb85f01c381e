"""Cells: sizes, images, what is refused."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instar.geometry import Cell
from instar.geometry.cell import CellError

SEEDS = st.integers(0, 2**32 - 1)
SKEWED = np.array([[5.0, 0.0, 0.0], [3.0, 4.0, 0.0], [2.0, -1.0, 6.0]])


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def random_cell(rng):
    while True:
        vectors = rng.uniform(-6, 6, (3, 3))
        edges = np.linalg.norm(vectors, axis=1).prod()
        if abs(np.linalg.det(vectors)) > 0.1 * edges:
            return vectors


def shortest(difference, vectors):
    """Among all images that can be as short as half the edges together."""
    far = np.linalg.norm(vectors, axis=1).sum() / 2 + np.linalg.norm(difference, axis=-1).max()
    most = np.ceil(far * np.linalg.norm(np.linalg.inv(vectors), axis=0)).astype(int)
    steps = np.array(list(itertools.product(*(range(-n, n + 1) for n in most))))
    return np.linalg.norm(difference[:, None] + steps @ vectors, axis=-1).min(1)


@given(SEEDS)
def test_sizes_follow_from_the_vectors(seed):
    vectors = random_cell(np.random.default_rng(seed))
    cell = Cell.of(vectors)
    inverse = np.linalg.inv(vectors)
    np.testing.assert_allclose(cell.volume, abs(np.linalg.det(vectors)), rtol=1e-12)
    np.testing.assert_allclose(cell.inverse, inverse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(cell.heights, 1 / np.linalg.norm(inverse, axis=0), rtol=1e-10)


@given(SEEDS)
def test_wrapping_moves_by_whole_cells_along_periodic_axes(seed):
    rng = np.random.default_rng(seed)
    vectors, periodic = random_cell(rng), rng.random(3) < 0.6
    cell, points = Cell.of(vectors, periodic), jnp.asarray(rng.normal(0, 40, (20, 3)))
    inside, cells = cell.wrapped(points)
    np.testing.assert_allclose(inside + np.asarray(cells) @ vectors, points, atol=1e-11)
    fractional = np.asarray(cell.fractional(inside))
    assert np.all((fractional > -1e-12) & (fractional < 1 + 1e-12) | ~periodic)
    assert not np.any(np.asarray(cells)[:, ~periodic])


@given(SEEDS)
def test_the_minimum_image_is_the_shortest_of_all(seed):
    rng = np.random.default_rng(seed)
    vectors = random_cell(rng)
    cell, points = Cell.of(vectors), rng.normal(0, 10, (30, 3))
    right = shortest(points @ np.linalg.inv(vectors) % 1 @ vectors, vectors)
    searched = cell.minimum_image(jnp.asarray(points), search=cell.image_search)
    np.testing.assert_allclose(np.linalg.norm(searched, axis=1), right, rtol=1e-9)
    rounded = np.linalg.norm(cell.minimum_image(jnp.asarray(points)), axis=1)
    near = right <= float(cell.exact_within)
    np.testing.assert_allclose(rounded[near], right[near], rtol=1e-9)


def test_each_difference_may_have_a_cell_of_its_own():
    rng = np.random.default_rng(4)
    vectors, points = np.stack([random_cell(rng) for _ in range(6)]), rng.normal(0, 10, (6, 3))
    found = Cell.of(vectors).minimum_image(jnp.asarray(points), search=(1, 1, 1))
    for k in range(6):
        alone = Cell.of(vectors[k]).minimum_image(jnp.asarray(points[k : k + 1]), search=(1, 1, 1))
        np.testing.assert_allclose(found[k], alone[0], rtol=1e-6)


def test_rounding_alone_is_not_exact_in_a_skewed_cell():
    cell, point = Cell.of([[4.0, 0, 0], [3.6, 2, 0], [0, 0, 4]]), jnp.array([[3.0, 0.9, 0.0]])
    rounded = jnp.linalg.norm(cell.minimum_image(point))
    assert rounded > jnp.linalg.norm(cell.minimum_image(point, search=cell.image_search)) + 0.1


@given(SEEDS, st.floats(0.1, 12))
def test_images_within_reach_are_all_counted(seed, reach):
    rng = np.random.default_rng(seed)
    vectors = random_cell(rng)
    counted = np.asarray(Cell.of(vectors).images_within(reach))
    steps = np.array(list(itertools.product(range(-4, 5), repeat=3)))
    here, there = (rng.random((200, 3)) @ vectors for _ in range(2))
    apart = np.linalg.norm(there[:, None] - here[:, None] + steps @ vectors, axis=-1)
    met = steps[(apart <= reach).any(0)]
    assert np.all(np.abs(met) <= counted)


def test_a_batch_of_cells_is_a_column():
    vectors = np.stack([SKEWED, np.eye(3) * 2])
    cells = Cell.of(vectors, [[True, True, False], [True] * 3])
    np.testing.assert_allclose(cells.volume, [120, 8])
    np.testing.assert_allclose(cells.images_within(jnp.array([3.0, 3.0])), [[1, 1, 0], [2, 2, 2]])


def test_straight_cells_are_known_to_be_straight():
    assert Cell.box([1.0, 2, 3]).orthorhombic
    assert Cell.of(np.eye(3) * [[1], [-2], [3]]).orthorhombic
    assert not Cell.of(SKEWED).orthorhombic
    straight, general = Cell.box([3.0, 4, 5]), Cell.of(np.diag([3.0, 4, 5]))
    general = Cell(general.vectors, general.periodic, general.bounded, orthorhombic=False)
    points = jnp.asarray(np.random.default_rng(0).normal(0, 9, (10, 3)))
    np.testing.assert_allclose(straight.wrapped(points)[0], general.wrapped(points)[0], atol=1e-12)
    np.testing.assert_allclose(straight.heights, general.heights)


def test_space_without_an_end_has_no_finite_volume():
    assert np.isinf(Cell.open(2).volume).all()
    slab = Cell.of([[3.0, 1, 0], [0, 3, 0], [0, 0, 0]], [True, True, False])
    assert np.isinf(slab.volume)
    np.testing.assert_allclose(slab.vectors[2], [0, 0, 1], atol=1e-14)


def test_the_volume_is_differentiable_by_strain():
    cell = Cell.of(SKEWED)
    slope = jax.grad(lambda e: cell.strained(e).volume)(jnp.zeros((3, 3)))
    np.testing.assert_allclose(slope, 120 * np.eye(3), atol=1e-9)


@pytest.mark.parametrize(
    ("vectors", "periodic", "why"),
    [
        ([[1.0, 0, 0], [2, 0, 0], [0, 0, 1]], True, "lie in one plane"),
        ([[1.0, 0, 0], [0, 1, 0], [0, 0, 0]], True, "length zero"),
        ([[1.0, 0, 0], [0, np.nan, 0], [0, 0, 1]], True, "not finite"),
        ([1.0, 2.0], True, "Cell.box"),
    ],
)
def test_what_is_no_cell_is_refused(vectors, periodic, why):
    with pytest.raises(CellError, match=why):
        Cell.of(vectors, periodic)


def test_the_cell_that_is_wrong_is_named():
    with pytest.raises(CellError, match=r"\(system 1\)"):
        Cell.of(np.stack([np.eye(3), np.ones((3, 3))]))


def test_traced_vectors_are_refused_with_advice():
    with pytest.raises(TypeError, match="with_vectors"):
        jax.jit(Cell.of)(jnp.eye(3))


def test_a_tilted_open_vector_makes_the_exact_search_refuse():
    cell = Cell.of([[3.0, 0, 0], [0, 3, 0], [1, 0, 3]], [True, True, False])
    with pytest.raises(CellError, match="orthogonal"):
        _ = cell.image_search
