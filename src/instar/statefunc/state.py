"""One sample as the nodes of an expression see it: components first, particles last.

Callers hold positions as ``(particles, dim)``. Inside, every array starts with its components
and ends with what there is much of, so that compiled loops run over long, contiguous axes:

    positions   (dim, *trailing)
    values      (dim,)*rank + (n_features,) + trailing(pdepth)

``trailing(pdepth)`` is ``(P,)*pdepth``, followed by the axes of *points*: within a sum over
pairs every edge is a sample of two particles, and the edges are its points. A trailing axis
may have length 1 where all its entries are equal.

So rows come last here, and are gathered and added up by their numbers: an `Index` joins and adds up
rows that come first.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import operator
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
from jax import lax

from instar.core.data import Index
from instar.core.typing import SystemId
from instar.core.utils.jax import dataclass, field
from instar.statefunc.edges import Edges
from instar.statefunc.sample import Sample

__all__ = ["SAFE", "Pair", "Particles", "State", "chosen", "particles_of", "sum_of_axes"]

SAFE = 1  # stands for what is absent where nothing is there to stand for it


class State(abc.ABC):
    """What nodes may ask of a sample."""

    particles: int | None  # None: a bare point without particles
    points: tuple[int, ...]

    @property
    @abc.abstractmethod
    def coordinates(self) -> tuple[Any, ...]:
        """The positions, in as many arrays as they are held in."""

    @abc.abstractmethod
    def moved(self, coordinates: tuple[Any, ...]) -> State:
        """The same particles at other positions."""

    @abc.abstractmethod
    def column(self, name: str) -> Any:
        """A column of all particles, None if there is none of that name."""

    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""

    @abc.abstractmethod
    def particle(self, k: int) -> State:
        """A sample of particle ``k`` alone."""

    @abc.abstractmethod
    def separation(self) -> Any:
        """From the first of two particles to the second (Å)."""

    @property
    def dtype(self) -> Any:
        """The type of the positions, which values follow."""
        return self.coordinates[0].dtype

    def trailing(self, depth: int) -> tuple[int, ...]:
        """Shape of the trailing axes of a value with ``depth`` particle axes."""
        return (1 if self.particles is None else self.particles,) * depth + self.points

    def deepened(self, values: Any, depth: int, target: int) -> Any:
        """Values with ``depth`` particle axes, with further ones of length 1."""
        axis = values.ndim - len(self.points)
        return jnp.expand_dims(values, tuple(range(axis, axis + target - depth)))

    def whole(self, values: Any, depth: int) -> Any:
        """Values with all trailing axes at full length."""
        trailing = self.trailing(depth)
        return jnp.broadcast_to(values, values.shape[: values.ndim - len(trailing)] + trailing)


@dataclass
class Particles(State):
    """Particles of one system, or of many: then ``system`` tells which, and there are no points."""

    columns: dict[str, Any]
    mask: Any = None
    edges: Edges | None = None
    system: Index[SystemId] | None = None
    particles: int | None = field(static=True, default=None)
    points: tuple[int, ...] = field(static=True, default=())

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return (self.columns["positions"],)

    def moved(self, coordinates: tuple[Any, ...]) -> Particles:
        return dataclasses.replace(self, columns=self.columns | {"positions": coordinates[0]})

    def column(self, name: str) -> Any:
        return self.columns.get(name)

    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def particle(self, k: int) -> Particles:
        axis = -1 - len(self.points)
        alone = {
            name: jnp.expand_dims(jnp.take(values, k, axis), axis)
            for name, values in self.columns.items()
        }
        return Particles(alone, particles=1, points=self.points)

    def separation(self) -> Any:
        (x,) = self.coordinates
        return x[:, 1] - x[:, 0]

    def trailing(self, depth: int) -> tuple[int, ...]:
        if self.system is not None and depth == 0:
            return (len(self.system.vocabulary),)
        return super().trailing(depth)

    def deepened(self, values: Any, depth: int, target: int) -> Any:
        if self.system is not None and depth == 0 < target:
            values = self.whole(values, 0)
            values = jnp.take(values, self.system.indices, -1, mode="clip")
            depth = 1
        return super().deepened(values, depth, target)

    def present(self, values: Any, depth: int) -> Any:
        """Values that are zero for absent particles."""
        if self.mask is None:
            return values
        for axis in range(depth):
            after = (1,) * (depth - 1 - axis + len(self.points))
            values = chosen(self.mask.reshape(self.mask.shape + after), values, 0)
        return values

    def filled(self, values: Any, depth: int) -> Any:
        """Values in which absent particles have those of one that is there, until they are zero.

        A step that comes next may not be defined at zero.
        """
        if self.mask is None or self.particles == 0:
            return values
        for axis in range(depth):
            turned = jnp.moveaxis(values, -1 - axis, -1)
            turned = chosen(self.mask, turned, _typical(turned, self.mask))
            values = jnp.moveaxis(turned, -1, -1 - axis)
        return values


@dataclass
class Pair(State):
    """The two ends of every edge, each a sample of one particle at the same points.

    ``apart`` is the vector from the first to the second, with the ``shift`` of the edge. ``valid``
    tells which edges stand for a pair: the others are seen as if they were ``typical``, so that
    a formula is evaluated only where it would be anyway. ``same`` tells where both ends are one
    particle, None if nowhere.
    """

    ends: tuple[Particles, Particles]
    apart: Any
    valid: Any
    shift: Any
    same: Any
    typical: tuple[dict[str, Any], dict[str, Any]]
    points: tuple[int, ...] = field(static=True)
    gathered: bool = field(static=True)
    particles: int | None = field(static=True, default=2)

    @staticmethod
    def between(
        ends: tuple[Particles, Particles],
        valid: Any,
        shift: Any,
        same: Any,
        typical: tuple[dict[str, Any], dict[str, Any]],
        gathered: bool,
    ) -> Pair:
        """Pairs of particles, with their separation worked out once."""
        first, second = (end.columns["positions"][:, 0] for end in ends)
        apart = second - first if shift is None else second - first + shift
        apart = chosen(valid, apart, typical[1]["apart"])
        if gathered:  # do that once, not wherever the separation is used
            apart = lax.optimization_barrier(apart)
        return Pair(ends, apart, valid, shift, same, typical, valid.shape, gathered)

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return tuple(end.columns["positions"] for end in self.ends)

    def moved(self, coordinates: tuple[Any, ...]) -> Pair:
        first, second = (end.moved((x,)) for end, x in zip(self.ends, coordinates, strict=True))
        return Pair.between(
            (first, second), self.valid, self.shift, self.same, self.typical, self.gathered
        )

    def column(self, name: str) -> Any:
        if name not in self.ends[0].columns:
            return None
        both = [self.particle(k).columns[name] for k in (0, 1)]
        return jnp.concatenate(both, -1 - len(self.points))

    def names(self) -> tuple[str, ...]:
        return self.ends[0].names()

    def particle(self, k: int) -> Particles:
        columns = {
            name: chosen(self.valid, values, self.typical[k][name])
            for name, values in self.ends[k].columns.items()
        }
        if k == 1:  # the image that the edge reaches
            there = self.ends[1].columns["positions"]
            there = there if self.shift is None else there + self.shift[:, None]
            otherwise = self.typical[0]["positions"] + self.typical[1]["apart"][:, None]
            columns["positions"] = chosen(self.valid, there, otherwise)
        return Particles(columns, particles=1, points=self.points)

    def separation(self) -> Any:
        return self.apart


def particles_of(sample: Sample, particles: int | None) -> Particles:
    """The inner form of one sample; absent particles are seen as if they were one that is there."""
    columns = {"positions": sample.positions, **sample.columns}
    if sample.velocities is not None:
        columns["velocities"] = sample.velocities
    if particles is None:
        return Particles(columns)
    inner = {name: jnp.moveaxis(values, 0, -1) for name, values in columns.items()}
    mask, system = sample.mask, sample.system
    if system is not None:
        mask = system.valid_mask if mask is None else mask & system.valid_mask
        system = system.apply_mask(system.valid_mask)
    if mask is not None and particles > 0:
        inner = {name: chosen(mask, v, _typical(v, mask)) for name, v in inner.items()}
    return Particles(inner, mask, sample.edges, system, particles)


def _typical(values: Any, mask: Any) -> Any:
    """The values of a particle that is there, or a number that few formulas are singular at."""
    found = lax.stop_gradient(jnp.take(values, jnp.argmax(mask), -1))[..., None]
    typical = jnp.where(jnp.any(mask), found, jnp.array(SAFE, values.dtype))
    return lax.optimization_barrier(typical)  # looked up once, not in every loop


def chosen(trailing: Any, values: Any, otherwise: Any) -> Any:
    """Values where a condition on their trailing axes holds, and others where it does not."""
    condition = jnp.expand_dims(trailing, tuple(range(values.ndim - trailing.ndim)))
    return jnp.where(condition, values, jnp.asarray(otherwise, values.dtype))


def sum_of_axes(values: Any, axes: Iterable[int]) -> Any:
    """The sum over axes of space, term by term.

    A reduction would make XLA write down what is summed; a sum of a few terms is fused with
    what comes before and after.
    """
    for axis in sorted(axes, reverse=True):
        terms = [
            lax.index_in_dim(values, k, axis, keepdims=False) for k in range(values.shape[axis])
        ]
        values = functools.reduce(operator.add, terms)
    return values
