from collections import defaultdict, namedtuple
from dataclasses import InitVar
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from core.lens_states import STATE, Node, Point, State
from hypothesis import given
from hypothesis import strategies as st

from instar.core.data import Index, Table
from instar.core.lens import (
    HasLensFields,
    LensError,
    LensField,
    bind,
    const_lens,
    identity_lens,
    lens,
    view,
)
from instar.core.utils.jax import dataclass, field

Pair = namedtuple("Pair", ["left", "right"])


# Laws over random states ------------------------------------------------------------------

numbers = st.integers(-5, 5)
states = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.builds(Node, inner, inner),
        st.builds(Pair, inner, inner),
        st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
        st.lists(inner, min_size=1, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=12,
)


def steps_of(state: Any) -> list[Any]:
    match state:
        case Node():
            return [lambda s: s.value, lambda s: s.child]
        case Pair():
            return [lambda s: s.left, lambda s: s.right]
        case dict():
            return [lambda s, k=k: s[k] for k in state]
        case list() | tuple():
            return [lambda s, i=i: s[i] for i in range(len(state))]
        case _:
            return []


def focus_into(state: Any, choices: list[int]) -> Any:
    """The lens that a list of choices leads to, one step after the other."""
    focus, part = identity_lens(), state
    for choice in choices:
        if steps := steps_of(part):
            step = steps[choice % len(steps)]
            focus, part = focus.focus(step), step(part)
    return focus


choices = st.lists(st.integers(0, 5), max_size=5)


@given(states, choices, states)
def test_get_after_set_gives_what_was_set(state, choices, value):
    focus = focus_into(state, choices)
    assert focus.get(focus.set(state, value)) == value


@given(states, choices)
def test_setting_what_is_there_changes_nothing(state, choices):
    focus = focus_into(state, choices)
    assert focus.set(state, focus.get(state)) == state


@given(states, choices, states, states)
def test_the_last_set_wins(state, choices, first, second):
    focus = focus_into(state, choices)
    assert focus.set(focus.set(state, first), second) == focus.set(state, second)


@given(states, choices, states)
def test_setting_never_mutates(state, choices, value):
    focus = focus_into(state, choices)
    before = repr(state)
    focus.set(state, value)
    assert repr(state) == before


@given(states, choices)
def test_a_lens_is_equal_to_one_made_from_the_same_path(state, choices):
    focus = focus_into(state, choices)
    again = identity_lens()
    (path,) = focus.paths
    for step in path:
        again = again.focus(step.read)
    assert again == focus
    assert hash(again) == hash(focus)


# Ways to make and use one -----------------------------------------------------------------


def test_call_reads_and_writes():
    x = lens(lambda s: s.point.x, cls=State)
    assert x(STATE) == 1.0
    assert x(STATE, 7.0).point.x == 7.0
    assert x.apply(STATE, lambda v: v + 1).point.x == 2.0
    assert STATE.point.x == 1.0


def test_several_places_at_once_in_any_tree():
    pair = lens(lambda s: {"a": s.point.x, "b": [s.point.y, s.weights]}, cls=State)
    assert pair.get(STATE)["b"][0] == 3.0
    changed = pair.set(STATE, {"a": 5.0, "b": [6.0, jnp.ones(2)]})
    assert (changed.point.x, changed.point.y, changed.weights.shape) == (5.0, 6.0, (2,))
    with pytest.raises(LensError, match="must have the structure"):
        pair.set(STATE, (1, 2))


def test_nest_merge_focus_and_bind():
    point = lens(lambda s: s.point, cls=State)
    x = lens(lambda p: p.x, cls=Point)
    assert point.nest(x) == lens(lambda s: s.point.x, cls=State)
    merged = point.nest(x).merge(lens(lambda s: s.weights, cls=State))
    assert merged.set(STATE, (9.0, 0)).weights == 0
    assert merged.focus(lambda pair: pair[0]).set(STATE, 4.0).point.x == 4.0
    assert bind(STATE).focus(lambda s: s.point.name).set("q").point.name == "q"
    assert bind(STATE, lambda s: s.point.x).get() == 1.0
    assert bind(STATE, x_of_state := lens(lambda s: s.point.x))() == 1.0
    assert x_of_state.bind(STATE)(8.0).point.x == 8.0
    assert bind(STATE).nest(point).merge(lens(lambda s: s.weights)).get()[0] is STATE.point
    assert bind(STATE, lambda s: s.point.x).apply(lambda v: -v).point.x == -1.0


def test_identity_const_and_view():
    assert identity_lens(State).get(STATE) is STATE
    assert identity_lens(State).set(STATE, 3) == 3
    assert const_lens(5).get(STATE) == 5
    with pytest.raises(LensError, match="A constant can't be set"):
        const_lens(5).set(STATE, 6)
    total = view(lambda s: s.point.x + s.point.y)
    assert total(STATE) == 4.0
    assert total.focus(lambda t: t * 2).get(STATE) == 8.0
    for reader in (total, total.focus(lambda t: t * 2)):
        with pytest.raises(LensError, match="A view is read only"):
            reader.set(STATE, 1.0)


def test_class_attributes_are_lenses_and_instance_attributes_values():
    assert Point.x == lens(lambda p: p.x, cls=Point)
    assert Point.y.set(Point(1.0), 5.0).y == 5.0
    assert Point(1.0).y == 3.0
    assert State.point.focus(lambda p: p.x) == lens(lambda s: s.point.x, cls=State)
    assert State.x.get(STATE) == 1.0 == STATE.x
    assert State.both.set(STATE, (7.0, 8.0)).point == Point(7.0, 8.0)
    assert lens(lambda s: s.x).set(STATE, 2.0).point.x == 2.0


def test_rows_through_integers_and_indices_drop_out_of_bounds():
    rows = lens(lambda s: s.weights).at(jnp.array([1, 9]))
    np.testing.assert_array_equal(rows.get(STATE), [1.0, 0.0])
    np.testing.assert_array_equal(rows.set(STATE, jnp.array([5.0, 6.0])).weights, [0, 5, 2, 3])
    index = Index.integer([0, 4], n=4)
    np.testing.assert_array_equal(
        bind(STATE).focus(lambda s: s.weights).at(index).set(jnp.float32(7)).weights, [7, 1, 2, 3]
    )


def test_rows_of_a_table_inside_a_state():
    table = Table.arange({"a": jnp.zeros(3), "b": jnp.ones(3)})
    rows = lens(lambda s: s["table"]).at(Index.integer([2], n=3))
    first = rows.focus(lambda data: data["a"])
    changed = first.set({"table": table}, jnp.array([4.0]))["table"]
    np.testing.assert_array_equal(changed.data["a"], [0, 0, 4])
    np.testing.assert_array_equal(changed.data["b"], [1, 1, 1])
    whole = lens(lambda s: s["table"][Index.integer([0], n=3)])
    assert whole.get({"table": table})["b"].shape == (1,)
    new = {"a": jnp.array([8.0]), "b": jnp.array([9.0])}
    np.testing.assert_array_equal(whole.set({"table": table}, new)["table"].data["a"], [8, 0, 0])


def test_rows_of_several_tables_follow_each_tables_own_keys():
    state = (Table(("a", "b"), jnp.array([1.0, 2.0])), Table(("b", "c"), jnp.array([3.0, 4.0])))
    rows = lens(lambda s: (s[0], s[1])).at(Index(("b",), [0]))
    assert [part.tolist() for part in rows.get(state)] == [[2.0], [3.0]]
    first, second = rows.set(state, (jnp.array([7.0]), jnp.array([8.0])))
    assert (first.data.tolist(), second.data.tolist()) == ([1.0, 7.0], [8.0, 4.0])


def test_entries_set_through_a_lens_are_checked_and_brought_to_one_type():
    state = {"kind": Index(("a", "b"), [0, 1])}
    column = lens(lambda s: s["kind"].indices)
    assert column.set(state, np.array([1, 2**40]))["kind"].indices.tolist() == [1, 2]
    with pytest.raises(ValueError, match="Index entries must not be negative"):
        column.set(state, np.array([-1]))


# Validation, tracing, static fields -------------------------------------------------------


@dataclass
class Ordered:
    low: Any
    high: Any

    def __post_init__(self):
        if isinstance(self.low, float) and self.low > self.high:
            raise ValueError("low > high")


def test_validation_is_skipped_in_between_and_runs_on_the_result():
    state = {"range": Ordered(0.0, 1.0)}
    both = lens(lambda s: (s["range"].low, s["range"].high))
    assert both.set(state, (5.0, 6.0))["range"] == Ordered(5.0, 6.0)
    with pytest.raises(ValueError, match="low > high"):
        both.set(state, (7.0, 6.0))
    merged = lens(lambda s: s["range"].low).merge(lens(lambda s: s["range"].high))
    assert merged.set(state, (5.0, 6.0))["range"] == Ordered(5.0, 6.0)


def test_works_while_tracing_and_keeps_static_fields_static():
    @jax.jit
    def step(state: State) -> State:
        return lens(lambda s: s.point.x).apply(state, lambda x: x * 2)

    assert step(STATE).point.x == 2.0
    assert step(STATE).point.name == "p"
    gradient = jax.grad(lambda w: jnp.sum(lens(lambda s: s.weights).set(STATE, w).weights ** 2))
    np.testing.assert_array_equal(gradient(jnp.ones(2)), [2.0, 2.0])


def test_a_lens_as_static_field_does_not_recompile():
    @dataclass
    class Step:
        where: Any = field(static=True)

    traces = []

    @jax.jit
    def run(step: Step, state: State) -> Any:
        traces.append(1)
        return step.where.get(state)

    run(Step(lens(lambda s: s.point.x, cls=State)), STATE)
    run(Step(lens(lambda s: s.point.x, cls=State)), STATE)
    assert len(traces) == 1


def test_equality_and_hash():
    assert const_lens(3) == const_lens(3) != const_lens(4)
    assert hash(const_lens(3)) == hash(const_lens(3))

    def read(s):
        return s

    assert view(read) == view(read) != view(lambda s: s)
    assert lens(lambda s: s.x, cls=State) != lens(lambda s: s.x, cls=Point)
    assert lens(lambda s: s.x).at(3) == lens(lambda s: s.x).at(3)
    assert hash(lens(lambda s: s.x).at(3)) == hash(lens(lambda s: s.x).at(3))
    for rows in (jnp.array([1]), Index.arange(2)):
        with pytest.raises(TypeError, match="unhashable"):
            hash(lens(lambda s: s.x).at(rows))


# Edges ------------------------------------------------------------------------------------


def test_rows_can_be_an_empty_list_but_not_a_slice():
    weights = lens(lambda s: s.weights)
    assert weights.at([]).set(STATE, jnp.zeros(0)).weights.tolist() == [0, 1, 2, 3]
    with pytest.raises(LensError, match="Rows are named by an Index or by integers"):
        weights.at(slice(0, 1))


def test_several_parts_behind_one_property():
    both = lens(lambda s: (s.both[0], s.both[1]))
    assert both.set(STATE, (7.0, 8.0)).point == Point(7.0, 8.0)


def test_equal_keys_of_different_class_overlap():
    class Name(str):
        pass

    with pytest.raises(LensError, match="Lens paths overlap"):
        lens(lambda s: (s["C"], s[Name("C")]))


def test_validation_runs_where_it_takes_further_arguments():
    @dataclass
    class Strict:
        x: Any
        strict: InitVar[bool] = True

        def __post_init__(self, strict):
            if strict and self.x < 0:
                raise ValueError("negative")

    @dataclass
    class Needy:
        x: Any
        scale: InitVar[float]

        def __post_init__(self, scale):
            pass

    with pytest.raises(ValueError, match="negative"):
        lens(lambda s: s.x).set(Strict(1), -1)
    with pytest.raises(TypeError, match=r"Needy.__post_init__ needs 'scale'"):
        lens(lambda s: s.x).set(Needy(1, 2.0), -1)


def test_other_containers_can_be_written():
    counts = lens(lambda s: s["a"]).set(defaultdict(int, a=1), 5)
    assert (counts["a"], counts["new"]) == (5, 0)
    with pytest.raises(LensError, match="Can't set item"):
        lens(lambda s: s[0:2]).set([1, 2, 3], [4, 5])


def test_a_lens_field_can_be_declared_again():
    @dataclass
    class Base(HasLensFields):
        x: LensField[float]

    @dataclass
    class Derived(Base):
        x: LensField[float]
        y: LensField[float]

    with pytest.raises(TypeError, match="missing"):
        Derived()
    assert Derived(1.0, 2.0).x == 1.0
    assert Derived.x.set(Derived(1.0, 2.0), 5.0).x == 5.0


def test_row_numbers_beyond_32_bits_are_out_of_bounds():
    rows = lens(lambda s: s.weights).at(np.array([2**32, 2**40]))
    assert rows.set(STATE, jnp.float32(9)).weights.tolist() == [0, 1, 2, 3]
    assert rows.get(STATE).tolist() == [0.0, 0.0]


def test_validation_with_any_signature():
    @dataclass
    class Free:
        x: Any

        def __post_init__(self, *args, **kwargs):
            if self.x < 0:
                raise ValueError("negative")

    @dataclass
    class Renamed:
        x: Any
        scale: InitVar[float] = 3.0

        def __post_init__(self, factor):
            if self.x * factor < 0:
                raise ValueError("negative")

    for state in (Free(1), Renamed(1)):
        assert lens(lambda s: s.x).set(state, 2).x == 2
        with pytest.raises(ValueError, match="negative"):
            lens(lambda s: s.x).set(state, -1)
