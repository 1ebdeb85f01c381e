"""Pair potentials as they stand in configuration files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from instar.app.models.base import (
    ConfigurationError,
    Dispersion,
    Energy,
    InverseLength,
    Length,
    Number,
    Positive,
    Strict,
)
from instar.app.structures import Batch
from instar.potentials import (
    Buckingham,
    LennardJones,
    Morse,
    Pair,
    Potential,
    SoftSphere,
    WeeksChandlerAndersen,
)
from instar.potentials.weeks_chandler_andersen import RANGE

__all__ = [
    "BuckinghamConfig",
    "LennardJonesConfig",
    "MorseConfig",
    "SoftSphereConfig",
    "WcaConfig",
]


class _EpsilonSigma(Strict):
    epsilon: Annotated[Energy, Field(ge=0)]
    sigma: Positive


class _SoftSphere(_EpsilonSigma):
    n: Annotated[Number, Field(gt=3)] = 12.0


class _Buckingham(Strict):
    A: Energy
    rho: Positive
    C: Dispersion


class _Morse(Strict):
    D: Energy
    a: Annotated[InverseLength, Field(gt=0)]
    r0: Length


class _PairConfig(Strict):
    """What all pair potentials have."""

    cutoff: Positive
    truncation: Literal["truncate", "shift", "force_shift", "switch", "tail"] = "truncate"
    inner: Length | None = None

    def built(self, formula: type[Any], mixing: str | None = None) -> Potential:
        """The potential, from parameters by species and by pair."""
        parameters, pairs = self.parameters, self.pairs  # pyright: ignore[reportAttributeAccessIssue]
        return Pair.of(
            formula,
            {label: values.model_dump() for label, values in parameters.items()},
            self.cutoff,
            mixing=mixing,
            pairs={_pair(name): values.model_dump() for name, values in pairs.items()},
            truncation=self.truncation,
            inner=self.inner,
        )


Mixing = Literal["lorentz_berthelot", "geometric"]


class LennardJonesConfig(_PairConfig):
    """`type: lennard_jones`."""

    type: Literal["lennard_jones"]
    mixing: Mixing | None = None
    parameters: dict[str, _EpsilonSigma] = {}
    pairs: dict[str, _EpsilonSigma] = {}

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return self.built(LennardJones, self.mixing)


class SoftSphereConfig(_PairConfig):
    """`type: soft_sphere`."""

    type: Literal["soft_sphere"]
    mixing: Mixing | None = None
    parameters: dict[str, _SoftSphere] = {}
    pairs: dict[str, _SoftSphere] = {}

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return self.built(SoftSphere, self.mixing)


class BuckinghamConfig(_PairConfig):
    """`type: buckingham`."""

    type: Literal["buckingham"]
    parameters: dict[str, _Buckingham] = {}
    pairs: dict[str, _Buckingham] = {}

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return self.built(Buckingham)


class MorseConfig(_PairConfig):
    """`type: morse`."""

    type: Literal["morse"]
    parameters: dict[str, _Morse] = {}
    pairs: dict[str, _Morse] = {}

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        return self.built(Morse)


class WcaConfig(Strict):
    """`type: weeks_chandler_andersen`."""

    type: Literal["weeks_chandler_andersen"]
    mixing: Mixing | None = None
    parameters: dict[str, _EpsilonSigma] = {}
    pairs: dict[str, _EpsilonSigma] = {}

    def build(self, batch: Batch) -> Potential:
        """It ends by itself, at the largest minimum."""
        sizes = [p.sigma for p in (*self.parameters.values(), *self.pairs.values())]
        cutoff = RANGE * max(sizes, default=1.0)
        return Pair.of(
            WeeksChandlerAndersen,
            {label: values.model_dump() for label, values in self.parameters.items()},
            cutoff,
            mixing=self.mixing,
            pairs={_pair(name): values.model_dump() for name, values in self.pairs.items()},
        )


def _pair(name: str) -> tuple[str, str]:
    parts = name.split("-")
    if len(parts) != 2 or not all(parts):
        raise ConfigurationError(f"{name!r} is no pair of labels; write them as 'Ar-Kr'.")
    return parts[0], parts[1]
