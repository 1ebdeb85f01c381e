"""Potentials as they stand in configuration files: validated, with units."""

from __future__ import annotations

import difflib
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from instar.app.units import Dimension, quantity
from instar.potentials import (
    Buckingham,
    HarmonicTrap,
    LennardJones,
    Morse,
    Pair,
    Potential,
    SoftSphere,
    Sum,
    UniformField,
    Wall,
    WeeksChandlerAndersen,
    cutoff_coulomb,
)
from instar.potentials.weeks_chandler_andersen import RANGE

__all__ = ["Built", "ConfigurationError", "build"]


class ConfigurationError(ValueError):
    """A configuration with mistakes: all of them, each with its place and what to do."""


def _of(dimension: Dimension) -> Any:
    return BeforeValidator(lambda value: quantity(value, dimension))


Energy = Annotated[float, _of((1, 0, 0, 0, 0, 0))]
Length = Annotated[float, _of((0, 1, 0, 0, 0, 0))]
Positive = Annotated[float, _of((0, 1, 0, 0, 0, 0)), Field(gt=0)]
InverseLength = Annotated[float, _of((0, -1, 0, 0, 0, 0))]
Dispersion = Annotated[float, _of((1, 6, 0, 0, 0, 0))]
Stiffness = Annotated[float, _of((1, -2, 0, 0, 0, 0))]
Force = Annotated[float, _of((1, -1, 0, 0, 0, 0))]
Charge = Annotated[float, _of((0, 0, 0, 1, 0, 0))]
Number = Annotated[float, _of((0, 0, 0, 0, 0, 0))]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _EpsilonSigma(_Strict):
    epsilon: Annotated[Energy, Field(ge=0)]
    sigma: Positive


class _SoftSphere(_EpsilonSigma):
    n: Annotated[Number, Field(gt=3)] = 12.0


class _Buckingham(_Strict):
    A: Energy
    rho: Positive
    C: Dispersion


class _Morse(_Strict):
    D: Energy
    a: Annotated[InverseLength, Field(gt=0)]
    r0: Length


class _PairConfig(_Strict):
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


class _LennardJonesConfig(_PairConfig):
    type: Literal["lennard_jones"]
    mixing: Mixing | None = None
    parameters: dict[str, _EpsilonSigma] = {}
    pairs: dict[str, _EpsilonSigma] = {}

    def build(self) -> Potential:
        return self.built(LennardJones, self.mixing)


class _SoftSphereConfig(_PairConfig):
    type: Literal["soft_sphere"]
    mixing: Mixing | None = None
    parameters: dict[str, _SoftSphere] = {}
    pairs: dict[str, _SoftSphere] = {}

    def build(self) -> Potential:
        return self.built(SoftSphere, self.mixing)


class _BuckinghamConfig(_PairConfig):
    type: Literal["buckingham"]
    parameters: dict[str, _Buckingham] = {}
    pairs: dict[str, _Buckingham] = {}

    def build(self) -> Potential:
        return self.built(Buckingham)


class _MorseConfig(_PairConfig):
    type: Literal["morse"]
    parameters: dict[str, _Morse] = {}
    pairs: dict[str, _Morse] = {}

    def build(self) -> Potential:
        return self.built(Morse)


class _WcaConfig(_Strict):
    type: Literal["weeks_chandler_andersen"]
    mixing: Mixing | None = None
    parameters: dict[str, _EpsilonSigma] = {}
    pairs: dict[str, _EpsilonSigma] = {}

    def build(self) -> Potential:
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


class _CoulombConfig(_Strict):
    type: Literal["cutoff_coulomb"]
    cutoff: Positive
    method: Literal["plain", "wolf", "dsf"] = "dsf"
    alpha: Annotated[InverseLength, Field(ge=0)] = 0.0
    charges: dict[str, Charge] | None = None

    def build(self) -> Potential:
        return cutoff_coulomb(self.cutoff, self.method, self.alpha)


Vector = tuple[Length, Length, Length]


def _for_each_axis(value: Any) -> Any:
    """One value for all three axes, or one each."""
    return value if isinstance(value, list | tuple) else (value,) * 3


def _direction(value: tuple[float, ...]) -> tuple[float, ...]:
    if not any(value):
        raise ValueError("a direction is not zero along all axes")
    return value


class _TrapConfig(_Strict):
    type: Literal["harmonic_trap"]
    stiffness: Annotated[tuple[Stiffness, Stiffness, Stiffness], BeforeValidator(_for_each_axis)]
    centre: Vector = (0.0, 0.0, 0.0)

    def build(self) -> Potential:
        return HarmonicTrap(np.array(self.stiffness), np.array(self.centre))


class _FieldConfig(_Strict):
    type: Literal["uniform_field"]
    force: tuple[Force, Force, Force]
    strength: Literal["charges"] | None = None

    def build(self) -> Potential:
        return UniformField(np.array(self.force), self.strength)


class _WallConfig(_Strict):
    type: Literal["wall"]
    epsilon: Energy
    sigma: Positive
    point: Vector = (0.0, 0.0, 0.0)
    normal: Annotated[tuple[Number, Number, Number], AfterValidator(_direction)]

    def build(self) -> Potential:
        return Wall(
            np.float64(self.epsilon),
            np.float64(self.sigma),
            np.array(self.point),
            np.array(self.normal),
        )


PotentialConfig = Annotated[
    _LennardJonesConfig
    | _SoftSphereConfig
    | _BuckinghamConfig
    | _MorseConfig
    | _WcaConfig
    | _CoulombConfig
    | _TrapConfig
    | _FieldConfig
    | _WallConfig,
    Field(discriminator="type"),
]

_ADAPTER: TypeAdapter[Any] = TypeAdapter(list[PotentialConfig])


class Built(NamedTuple):
    """A potential, and the charges by label (e) that came with it."""

    potential: Potential
    charges: Mapping[str, float] | None = None


def build(potential: Any) -> Built:
    """A potential from an object, a mapping, or a list of mappings as in a configuration file."""
    if isinstance(potential, Potential):
        return Built(potential)
    if isinstance(potential, Mapping) and set(potential) == {"potential"}:
        potential = potential["potential"]
    entries = [potential] if isinstance(potential, Mapping) else potential
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise ConfigurationError(
            "A potential is an object of instar.potentials, a mapping with a type, or a list of "
            f"such mappings; not {potential!r}."
        )
    configs = _validated(list(entries))
    charges = [
        c.charges for c in configs if isinstance(c, _CoulombConfig) and c.charges is not None
    ]
    if len(charges) > 1:
        raise ConfigurationError("Charges are given twice; one table of charges is enough.")
    try:
        parts = [config.build() for config in configs]
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    whole = parts[0] if len(parts) == 1 else Sum(tuple(parts))
    return Built(whole, charges[0] if charges else None)


def _validated(entries: list[Any]) -> list[Any]:
    if any(isinstance(entry, Potential) for entry in entries):
        raise ConfigurationError("Add potentials up, a + b; a list is for mappings.")
    try:
        return _ADAPTER.validate_python(entries)
    except ValidationError as error:
        problems = [_problem(problem, entries) for problem in error.errors()]
        raise ConfigurationError("\n".join(problems)) from None


def _problem(problem: Any, entries: list[Any]) -> str:
    """One mistake: where it is, what it is, and the nearest name that would have been right."""
    number, *rest = problem["loc"]
    entry = entries[number]
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    rest = [part for part in rest if part != kind]
    place = ".".join([f"potential[{number}]", *map(str, rest)])
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = f"unknown key{_nearest(str(rest[-1]), _keys(kind, rest))}"
    elif problem["type"] == "missing":
        message = "is missing"
    elif problem["type"] == "union_tag_invalid":
        message = f"there is no type {kind!r}{_nearest(str(kind), _types())}"
    elif problem["type"] == "union_tag_not_found":
        message = f"has no type; types are {', '.join(_types())}"
    return f"{place}: {message}"


def _models() -> dict[str, type[BaseModel]]:
    union = typing.get_args(typing.get_args(PotentialConfig)[0])
    return {model.model_fields["type"].annotation.__args__[0]: model for model in union}


def _types() -> list[str]:
    return list(_models())


def _keys(kind: Any, rest: list[Any]) -> list[str]:
    model: Any = _models().get(str(kind))
    if model is None:
        return []
    if len(rest) == 1:
        return list(model.model_fields)
    values = model.model_fields[str(rest[0])].annotation.__args__[1]
    return list(values.model_fields)


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _pair(name: str) -> tuple[str, str]:
    parts = name.split("-")
    if len(parts) != 2 or not all(parts):
        raise ConfigurationError(f"{name!r} is no pair of labels; write them as 'Ar-Kr'.")
    return parts[0], parts[1]
