"""The Coulomb interaction of periodic systems, as an entry of a configuration."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from instar.core.utils.declaration import option
from instar.potentials.entry import Entry, configured
from instar.potentials.ewald.ewald import not_periodic
from instar.potentials.ewald.making import ewald, ewald_with
from instar.potentials.pair import without_charges
from instar.potentials.potential import Potential
from instar.potentials.structures import Problem, Structures

__all__ = ["CoulombEntry"]

ACCURACY = 1e-6
"""The rms force error (kₑe²/Å²) if none is asked for."""


def _attainable(accuracy: float | None) -> float | None:
    if accuracy is not None and accuracy < 1e-14:
        raise ValueError(f"is at least 1e-14, which double precision resolves; not {accuracy:g}")
    return accuracy


@configured("coulomb")
@dataclasses.dataclass(frozen=True, kw_only=True)
class CoulombEntry(Entry):
    """Coulomb interaction of all images of all charges: an Ewald sum, by waves or on a mesh.

    It is made for an ``accuracy``, or with ``alpha``, ``real_cutoff`` and ``k_max``.
    """

    CHOOSES_REACH: ClassVar[bool] = True
    OF_CHARGES: ClassVar[bool] = True

    accuracy: float | None = option(
        "root mean square error of forces, in kₑe²/Å²; 1e-6 if left out",
        default=None,
        above=0,
        below=1,
        check=_attainable,
        example=1e-6,
    )
    method: Literal["auto", "ewald", "pme"] = option(
        "wave by wave, on a mesh, or whichever is faster", default="auto"
    )
    alpha: float | None = option(
        "width α of the screening", unit="1/angstrom", default=None, above=0
    )
    real_cutoff: float | None = option(
        "cutoff of the sum over pairs", unit="angstrom", default=None, above=0
    )
    k_max: int | tuple[int, int, int] | None = option(
        "waves along each axis", default=None, least=0
    )
    charges: dict[str, float] | None = option(
        "charges by label, instead of those of the structures", unit="e", default=None
    )

    def __post_init__(self) -> None:
        """One way of saying how accurate it is."""
        given = [x is not None for x in (self.alpha, self.real_cutoff, self.k_max)]
        if any(given) and not all(given):
            raise ValueError("alpha, real_cutoff and k_max are given together, or none of them")
        if any(given) and (self.accuracy is not None or self.method != "auto"):
            raise ValueError(
                "alpha, real_cutoff and k_max are all there is to say; leave out accuracy and "
                "method, or leave out those three"
            )

    def check(self, structures: Structures) -> list[Problem]:
        """Charges, in cells that repeat."""
        return without_charges(structures) + not_periodic(structures)

    def made(self, structures: Structures, shortest: float) -> Potential:
        """The potential for the charges of these structures."""
        state = (structures.charges, structures.system, structures.vectors)
        if self.alpha is None or self.real_cutoff is None or self.k_max is None:
            accuracy = ACCURACY if self.accuracy is None else self.accuracy
            return ewald(*state, accuracy, shortest=shortest, method=self.method)
        return ewald_with(*state, self.alpha, self.real_cutoff, self.k_max)
