"""Interactions of charges as they stand in configuration files."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, model_validator

from instar.app.models.base import (
    Charge,
    ConfigurationError,
    InverseLength,
    Number,
    Positive,
    Strict,
)
from instar.app.structures import Batch
from instar.potentials import Potential, cutoff_coulomb, ewald, ewald_with

__all__ = ["CoulombConfig", "CutoffCoulombConfig"]

ACCURACY = 1e-6
"""The rms force error (kₑe²/Å²) if none is asked for."""


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


class CoulombConfig(Strict):
    """`type: coulomb`: all images of all charges, for an accuracy or with given settings."""

    type: Literal["coulomb"]
    accuracy: Annotated[Number, Field(gt=0, lt=1)] | None = None
    method: Literal["auto", "ewald", "pme"] = "auto"
    alpha: Annotated[InverseLength, Field(gt=0)] | None = None
    real_cutoff: Positive | None = None
    k_max: NonNegativeInt | tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt] | None = None
    charges: dict[str, Charge] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> CoulombConfig:
        given = [x is not None for x in (self.alpha, self.real_cutoff, self.k_max)]
        if any(given) and not all(given):
            raise ValueError("alpha, real_cutoff and k_max are given together, or none of them")
        if any(given) and (self.accuracy is not None or self.method != "auto"):
            raise ValueError(
                "alpha, real_cutoff and k_max are all there is to say; leave out accuracy and "
                "method, or leave out those three"
            )
        return self

    def build(self, batch: Batch, shortest: float = 0.0) -> Potential:
        """The potential for these structures; pairs up to ``shortest`` (Å) are visited anyway."""
        system = batch.system
        charged = np.bincount(system, batch.charges != 0, minlength=len(batch.counts)) > 0
        for number in np.flatnonzero(charged & ~batch.periodic.all(axis=1)):
            raise ConfigurationError(
                f"coulomb: structure {number} has charges but does not repeat along all three "
                "axes, so it has no Ewald sum.\nGive it a periodic cell, or use cutoff_coulomb."
            )
        state = (batch.charges, system, batch.vectors)
        if self.alpha is None or self.real_cutoff is None or self.k_max is None:
            accuracy = ACCURACY if self.accuracy is None else self.accuracy
            return ewald(*state, accuracy, shortest=shortest, method=self.method)
        return ewald_with(*state, self.alpha, self.real_cutoff, self.k_max)
