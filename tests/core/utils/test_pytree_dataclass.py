import dataclasses

import jax
import jax.numpy as jnp
import pytest

from instar.core.utils.jax import dataclass, field, no_post_init, skip_post_init_if_disabled


@dataclass
class Point:
    x: jax.Array
    name: str = field(static=True, default="p")


def test_bare_decorator_is_frozen_and_a_pytree():
    point = Point(jnp.ones(2))
    assert [leaf.shape for leaf in jax.tree.leaves(point)] == [(2,)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = jnp.zeros(2)


def test_options_reach_the_standard_dataclass():
    @dataclass(frozen=False, order=True, kw_only=True)
    class Mutable:
        value: int

    item = Mutable(value=1)
    item.value = 2
    assert item == Mutable(value=2)
    assert item < Mutable(value=3)
    with pytest.raises(TypeError):
        Mutable(1)


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
