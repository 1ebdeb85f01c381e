"""`Sample`: what a state function is evaluated on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import Buffered, Index, Table
from instar.core.typing import HasPositions, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field, is_traced
from instar.statefunc.edges import Edges
from instar.statefunc.memhint import SampleMeta

__all__ = ["Sample"]

KNOWN = ("positions", "velocities", "mask", "edges", "system")


@dataclass
class Sample:
    """The state of some particles, or a batch of such states along leading axes.

    For P particles in a space of dimension d, and any leading batch axes ``...``:

        positions   (..., P, d)   Å; (..., d) for functions of one point without particles
        velocities  (..., P, d)
        mask        (..., P)      False where a particle is absent; without batch axes for all
        edges       Edges         with batch axes of their own, or one set for all samples
        system      (P,)          the system of each particle: many systems in one flat sample
        columns     (..., P, ...) anything else that particles have, by name

    With ``system``, a value per system has one leading row per system.
    """

    positions: Any
    velocities: Any = None
    mask: Any = None
    edges: Edges | None = None
    system: Index[SystemId] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit each other."""
        if not hasattr(self.positions, "shape"):
            return  # a tree of something else, such as the axes of jax.vmap
        x = self.positions.shape
        if len(x) < 1:
            raise ValueError("Positions have at least one axis, that of space: (particles, dim).")
        if not jnp.issubdtype(self.positions.dtype, jnp.floating):
            raise ValueError(f"Positions are floating-point numbers, not {self.positions.dtype}.")
        self._check_columns()
        if self.mask is not None:
            self._check_leading("mask", self.mask.shape, 1)
            if self.mask.dtype != bool:
                raise ValueError(
                    f"A mask is True for particles that are there, not of {self.mask.dtype}."
                )
        if self.system is not None:
            self._check_leading("system", self.system.shape, 1)
            if len(x) != 2:
                raise ValueError(
                    "A sample with a system column is flat: positions (particles, dim), "
                    f"not {x}.\nMany systems are one axis already; use jax.vmap for more."
                )
        if self.edges is not None:
            self._check_edges(self.edges)

    def _check_columns(self) -> None:
        x = self.positions.shape
        if self.velocities is not None and self.velocities.shape != x:
            raise ValueError(
                f"Positions have the shape {x}, velocities {self.velocities.shape}.\n"
                "Both are (..., particles, dim)."
            )
        for name, values in self.columns.items():
            if name in KNOWN:
                raise ValueError(f"{name} are a part of the sample already, not another column.")
            if values.shape[: len(x) - 1] != x[:-1]:
                raise ValueError(
                    f"Positions have the shape {x}, column {name!r} {values.shape}.\n"
                    f"A column has one row per particle: it starts with {x[:-1]}."
                )

    def _check_edges(self, edges: Edges) -> None:
        edges.check()
        particles = self.positions.shape[-2] if self.positions.ndim > 1 else 1
        if edges.particles != particles:
            raise ValueError(
                f"The edges name {edges.particles} particles, but there are {particles}.\n"
                "Make them for this number: Edges.between(first, second, particles=...)."
            )
        self._check_leading("edges", edges.indices.shape, 2, ignore=2)
        if edges.shifts is not None and edges.shifts.shape[-1] != self.positions.shape[-1]:
            raise ValueError(
                f"Positions have {self.positions.shape[-1]} coordinates, "
                f"shifts of edges {edges.shifts.shape[-1]}."
            )
        entries = edges.indices.indices
        if self.system is not None and not is_traced((self.system.indices, entries)):
            there = self.system.valid_mask if self.mask is None else self.mask
            if not is_traced(there):
                there = np.asarray(there) & np.asarray(self.system.valid_mask)
                self._check_systems(np.asarray(self.system.indices), np.asarray(entries), there)

    def _check_systems(self, system: Any, entries: Any, there: Any) -> None:
        pairs = entries[((entries >= 0) & (entries < len(system))).all(-1)]
        first, second = pairs[there[pairs].all(-1)].T
        crossing = system[first] != system[second]
        if crossing.any():
            i, j = first[crossing][0], second[crossing][0]
            raise ValueError(
                f"An edge joins particle {i} of system {system[i]} and {j} of {system[j]}.\n"
                "Particles of different systems do not interact."
            )

    def _check_leading(self, what: str, shape: Any, axes: int, ignore: int = 0) -> None:
        """``shape`` has no batch axes, or those of the positions."""
        batch, particles = self.positions.shape[:-2], self.positions.shape[-2:-1]
        own = shape[: len(shape) - axes]
        if own not in ((), batch) or (not ignore and shape[len(shape) - axes :] != particles):
            raise ValueError(
                f"Positions have the shape {self.positions.shape}, {what} {tuple(shape)}.\n"
                f"Leading axes are those of the positions, {batch}, or none at all."
            )

    @staticmethod
    def of(
        particles: Table[ParticleId, Any], edges: Edges | Table[Any, Edges] | None = None
    ) -> Sample:
        """A sample from a table of particles.

        Its data has ``positions``, and may have ``velocities`` and ``system``; other arrays
        become columns. Free rows of a `Buffered` are absent.
        """
        data = particles.data
        if not isinstance(data, HasPositions):
            raise TypeError(
                f"A sample needs particles with positions, but {type(data).__name__} has none."
            )
        system = getattr(data, "system", None)
        if isinstance(particles, Buffered):
            mask = particles.occupation
        else:
            mask = None if system is None else system.valid_mask
        others = {k: v for k, v in vars(data).items() if k not in KNOWN}
        if isinstance(edges, Table):
            edges = edges.data
        if edges is not None:
            known_keys = edges.indices.update_labels(particles.vocabulary)
            edges = dataclasses.replace(edges, indices=known_keys)
        return Sample(
            data.positions,
            getattr(data, "velocities", None),
            mask,
            edges,
            system,
            {k: jnp.asarray(v) for k, v in others.items() if isinstance(v, Array | np.ndarray)},
        )

    @property
    def meta(self) -> SampleMeta:
        """What a memory hint needs to know."""
        found = SampleMeta.from_arrays(self.positions, self.velocities, self.mask)
        edges = self.edges
        return SampleMeta(
            P=found.P,
            has_v=found.has_v,
            has_mask=found.has_mask,
            E=None if edges is None else len(edges),
            layout=None if edges is None else edges.layout,
        )
