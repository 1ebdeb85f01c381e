"""Interactions of charges as they stand in configuration files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from instar.app.models.base import Charge, InverseLength, Positive, Strict
from instar.app.structures import Batch
from instar.potentials import Potential, cutoff_coulomb

__all__ = ["CutoffCoulombConfig"]


class CutoffCoulombConfig(Strict):
    """`type: cutoff_coulomb`."""

    type: Literal["cutoff_coulomb"]
    cutoff: Positive
    method: Literal["plain", "wolf", "dsf"] = "dsf"
    alpha: Annotated[InverseLength, Field(ge=0)] = 0.0
    charges: dict[str, Charge] | None = None

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return cutoff_coulomb(self.cutoff, self.method, self.alpha)
