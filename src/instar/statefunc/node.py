"""`StateFunction`: a pure function of a state with a declared shape.

Every kind of node is one file with the same anatomy: what it computes, as a formula; its
fields; ``values_at``; ``buffers``, where it holds more than its children and its value; how it
prints; and the function that makes it, with its contract. A node is a pytree whose arrays are
its parameters: it may be passed to ``jit``, and ``jax.grad`` with respect to it returns the
derivatives with respect to every parameter.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.statefunc.contract import Contract, ContractError
from instar.statefunc.footprint import Buffer, Buffers, Sizes, kept, sizes_of
from instar.statefunc.memhint import MemHint, SampleMeta, check_mode, itemsize_of
from instar.statefunc.sample import Sample
from instar.statefunc.state import State, particles_of

if TYPE_CHECKING:
    from instar.statefunc.slice import Slice

__all__ = ["ContractError", "StateFunction", "as_function"]


@dataclass(repr=False, eq=False)
class StateFunction(abc.ABC):
    """A function of a state: call it with a `Sample`, or with positions alone.

    Its value for one sample of P particles has the shape
    ``(P,)*pdepth + (dim,)*rank + (n_features,)``; a batch of samples leads to leading axes.
    """

    contract: Contract = field(static=True)
    children: tuple[StateFunction, ...]

    __array_ufunc__ = None  # NumPy leaves arithmetic to this class
    __iter__ = None  # features are taken with f[a:b]

    strength: ClassVar[int] = 9
    """How tightly the formula holds together: 1 a sum, 2 a product, 9 a name."""
    stored: ClassVar[bool] = False
    """Whether the value is written down when another function uses it."""
    given: ClassVar[bool] = False
    """Whether the value is part of the sample."""
    steps: ClassVar[int] = 1
    """Elementwise steps that a gradient keeps, each as large as the value."""
    pointwise: ClassVar[bool] = True
    """Whether a value depends only on what the children give for the same particle."""

    @property
    def rank(self) -> int:
        """Number of tensor axes."""
        return self.contract.rank

    @property
    def dim(self) -> int | None:
        """Dimension of space, None if the function does not depend on it."""
        return self.contract.dim

    @property
    def pdepth(self) -> int:
        """Number of particle axes."""
        return self.contract.pdepth

    @property
    def n_features(self) -> int:
        """Number of features: the last axis."""
        return self.contract.n_features

    @property
    def child(self) -> StateFunction:
        """The function that this one is made of, if it is one."""
        (child,) = self.children
        return child

    # Anatomy ------------------------------------------------------------------------------

    @abc.abstractmethod
    def values_at(self, state: State) -> Any:
        """The value in the inner form: components first (see ``instar.statefunc.state``)."""

    def buffers(self, sizes: Sizes, loop: int) -> Buffers:
        """What an evaluation holds, besides the value itself unless for a gradient.

        ``loop`` is how many numbers the loop makes that this step is fused into.
        """
        found = kept(self, sizes, loop)
        if sizes.grad:
            steps = max(1, self.steps // 2) if sizes.differentiated else self.steps
            found |= self.hold("{}", 2 * steps * sizes.numbers(self))
        return found

    @abc.abstractmethod
    def formula(self) -> str:
        """The function as one would write it."""

    @property
    def local(self) -> bool:
        """Whether a particle's value depends on no other particle."""
        return self.pointwise and all(child.local for child in self.children)

    @property
    def moves(self) -> bool:
        """Whether positions can have a part in it."""
        return self.dim is not None and self.contract.on_particles is not None

    def derivative_rule(self, across: bool) -> StateFunction | None:
        """The derivative with respect to positions as an expression, None if there is no rule."""
        return None

    # Evaluation ---------------------------------------------------------------------------

    def __call__(self, sample: Sample | Array) -> Array:
        """The value for a sample, a batch of samples, or positions alone.

        Checks on edges that are only known inside compiled code are runtime checks: wrap the
        call with `with_runtime_assertions` to see them.
        """
        if not isinstance(sample, Sample):
            sample = Sample(jnp.asarray(sample))
        if not hasattr(sample.positions, "shape"):
            raise ContractError("Positions are an array: Sample(jnp.asarray(positions)).")
        shape, on_particles = sample.positions.shape, self.contract.on_particles
        own_axes = 1 if on_particles is False else 2
        fits = len(shape) >= own_axes and self.dim in (None, shape[-1])
        if on_particles is not None and not fits:
            form = "(..., particles, dim)" if on_particles else "(..., dim)"
            space = "" if self.dim is None else f" with dim = {self.dim}"
            raise ContractError(
                f"{self.formula()} is a function of positions {form}{space}, "
                f"but they have the shape {shape}."
            )
        return _over_batch(self, sample, max(0, len(shape) - own_axes))

    # Algebra ------------------------------------------------------------------------------

    def __add__(self, other: Any) -> StateFunction:
        from instar.statefunc.add import add

        return add(self, other)

    def __radd__(self, other: Any) -> StateFunction:
        from instar.statefunc.add import add

        return add(other, self)

    def __mul__(self, other: Any) -> StateFunction:
        from instar.statefunc.multiply import multiply

        return multiply(self, other)

    def __rmul__(self, other: Any) -> StateFunction:
        from instar.statefunc.multiply import multiply

        return multiply(other, self)

    def __neg__(self) -> StateFunction:
        return -1 * self

    def __sub__(self, other: Any) -> StateFunction:
        return self + -1 * as_function(other)

    def __rsub__(self, other: Any) -> StateFunction:
        return other + -1 * self

    def __truediv__(self, other: Any) -> StateFunction:
        return self * (other**-1 if isinstance(other, StateFunction) else 1 / np.asarray(other))

    def __rtruediv__(self, other: Any) -> StateFunction:
        return other * self**-1

    def __pow__(self, exponent: Any) -> StateFunction:
        from instar.statefunc.apply import power

        return power(self, exponent)

    def __getitem__(self, features: Any) -> Slice:
        from instar.statefunc.slice import features_of

        return features_of(self, features)

    # Showing ------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self.formula()

    def __repr__(self) -> str:
        return f"<{self.formula()}: {self.contract}>"

    # Memory -------------------------------------------------------------------------------

    def memory_hint(
        self,
        *,
        dtype: Any = None,
        particle_size: int | None = None,
        mode: str = "forward",
        sample: SampleMeta | None = None,
    ) -> MemHint:
        """Bytes that an evaluation takes per sample, beyond the sample itself.

        ``dtype`` is that of the positions, ``particle_size`` the number of particles; ``sample``
        (``Sample.meta``) tells about edges, which otherwise join all particles. Mode ``"grad"``
        is for the gradient with respect to positions and parameters.
        """
        held = self.footprint(dtype=dtype, particle_size=particle_size, mode=mode, sample=sample)
        persistent = sum(
            np.size(leaf) * itemsize_of(jnp.result_type(leaf)) for leaf in jax.tree.leaves(self)
        )
        edges = 0 if sample is None or sample.E is None else 2 * 4 * sample.E
        return MemHint(sum(held.values()), persistent + edges)

    def footprint(
        self,
        *,
        dtype: Any = None,
        particle_size: int | None = None,
        mode: str = "forward",
        sample: SampleMeta | None = None,
    ) -> dict[str, int]:
        """The bytes of `memory_hint` per sample, by the formula of what they hold."""
        check_mode(mode)
        sizes = sizes_of(particle_size, mode, sample)
        own = sizes.numbers(self)
        found = self.buffers(sizes, own)
        if mode == "forward":
            found |= self.hold("{}", self.copies(sizes) * own)
        size, held = itemsize_of(dtype), {}
        for buffer in found.values():
            held[buffer.what] = held.get(buffer.what, 0) + size * buffer.numbers
        return held

    def hold(self, what: str, numbers: int) -> Buffers:
        """A buffer of this function; ``{}`` in ``what`` stands for its formula."""
        return {
            (what, *self.identity): Buffer(what.replace("{}", self.formula()), numbers, self.given)
        }

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for functions that compute the same: of one structure, with the same parameters."""
        return jax.tree.structure(self), tuple(id(leaf) for leaf in jax.tree.leaves(self))

    def copies(self, sizes: Sizes) -> int:
        """How often the value of the whole expression is held.

        What is not an elementwise step is made with components first, and then turned.
        """
        return 2 if self.stored else 1

    def within(self, strength: int) -> str:
        """The formula as part of another, in parentheses where it would fall apart."""
        return self.formula() if self.strength >= strength else f"({self.formula()})"


def as_function(value: Any) -> StateFunction:
    """A number as a constant; a function as it is."""
    if isinstance(value, StateFunction):
        return value
    from instar.statefunc.constant import constant

    return constant(value)


def _over_batch(function: StateFunction, sample: Sample, axes: int) -> Array:
    """The value for each sample along the leading axes."""
    if axes == 0:
        return _of_one(function, sample)

    def inner(x: Any, v: Any, columns: Any, mask: Any, edges: Any) -> Array:
        return _over_batch(function, Sample(x, v, mask, edges, None, columns), axes - 1)

    mask, edges = sample.mask, sample.edges
    mask_axis = None if mask is None or mask.ndim == 1 else 0
    edges_axis = None if edges is None or edges.indices.ndim == 2 else 0
    mapped = jax.vmap(inner, in_axes=(0, 0, 0, mask_axis, edges_axis))
    return mapped(sample.positions, sample.velocities, dict(sample.columns), mask, edges)


def _of_one(function: StateFunction, sample: Sample) -> Array:
    """The value for one sample, in the form of the contract."""
    bare = function.contract.on_particles is False or sample.positions.ndim < 2
    state = particles_of(sample, None if bare else sample.positions.shape[-2])
    depth, components = function.pdepth, function.rank + 1
    values = state.present(state.whole(function.values_at(state), depth), depth)
    return jnp.moveaxis(values, range(components), range(-components, 0))
