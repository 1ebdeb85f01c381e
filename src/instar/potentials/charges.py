"""Coulomb up to a cutoff as potentials: plain, Wolf, damped and shifted in force (DSF)."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.geometry import AllParticles
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.entry import Entry, configured
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.exclusions import Exclusions
from instar.potentials.pair import Pair, column
from instar.potentials.pair_sum import PairTerm
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.structures import Problem, Structures
from instar.potentials.truncation import subtracted

__all__ = ["METHODS", "CutoffCoulombEntry", "DampedCoulomb", "cutoff_coulomb"]

METHODS = {"plain": "truncate", "wolf": "shift", "dsf": "force_shift"}
"""How each method ends at the cutoff."""


def cutoff_coulomb(cutoff: int | float, method: str = "dsf", alpha: int | float = 0.0) -> Potential:
    """The Coulomb interaction up to a cutoff: plain, Wolf, or damped and shifted in force (DSF).

        u(r) = kₑ q q' erfc(αr)/r        α = 0: plain

    Wolf shifts it to zero at the cutoff, DSF shifts energy and force; both add what each charge has
    with itself. D. Wolf et al., J. Chem. Phys. 110, 8254 (1999); C. J. Fennell, J. D. Gezelter,
    J. Chem. Phys. 124, 234104 (2006). All images of periodic systems: `ewald`.

    Parameters
    ----------
    cutoff
        In Å.
    method
        "plain" (only cut), "wolf" or "dsf".
    alpha
        The damping α in 1/Å; zero for "plain".

    Returns
    -------
    Potential
        Of the column ``charges`` (e) of particles.

    Raises
    ------
    PotentialError
        If there is no such method, a plain one is damped, or the cutoff is not above zero.

    Examples
    --------
    >>> from instar.potentials import cutoff_coulomb
    >>> print(cutoff_coulomb(9.0, method="dsf", alpha=0.2).reach)
    9.0
    """
    if method not in METHODS:
        raise PotentialError(f"There is no method {method!r}; there are {', '.join(METHODS)}.")
    if method == "plain" and alpha != 0:
        raise PotentialError("The plain Coulomb interaction is not damped; alpha must be 0.")
    formula = ScreenedCoulomb(np.float64(alpha))
    pairs = Pair(formula, np.float64(cutoff), truncation=METHODS[method], strength="charges")
    return pairs if method == "plain" else DampedCoulomb(pairs)


@configured("cutoff_coulomb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class CutoffCoulombEntry(Entry):
    """Coulomb interaction up to a cutoff: plain, Wolf, or damped and shifted in force (DSF)."""

    OF_CHARGES: ClassVar[bool] = True

    cutoff: float = option(
        "distance up to which charges interact", unit="angstrom", above=0, example=8.0
    )
    method: Literal["plain", "wolf", "dsf"] = option("how it ends at the cutoff", default="dsf")
    alpha: float = option("damping α", unit="1/angstrom", default=0.0, least=0)
    charges: dict[str, float] | None = option(
        "charges by label, instead of those of the structures", unit="e", default=None
    )

    def made(self, structures: Structures, shortest: float) -> Potential:
        """The potential: the same for any structures."""
        return cutoff_coulomb(self.cutoff, self.method, self.alpha)


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

    @property
    def is_general(self) -> bool:
        """Whether the sum over pairs is."""
        return self.pairs.is_general

    @property
    def has_known_cost(self) -> bool:
        """A pass over the neighbors."""
        return True

    def check(self, structures: Structures) -> list[Problem]:
        """Charges."""
        return self.pairs.check(structures)

    def pair_term(self, everyone: AllParticles) -> PairTerm:
        """The sum over pairs."""
        return self.pairs.pair_term(everyone)

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """−½ kₑ q² (2α/√π + c) for each particle; it exerts no force."""
        pairs = self.pairs
        constant = subtracted(pairs.formula, pairs.truncation, pairs.cutoff)
        charges = column(everyone, "charges")
        energies = pairs.formula.self_energy(constant) * charges**2
        own = Evaluation(
            energy=everyone.system.sum_over(energies).data if request.energy else None,
            particle_energies=energies if request.per_particle else None,
        )
        return own + pairs.apart_from_pairs(everyone, request)
