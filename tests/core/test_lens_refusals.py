"""What lenses refuse, and in which words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core.lens_states import STATE, Node, State

from instar.core.data import Index
from instar.core.lens import (
    LensError,
    identity_lens,
    lens,
)


def test_rows_refuse_negative_numbers_and_masks():
    weights = lens(lambda s: s.weights)
    with pytest.raises(LensError, match=r"Row numbers must not be negative: -1"):
        weights.at(-1)
    with pytest.raises(LensError, match="Rows are named by an Index or by integers"):
        weights.at(jnp.array([True, False]))


NOT_A_PATH = "The function of a lens must describe a path, like lambda s: s.particles.data."


@pytest.mark.parametrize(
    "computed",
    [
        lambda s: s.x + 1,
        lambda s: 2 * s.x,
        lambda s: -s.x,
        lambda s: s.a if s.x else s.b,
        lambda s: s.a if s.x > 0 else s.b,
        lambda s: s.x.sum(),
        lambda s: jnp.sin(s.x),
        lambda s: np.sin(s.x),
        lambda s: len(s.x),
        lambda s: [v for v in s.x],  # noqa: C416
        lambda s: (s.x, 3),
        lambda s: None,
        lambda s: 0 in s.x,
        lambda s: s.x == s.y,
        lambda s: float(s.x),
    ],
)
def test_a_computed_focus_is_refused(computed):
    with pytest.raises(LensError) as caught:
        lens(computed)
    assert str(caught.value).splitlines()[0] == NOT_A_PATH
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("make", "first_line"),
    [
        (
            lambda: lens(lambda s: (s.a, s.a.b)),
            "Lens paths overlap: state.a and state.a.b.",
        ),
        (
            lambda: lens(lambda s: s.a["k"]).merge(lens(lambda s: s.a["k"].c)),
            "Lens paths overlap: state.a['k'] and state.a['k'].c.",
        ),
        (
            lambda: lens(lambda s: s.a).at(1).merge(lens(lambda s: s.a).at(2)),
            "Lens paths overlap: state.a and state.a.",
        ),
        (
            lambda: lens(lambda s: (s.a[0], s.a[-1])),
            "Lens paths overlap: state.a[0] and state.a[-1].",
        ),
        (
            lambda: lens(lambda s: (s.x, s.point.x)).set(STATE, (1.0, 2.0)),
            "Lens paths overlap: state.point.x and state.point.x.",
        ),
    ],
)
def test_overlapping_places_are_refused_with_both_paths(make, first_line):
    with pytest.raises(ValueError, match="Lens paths overlap") as caught:
        make()
    assert str(caught.value).splitlines()[0] == first_line


def test_what_cant_be_written_is_named():
    with pytest.raises(LensError, match="Z has no field 'z' to set"):
        lens(lambda s: s.z).set(type("Z", (Node,), {"z": 1})(1, 2), 2)
    with pytest.raises(LensError, match="Can't set attribute 'real' of a int"):
        lens(lambda s: s.real).set(3, 2)
    with pytest.raises(LensError, match=r"Can't set item \[0\] of a str"):
        lens(lambda s: s[0]).set("abc", "x")
    with pytest.raises(AttributeError, match="nothing"):
        lens(lambda s: s.nothing).get(STATE)
    with pytest.raises(KeyError):
        lens(lambda s: s["missing"]).set({"a": 1}, 2)


def test_an_index_on_plain_arrays_must_be_one_over_exactly_these_rows():
    five = identity_lens().at(Index((0, 1), [0, 2]))
    with pytest.raises(LensError, match="An Index of 2 keys can't name rows of an array of 5"):
        five.set(jnp.zeros(5), 1.0)
    pair = identity_lens().at(Index((0, 1), [0, 9]))
    assert pair.set(jnp.zeros(2), 1.0).tolist() == [1.0, 0.0]
    negative = jax.jit(lambda raw: identity_lens().at(Index((0, 1), raw)).set(jnp.zeros(2), 1.0))
    assert negative(jnp.array([-1])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "computed",
    [
        lambda s: s.table[s.index],
        lambda s: s.x[: s.n],
        lambda s: s.x[0, s.n],
        lambda s: s.d[f"{s.name}"],
        lambda s: s.d[str(s.n)],
        lambda s: {s.a: s.b},
    ],
)
def test_a_part_of_the_state_as_an_item_is_no_path(computed):
    with pytest.raises(LensError, match="must describe a path"):
        lens(computed)


def test_rows_that_an_array_does_not_have():
    beyond = lens(lambda s: s.weights[7])
    for use in (lambda: beyond.get(STATE), lambda: beyond.set(STATE, 1.0)):
        with pytest.raises(IndexError, match=r"No state.weights\[7\]: "):
            use()


def test_a_missing_part_is_named_by_its_path():
    with pytest.raises(AttributeError, match=r"^No state.point.z: "):
        lens(lambda s: s.point.z).get(STATE)
    with pytest.raises(KeyError, match=r"No state\['a'\]\['b'\]: b"):
        lens(lambda s: s["a"]["b"]).set({"a": {}}, 1)
    with pytest.raises(LensError, match=r"^State has no field 'masses'\."):
        lens(lambda s: s.masses, cls=State)
