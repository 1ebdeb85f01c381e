"""`Evaluation`: what a potential returns; `Request`: what was asked for."""

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.geometry import AllParticles, Cell

__all__ = ["Evaluation", "Request"]


@dataclass
class Request:
    """Which results are worked out; what is not asked for costs nothing."""

    energy: bool = field(static=True, default=True)
    forces: bool = field(static=True, default=True)
    virial: bool | Literal["trace"] = field(static=True, default=False)
    per_particle: bool = field(static=True, default=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields of an `Evaluation` that are asked for."""
        asked = (self.energy, self.forces, self.virial, self.per_particle)
        return tuple(name for name, wanted in zip(_NAMES, asked, strict=True) if wanted)


_NAMES = ("energy", "forces", "virial", "particle_energies")


@dataclass
class Evaluation:
    """Results of a potential; None where they were not asked for.

    energy     (systems,)      eV
    forces     (particles, 3)  eV/Å, zero for absent particles
    virial     (systems, 3, 3) eV, W = Σ r ⊗ f = −∂U/∂ε under the strain r → r·(1 + ε);
               only its trace is right where only that was asked for
    particle_energies (particles,)  eV; they add up to the energy
    """

    energy: Array | None = None
    forces: Array | None = None
    virial: Array | None = None
    particle_energies: Array | None = None

    @staticmethod
    def zero(everyone: AllParticles, request: Request) -> Evaluation:
        """What a potential without any energy returns: zeros for what is asked for."""
        dtype = everyone.positions.dtype
        zeros = {n: jnp.zeros(shape, dtype) for n, shape in _shapes(everyone).items()}
        return Evaluation(**zeros).only(request)

    def only(self, request: Request) -> Evaluation:
        """What was asked for, and no more."""
        return Evaluation(**{name: getattr(self, name) for name in request.names})

    def lacking(self, request: Request) -> list[str]:
        """What was asked for and is not there."""
        return [name for name in request.names if getattr(self, name) is None]

    def misshapen(self, everyone: AllParticles) -> list[tuple[str, Any, tuple[int, ...]]]:
        """Results of another shape than they must have: their name, that shape, and theirs."""
        found = ((name, getattr(self, name), needed) for name, needed in _shapes(everyone).items())
        return [
            (name, jnp.shape(value), needed)
            for name, value, needed in found
            if value is not None and jnp.shape(value) != needed
        ]

    def __add__(self, other: Evaluation) -> Evaluation:
        def both(a: Any, b: Any) -> Any:
            return b if a is None else a if b is None else a + b

        return Evaluation(*(both(getattr(self, n), getattr(other, n)) for n in _NAMES))

    def stress(self, cell: Cell) -> Array:
        """σ = −W/V (systems, 3, 3), eV/Å³: the sign of ASE, negative under compression.

        Zero for a system without an end, whose volume is infinite.
        """
        if self.virial is None:
            raise ValueError("The stress needs the virial: evaluate(..., virial=True).")
        return -self.virial / cell.volume[:, None, None]


def _shapes(everyone: AllParticles) -> dict[str, tuple[int, ...]]:
    systems, particles = everyone.count, everyone.positions.shape[0]
    shapes = ((systems,), (particles, 3), (systems, 3, 3), (particles,))
    return dict(zip(_NAMES, shapes, strict=True))
