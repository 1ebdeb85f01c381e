"""The facts of the contract on memory hints."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.statefunc.memhint import (
    MemHint,
    SampleMeta,
    broadcast_extra_bytes_for_children,
    default_leaf_hint,
    default_op_hint,
    inflate_for_grad,
    itemsize_of,
    output_bytes_per_sample,
    output_elems_per_sample,
)

HINTS = {"dtype": None, "mode": "forward"}


class Node:
    """A node as the contract describes it: attributes, and a hint of its own."""

    def __init__(self, rank=0, dim=None, pdepth=0, n_features=0, persistent=0):
        self.rank, self.dim, self.pdepth, self.n_features = rank, dim, pdepth, n_features
        self.persistent = persistent

    def memory_hint(self, *, dtype, particle_size, mode):
        own = default_leaf_hint(self, dtype=dtype, particle_size=particle_size, mode=mode)
        return own + MemHint(0, self.persistent)


def vector(pdepth, features=1, persistent=0):
    return Node(1, 3, pdepth, features, persistent)


def test_hints_add_up_and_scale():
    assert MemHint(100, 7) + MemHint(20, 5) == MemHint(120, 12)
    assert sum([MemHint(1, 2), MemHint(3, 4)]) == MemHint(4, 6)
    assert sum([]) == 0
    assert MemHint(100, 7).scaled(8) == MemHint(800, 7)
    assert MemHint(100, 7).scaled(2.9) == MemHint(200, 7)
    assert MemHint() == MemHint(per_sample_bytes=0, persistent_bytes=0)


def test_hints_are_frozen_and_add_only_hints():
    with pytest.raises(AttributeError):
        MemHint().per_sample_bytes = 1
    with pytest.raises(TypeError):
        sum([MemHint()], start=1)
    with pytest.raises(TypeError):
        sum([1, MemHint()])


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (None, 4),
        (jnp.float64, 8),
        ("float64", 8),
        (np.float16, 2),
        (jnp.bfloat16, 2),
        (np.int8, 1),
        (bool, 1),
        (np.dtype("complex64"), 8),
    ],
)
def test_itemsize(dtype, size):
    assert itemsize_of(dtype) == size


@pytest.mark.parametrize("particles", [None, 0, 1, 50])
def test_without_particle_axes_the_particles_do_not_matter(particles):
    node = vector(0, 10)
    assert output_elems_per_sample(node, particle_size=particles) == 30
    assert output_bytes_per_sample(node, dtype=None, particle_size=particles) == 120


def test_particle_axes_multiply():
    node = vector(1, 10)
    assert output_elems_per_sample(node, particle_size=50) == 1500
    assert output_bytes_per_sample(node, dtype=jnp.float32, particle_size=50) == 6000
    assert output_bytes_per_sample(node, dtype=jnp.float64, particle_size=50) == 12000
    assert output_elems_per_sample(node, particle_size=None) == 30
    assert output_elems_per_sample(node, particle_size=0) == 0
    assert output_elems_per_sample(Node(2, 3, 2, 4), particle_size=50) == 90000


def test_a_missing_attribute_counts_as_none():
    assert output_elems_per_sample(Node(1, None, 0, 2), particle_size=5) == 0
    assert output_elems_per_sample(Node(0, None, 1, 2), particle_size=5) == 10
    assert output_elems_per_sample(SimpleNamespace(n_features=2), particle_size=5) == 2
    assert output_elems_per_sample(SimpleNamespace(rank=1, dim=3), particle_size=5) == 0
    assert output_elems_per_sample(Node(0, 3, 0, -1), particle_size=5) == 0


def test_broadcasting_repeats_the_shallow_children():
    def extra(*children, particles=5):
        return broadcast_extra_bytes_for_children(
            children=(child for child in children), dtype=None, particle_size=particles
        )

    assert extra(vector(1), vector(0)) == 48
    assert extra(vector(1), vector(0), particles=None) == 0
    assert extra(vector(1), vector(0), particles=1) == 0
    assert extra(vector(0), vector(0)) == 0
    assert extra(vector(2), vector(1), vector(0)) == 60 * 4 + 12 * 24
    assert extra() == 0


def test_an_operator_holds_its_children():
    children = (child for child in (vector(1), vector(0, persistent=99)))
    hint = default_op_hint(vector(1), children=children, particle_size=5, **HINTS)
    assert hint == MemHint(180, 99)
    assert default_op_hint(vector(1), children=[], particle_size=5, **HINTS) == MemHint(60)


def test_gradients_inflate_what_scales():
    assert inflate_for_grad(MemHint(101, 7)) == MemHint(202, 7)
    assert inflate_for_grad(MemHint(101, 7), factor=1.5) == MemHint(151, 7)
    assert inflate_for_grad(MemHint(101, 7), factor=0.5) == MemHint(50, 7)


@pytest.mark.parametrize(
    ("shape", "particles"),
    [((50, 3), 50), ((64, 50, 3), 50), ((3,), None), ((50, 16), 50), ((50, 17), None)],
)
def test_a_sample_is_described_by_its_shapes(shape, particles):
    abstract = jax.ShapeDtypeStruct(shape, jnp.float32)
    assert SampleMeta.from_arrays(abstract) == SampleMeta(
        P=particles, K=None, has_v=False, has_mask=False
    )


def test_velocities_and_mask_are_noticed():
    huge = jax.ShapeDtypeStruct((10**6, 10**6, 3), jnp.float32)
    assert SampleMeta.from_arrays(x=huge, v=huge, mask=True).has_v is True
    assert SampleMeta.from_arrays(v=huge, mask=True) == SampleMeta(has_v=True, has_mask=True)
    assert SampleMeta.from_arrays() == SampleMeta(has_v=False, has_mask=False)


@pytest.mark.parametrize("mode", ["backward", ""])
def test_another_mode_is_refused(mode):
    known = {"dtype": None, "particle_size": 5, "mode": mode}
    with pytest.raises(ValueError, match="mode is"):
        default_leaf_hint(vector(1), **known)
    with pytest.raises(ValueError, match="mode is"):
        default_op_hint(vector(1), children=[], **known)


def test_what_is_known_of_the_sample_reaches_the_children_that_accept_it():
    class Curious(Node):
        def memory_hint(self, *, dtype, particle_size, mode, sample=None):
            return MemHint(sample.K if sample else 0)

    class Collecting(Node):
        def memory_hint(self, **known):
            return MemHint(known["sample"].K if "sample" in known else 0)

    children = [Curious(), Collecting(), vector(0)]
    for sample, expected in ((SampleMeta(K=2), 4), (None, 0)):
        hint = default_op_hint(Node(), children=children, particle_size=5, sample=sample, **HINTS)
        assert hint == MemHint(expected + 12)
