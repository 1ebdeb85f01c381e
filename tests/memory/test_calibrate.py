import jax
import jax.numpy as jnp
import pytest
from support import raises

from instar.memory import Programs, calibrate, plan
from instar.memory.footprint import Footprint
from instar.statefunc import MemHint


def frames(frames):
    return (jax.ShapeDtypeStruct((frames, 100, 3), jnp.float32),)


def square(size):
    return (jax.ShapeDtypeStruct((size, 4), jnp.float32),)


def widened(x):
    return jnp.sort(x[..., None] * jnp.arange(8, dtype=x.dtype)[None, None, None], axis=0)


def product(x):
    return x @ x.T


def test_a_line_through_two_sizes_predicts_a_third():
    found = calibrate(widened, frames, frames=(64, 256))
    assert found.linear
    exact = Programs(widened).need(*frames(1000)).bytes
    assert found.bytes({"frames": 1000}) == pytest.approx(exact, rel=0.01)
    assert found.exact is not None
    assert found.exact({"frames": 1000}) == exact


def test_two_measures_are_told_apart():
    def arguments(systems, atoms):
        return (
            jax.ShapeDtypeStruct((systems, 50), jnp.float32),
            jax.ShapeDtypeStruct((atoms, 3), jnp.float32),
        )

    found = calibrate(lambda s, a: (s * 2, a + 1), arguments, systems=(100, 200), atoms=(300, 600))
    assert found.per["systems"] == pytest.approx(2 * 50 * 4, rel=1e-3)
    assert found.per["atoms"] == pytest.approx(2 * 3 * 4, rel=1e-3)


def test_what_grows_with_the_square_is_no_line():
    assert not calibrate(product, square, size=(256, 1024)).linear


def test_a_plan_without_a_line_is_found_by_compiling():
    found = calibrate(product, square, size=(256, 1024))
    made = plan(found, {"size": [100] * 100}, "60 MiB")
    (shape,) = made.shapes
    assert shape.bytes == Programs(product).need(*square(**shape.sizes)).bytes
    assert 0.6 * made.limit <= shape.bytes <= made.limit


def test_a_hint_is_a_footprint_without_compiling():
    found = Footprint.of_hint(MemHint(1000, 500))
    assert found.bytes({"frames": 3}) == 3500
    assert found.exact is None


def test_sizes_must_differ():
    with raises(
        ValueError, "frames is calibrated between two sizes, the smaller first; not (8, 8)."
    ):
        calibrate(widened, frames, frames=(8, 8))
