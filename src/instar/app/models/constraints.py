"""Constraints as they stand in configuration files."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, model_validator

from instar.app.models.base import Positive, Strict
from instar.app.models.terms import TermsConfig
from instar.app.structures import Batch
from instar.potentials import Potential
from instar.potentials.constraints import DistanceConstraint, RigidWater

__all__ = ["DistanceConstraintConfig", "RigidWaterConfig"]


class _Distance(Strict):
    atoms: tuple[NonNegativeInt, NonNegativeInt]
    r0: Positive


class DistanceConstraintConfig(TermsConfig):
    """`type: distance_constraint`."""

    type: Literal["distance_constraint"]
    terms: tuple[_Distance, ...]

    @property
    def bonds(self) -> list[tuple[int, int]]:
        """Pairs of atoms at a fixed distance, counted within a structure."""
        return [term.atoms for term in self.terms]

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        atoms = self.placed(batch, [term.atoms for term in self.terms], 2)
        return DistanceConstraint(atoms, self.repeated(batch, [term.r0 for term in self.terms]))


class _Water(Strict):
    atoms: tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt]
    oh: Positive
    hh: Positive

    @model_validator(mode="after")
    def _is_triangle(self) -> _Water:
        if self.hh >= 2 * self.oh:
            raise ValueError(
                f"there is no triangle with oh = {self.oh} Å and hh = {self.hh} Å; "
                "hh must be below twice oh"
            )
        return self


class RigidWaterConfig(TermsConfig):
    """`type: rigid_water`; atoms in the order O, H, H."""

    type: Literal["rigid_water"]
    terms: tuple[_Water, ...]

    @property
    def bonds(self) -> list[tuple[int, int]]:
        """O–H, O–H and H–H of each water, counted within a structure."""
        pairs = ((0, 1), (0, 2), (1, 2))
        return [(term.atoms[a], term.atoms[b]) for term in self.terms for a, b in pairs]

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        atoms = self.placed(batch, [term.atoms for term in self.terms], 3)
        oh, hh = ([getattr(term, name) for term in self.terms] for name in ("oh", "hh"))
        return RigidWater(atoms, self.repeated(batch, oh), self.repeated(batch, hh))
