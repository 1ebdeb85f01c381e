import contextlib
import dataclasses
import doctest
import inspect

import jax
import jax.numpy as jnp
import pytest
from support import shown_signature

from instar.core.utils import pytree_dataclass
from instar.core.utils.jax import (
    dataclass,
    field,
    lens_field,
    no_post_init,
    skip_post_init_if_disabled,
)
from instar.core.utils.pytree_dataclass import is_lens_field


@dataclass
class Point:
    x: jax.Array
    name: str = field(static=True, default="p")


def test_bare_decorator_is_frozen_and_a_pytree():
    point = Point(jnp.ones(2))
    assert [leaf.shape for leaf in jax.tree.leaves(point)] == [(2,)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = jnp.zeros(2)


SIGNATURES = {
    dataclass: """(cls=None, /, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False,
        frozen=True, match_args=True, kw_only=False, slots=False, weakref_slot=False)""",
    field: """(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None,
        compare=True, metadata=None, kw_only=MISSING, static=False)""",
    lens_field: """(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None,
        compare=True, metadata=None, kw_only=MISSING, static=False)""",
}


@pytest.mark.parametrize("function", SIGNATURES)
def test_every_option_is_shown_by_name(function):
    assert shown_signature(function) == " ".join(SIGNATURES[function].split())


def test_examples_of_the_docstrings_run():
    found = doctest.testmod(pytree_dataclass)
    assert (found.failed, found.attempted) == (0, 7)


def made(**options):
    """A class of one field, made with these options."""

    class Item:
        x: int

    return dataclass(Item, **options)


def assigned(cls):
    item = cls(1)
    with contextlib.suppress(dataclasses.FrozenInstanceError):
        item.x = 2
    return item.x


def attempt(call):
    with contextlib.suppress(TypeError):
        return call()
    return None


# For each option: a value, others that it needs, and what it switches between with and without.
EFFECTS = {
    "init": (False, {}, lambda cls: "__init__" in vars(cls), (False, True)),
    "repr": (False, {}, lambda cls: "Item(x=1)" in repr(cls(1)), (False, True)),
    "eq": (False, {}, lambda cls: cls(1) == cls(1), (False, True)),
    "order": (True, {}, lambda cls: "__lt__" in vars(cls), (True, False)),
    "unsafe_hash": (True, {"frozen": False}, lambda cls: cls.__hash__ is not None, (True, False)),
    "frozen": (False, {}, assigned, (2, 1)),
    "match_args": (False, {}, lambda cls: hasattr(cls, "__match_args__"), (False, True)),
    "kw_only": (True, {}, lambda cls: attempt(lambda: cls(1).x), (None, 1)),
    "slots": (True, {}, lambda cls: hasattr(cls(1), "__dict__"), (False, True)),
    "weakref_slot": (
        True,
        {"slots": True},
        lambda cls: "__weakref__" in vars(cls)["__slots__"],
        (True, False),
    ),
}


@pytest.mark.parametrize("option", EFFECTS)
def test_each_option_of_a_dataclass_has_its_effect(option):
    value, others, effect, (with_it, without) = EFFECTS[option]
    assert effect(made(**{option: value}, **others)) == with_it
    assert effect(made(**others)) == without


@pytest.mark.parametrize("option", EFFECTS)
def test_whatever_its_options_a_dataclass_is_a_pytree(option):
    value, others, *_ = EFFECTS[option]
    cls = made(**{option: value}, **others)
    item = cls() if option == "init" else cls(x=1)
    object.__setattr__(item, "x", 1)
    grown = jax.tree.map(lambda leaf: leaf + 2, item)
    assert (type(grown), grown.x) == (cls, 3)


def holding(make, **options):
    @dataclass(unsafe_hash=True)
    class Item:
        x: object = make(**options)

    return Item


def metadata(cls):
    return dict(dataclasses.fields(cls)[0].metadata).get("unit")


OF_FIELDS = {
    "default": (7, lambda cls: attempt(lambda: cls().x), (7, None)),
    "default_factory": (list, lambda cls: attempt(lambda: cls().x), ([], None)),
    "init": (False, lambda cls: attempt(lambda: cls(1).x), (None, 1)),
    "repr": (False, lambda cls: "x=1" in repr(cls(1)), (False, True)),
    "hash": (False, lambda cls: hash(cls(1)) == hash(cls(2)), (True, False)),
    "compare": (False, lambda cls: cls(1) == cls(2), (True, False)),
    "metadata": ({"unit": "eV"}, metadata, ("eV", None)),
    "kw_only": (True, lambda cls: attempt(lambda: cls(1).x), (None, 1)),
    "static": (True, lambda cls: jax.tree.leaves(cls(1)), ([], [1])),
}


@pytest.mark.parametrize("make", [field, lens_field])
@pytest.mark.parametrize("option", OF_FIELDS)
def test_each_option_of_a_field_has_its_effect(make, option):
    value, effect, (with_it, without) = OF_FIELDS[option]
    assert effect(holding(make, **{option: value})) == with_it
    assert effect(holding(make)) == without
    assert is_lens_field(dataclasses.fields(holding(make))[0]) == (make is lens_field)


def test_no_option_is_without_a_test_of_its_effect():
    assert list(inspect.signature(dataclass).parameters) == ["cls", *EFFECTS]
    assert list(inspect.signature(field).parameters) == list(OF_FIELDS)


def test_a_dataclass_may_be_made_bare_or_with_arguments():
    @dataclass(order=True, kw_only=True)
    class Ordered:
        value: int

    assert Ordered(value=1) < Ordered(value=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'frosen'"):
        dataclass(frosen=False)


def test_static_fields_are_structure_and_compilation_key():
    traces = []

    @jax.jit
    def scale(point: Point) -> jax.Array:
        traces.append(point.name)
        return point.x * 2

    scale(Point(jnp.ones(2), "a"))
    scale(Point(jnp.zeros(2), "a"))
    scale(Point(jnp.ones(2), "b"))
    assert traces == ["a", "b"]
    assert jax.tree.structure(Point(jnp.ones(2), "a")) != jax.tree.structure(
        Point(jnp.ones(2), "b")
    )


def test_key_paths_name_the_fields():
    ((path, _),) = jax.tree_util.tree_leaves_with_path(Point(jnp.ones(2)))
    assert jax.tree_util.keystr(path) == ".x"


def test_unflatten_never_validates():
    @dataclass
    class Positive:
        x: jax.Array

        def __post_init__(self):
            if self.x.shape != (2,):
                raise ValueError("two values")

    good = Positive(jnp.ones(2))
    assert jax.tree.map(lambda _: "placeholder", good).x == "placeholder"
    assert jax.vmap(lambda p: p.x)(jax.tree.map(lambda x: jnp.stack([x, x]), good)).shape == (2, 2)
    with pytest.raises(ValueError, match="two values"):
        Positive(jnp.ones(3))


def test_replace_and_inheritance():
    @dataclass
    class Named(Point):
        y: jax.Array = field(default_factory=lambda: jnp.zeros(1))

    named = dataclasses.replace(Named(jnp.ones(2)), name="q")
    assert named.name == "q"
    assert len(jax.tree.leaves(named)) == 2


def test_slots_work_too():
    @dataclass(slots=True)
    class Slotted:
        x: jax.Array
        name: str = field(static=True, default="s")

    doubled = jax.jit(lambda s: jax.tree.map(lambda x: x * 2, s))(Slotted(jnp.ones(2), "t"))
    assert (doubled.x.tolist(), doubled.name) == ([2.0, 2.0], "t")


def test_slots_over_a_base_without():
    @dataclass
    class Base:
        x: jax.Array

    @dataclass(slots=True)
    class Derived(Base):
        y: jax.Array

    assert jax.jit(lambda d: d.x + d.y)(Derived(jnp.float32(1), jnp.float32(2))) == 3.0


def test_post_init_can_be_switched_off():
    runs = []

    @dataclass
    class Checked:
        x: int

        @skip_post_init_if_disabled
        def __post_init__(self):
            runs.append(self.x)

    Checked(1)
    with no_post_init():
        Checked(2)
    Checked(3)
    assert runs == [1, 3]
