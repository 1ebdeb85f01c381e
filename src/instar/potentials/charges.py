"""Coulomb up to a cutoff as potentials: plain, Wolf, damped and shifted in force (DSF)."""

from __future__ import annotations

from typing import Any

import numpy as np

from instar.core.utils.jax import dataclass
from instar.geometry import System, per_system
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.exclusions import Exclusions
from instar.potentials.pair import Pair, column
from instar.potentials.pair_sum import Term
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.truncation import subtracted

__all__ = ["METHODS", "DampedCoulomb", "cutoff_coulomb"]

METHODS = {"plain": "truncate", "wolf": "shift", "dsf": "force_shift"}
"""How each method ends at the cutoff."""


def cutoff_coulomb(cutoff: int | float, method: str = "dsf", alpha: int | float = 0.0) -> Potential:
    """Coulomb interaction of the column ``charges`` (e) of particles, up to ``cutoff`` (Å).

    ``method``: plain (cut, no more), wolf or dsf, both with the damping ``alpha`` (1/Å).
    """
    if method not in METHODS:
        raise PotentialError(f"There is no method {method!r}; there are {', '.join(METHODS)}.")
    if method == "plain" and alpha != 0:
        raise PotentialError("The plain Coulomb interaction is not damped; alpha must be 0.")
    formula = ScreenedCoulomb(np.float64(alpha))
    pairs = Pair(formula, np.float64(cutoff), truncation=METHODS[method], strength="charges")
    return pairs if method == "plain" else DampedCoulomb(pairs)


@dataclass
class DampedCoulomb(Potential):
    """A damped sum over pairs, and what each charge has with itself in it."""

    pairs: Pair

    @property
    def reach(self) -> Any:
        """The cutoff (Å)."""
        return self.pairs.reach

    @property
    def exclusions(self) -> Exclusions | None:
        """Those of the pairs."""
        return self.pairs.exclusions

    def excluding(self, exclusions: Exclusions) -> DampedCoulomb:
        """Without the bare interaction of these pairs, but for its factors."""
        return DampedCoulomb(self.pairs.excluding(exclusions))

    def term(self, system: System) -> Term:
        """The sum over pairs."""
        return self.pairs.term(system)

    def apart_from_pairs(self, system: System, request: Request) -> Evaluation:
        """−½ kₑ q² (2α/√π + c) for each particle; it exerts no force."""
        pairs = self.pairs
        constant = subtracted(pairs.formula, pairs.truncation, pairs.cutoff)
        charges = column(system, "charges")
        energies = pairs.formula.self_energy(constant) * charges**2
        own = Evaluation(
            energy=per_system(energies, system) if request.energy else None,
            particle_energies=energies if request.per_particle else None,
        )
        return own + pairs.apart_from_pairs(system, request)
