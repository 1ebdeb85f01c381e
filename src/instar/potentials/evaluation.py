"""`Evaluation`: what a potential returns; `Request`: what was asked for."""

from __future__ import annotations

from typing import Any, Literal

from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.geometry import Cell

__all__ = ["Evaluation", "Request"]


@dataclass
class Request:
    """Which results are worked out; what is not asked for costs nothing."""

    energy: bool = field(static=True, default=True)
    forces: bool = field(static=True, default=True)
    virial: bool | Literal["trace"] = field(static=True, default=False)
    per_particle: bool = field(static=True, default=False)


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

    def __add__(self, other: Evaluation) -> Evaluation:
        def both(a: Any, b: Any) -> Any:
            return b if a is None else a if b is None else a + b

        names = ("energy", "forces", "virial", "particle_energies")
        return Evaluation(*(both(getattr(self, n), getattr(other, n)) for n in names))

    def stress(self, cell: Cell) -> Array:
        """σ = −W/V (systems, 3, 3), eV/Å³: the sign of ASE, negative under compression.

        Zero for a system without an end, whose volume is infinite.
        """
        if self.virial is None:
            raise ValueError("The stress needs the virial: evaluate(..., virial=True).")
        return -self.virial / cell.volume[:, None, None]
