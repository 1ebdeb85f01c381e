"""Memory hints: how many bytes one evaluation of a state function takes per sample.

A hint is worked out from what a node declares, before anything is allocated. A node's
*contract* is four attributes, of which a missing one counts as 0 (``dim``: as None):

    rank        number of tensor axes
    dim         length of each of them: the dimension of space, or None
    pdepth      number of particle axes
    n_features  number of features

Its output for one sample of P particles has the shape
``(P,)*pdepth + (dim,)*rank + (n_features,)``.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np

__all__ = [
    "MemHint",
    "SampleMeta",
    "broadcast_extra_bytes_for_children",
    "check_mode",
    "child_hint",
    "default_leaf_hint",
    "default_op_hint",
    "inflate_for_grad",
    "itemsize_of",
    "output_bytes_per_sample",
    "output_elems_per_sample",
]

LARGEST_SPACE = 16  # a longer last axis is not taken for the coordinates of space


@dataclasses.dataclass(frozen=True)
class MemHint:
    """Bytes that grow with the number of samples, and bytes that do not.

    Persistent are the weights, tables of edges, the state of a model.
    """

    per_sample_bytes: int = 0
    persistent_bytes: int = 0

    def __add__(self, other: Any) -> MemHint:
        if not isinstance(other, MemHint):
            return NotImplemented
        return MemHint(
            self.per_sample_bytes + other.per_sample_bytes,
            self.persistent_bytes + other.persistent_bytes,
        )

    def __radd__(self, other: Any) -> MemHint:
        return self if other == 0 else NotImplemented  # where sum() starts

    def scaled(self, k: int | float) -> MemHint:
        """The hint for ``int(k)`` times as many samples."""
        return MemHint(self.per_sample_bytes * int(k), self.persistent_bytes)


@dataclasses.dataclass(frozen=True)
class SampleMeta:
    """What is known of one sample; None is unknown.

    ``P`` particles, ``K`` particles in an interaction; whether velocities and a mask take part;
    ``E`` edges, and whether they are a plain list, rows of neighbors, or all pairs.
    """

    P: int | None = None
    K: int | None = None
    has_v: bool | None = None
    has_mask: bool | None = None
    E: int | None = None
    layout: Literal["list", "rows", "all"] | None = None

    @staticmethod
    def from_arrays(x: Any = None, v: Any = None, mask: Any = None) -> SampleMeta:
        """What positions, velocities and a mask tell; only their shapes are read."""
        return SampleMeta(P=_particles_of(x), has_v=v is not None, has_mask=mask is not None)


def _particles_of(x: Any) -> int | None:
    shape: tuple[int, ...] = () if x is None else tuple(np.shape(x))
    *_, particles, dim = (None, 0, *shape)
    return particles if len(shape) >= 2 and 1 <= dim <= LARGEST_SPACE else None


def itemsize_of(dtype: Any) -> int:
    """Bytes of one number; None stands for float32."""
    return jnp.dtype(jnp.float32 if dtype is None else dtype).itemsize


def output_elems_per_sample(node: Any, *, particle_size: int | None) -> int:
    """Numbers in the output for one sample; without a ``particle_size`` that of one particle."""
    rank, dim, features = _get(node, "rank"), getattr(node, "dim", None), _get(node, "n_features")
    if features <= 0 or (rank > 0 and dim is None):
        return 0
    particles = 1 if particle_size is None else int(particle_size)
    return (dim or 1) ** rank * particles ** _get(node, "pdepth") * features


def output_bytes_per_sample(node: Any, *, dtype: Any, particle_size: int | None) -> int:
    """Bytes of the output for one sample."""
    return output_elems_per_sample(node, particle_size=particle_size) * itemsize_of(dtype)


def default_leaf_hint(
    node: Any,
    *,
    dtype: Any,
    particle_size: int | None,
    mode: str,
    sample: SampleMeta | None = None,
) -> MemHint:
    """The hint of a node that makes its output and nothing else."""
    check_mode(mode)
    return MemHint(output_bytes_per_sample(node, dtype=dtype, particle_size=particle_size))


def default_op_hint(
    node: Any,
    *,
    children: Iterable[Any],
    dtype: Any,
    particle_size: int | None,
    mode: str,
    sample: SampleMeta | None = None,
) -> MemHint:
    """The hint of a node that holds its children's outputs, broadcast, and makes its own."""
    check_mode(mode)
    children = tuple(children)
    known: dict[str, Any] = {"dtype": dtype, "particle_size": particle_size}
    broadcast = broadcast_extra_bytes_for_children(children=children, **known)
    own = MemHint(broadcast + output_bytes_per_sample(node, **known))
    return sum((child_hint(c, mode=mode, sample=sample, **known) for c in children), own)


def broadcast_extra_bytes_for_children(
    *, children: Iterable[Any], dtype: Any, particle_size: int | None
) -> int:
    """Bytes that shallow children take on top when repeated along the deepest one's particles."""
    children = tuple(children)
    deepest = max((_get(child, "pdepth") for child in children), default=0)
    if deepest == 0 or particle_size is None or particle_size <= 1:
        return 0
    particle_size = int(particle_size)
    return sum(
        output_bytes_per_sample(child, dtype=dtype, particle_size=particle_size)
        * (particle_size ** (deepest - _get(child, "pdepth")) - 1)
        for child in children
    )


def inflate_for_grad(hint: MemHint, *, factor: int | float = 2.0) -> MemHint:
    """The hint of a function for its gradient: per-sample bytes ``factor`` times."""
    return MemHint(int(hint.per_sample_bytes * factor), hint.persistent_bytes)


def child_hint(child: Any, *, sample: SampleMeta | None, **known: Any) -> MemHint:
    """``child.memory_hint(...)``, with what is known of the sample if the child takes that."""
    if sample is not None and _takes_sample(child.memory_hint):
        known["sample"] = sample
    return child.memory_hint(**known)


def check_mode(mode: str) -> None:
    """Refuse a mode that is neither ``"forward"`` nor ``"grad"``."""
    if mode not in ("forward", "grad"):
        raise ValueError(f'mode is "forward" or "grad", not {mode!r}.')


def _takes_sample(method: Any) -> bool:
    parameters = inspect.signature(method).parameters
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return any_keyword or "sample" in parameters


def _get(node: Any, attribute: str) -> int:
    return getattr(node, attribute, 0) or 0
