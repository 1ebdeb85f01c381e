"""Potentials as they stand in configuration files: validated, then made for structures."""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from instar.app.models.ase import AseConfig
from instar.app.models.base import ConfigurationError, shown
from instar.app.models.bonded import (
    CosineAngleConfig,
    HarmonicAngleConfig,
    HarmonicBondConfig,
    HarmonicImproperConfig,
    MorseBondConfig,
    PeriodicDihedralConfig,
    PeriodicImproperConfig,
    RBDihedralConfig,
)
from instar.app.models.constraints import DistanceConstraintConfig, RigidWaterConfig
from instar.app.models.coulomb import CoulombConfig, CutoffCoulombConfig
from instar.app.models.exclusions import ExclusionsConfig, exclusions_of
from instar.app.models.external import FieldConfig, TrapConfig, WallConfig
from instar.app.models.pair import (
    BuckinghamConfig,
    LennardJonesConfig,
    MorseConfig,
    SoftSphereConfig,
    WcaConfig,
)
from instar.app.structures import Batch
from instar.potentials import Potential, Sum

__all__ = ["Built", "ConfigurationError", "build", "nearest"]

PotentialConfig = Annotated[
    LennardJonesConfig
    | SoftSphereConfig
    | BuckinghamConfig
    | MorseConfig
    | WcaConfig
    | CoulombConfig
    | CutoffCoulombConfig
    | ExclusionsConfig
    | HarmonicBondConfig
    | MorseBondConfig
    | HarmonicAngleConfig
    | CosineAngleConfig
    | PeriodicDihedralConfig
    | RBDihedralConfig
    | HarmonicImproperConfig
    | PeriodicImproperConfig
    | DistanceConstraintConfig
    | RigidWaterConfig
    | AseConfig
    | TrapConfig
    | FieldConfig
    | WallConfig,
    Field(discriminator="type"),
]

_ADAPTER: TypeAdapter[Any] = TypeAdapter(list[PotentialConfig])


@dataclass(frozen=True)
class Built:
    """A validated potential: an object, or entries that still have to see the structures."""

    given: Potential | None = None
    entries: tuple[Any, ...] = ()

    @property
    def charges(self) -> Mapping[str, float] | None:
        """Charges by label (e) that came with it."""
        tables = [c for entry in self.entries if (c := getattr(entry, "charges", None)) is not None]
        if len(tables) > 1:
            raise ConfigurationError("Charges are given twice; one table of charges is enough.")
        return tables[0] if tables else None

    def check_structures(self, count: int) -> None:
        """Refuse terms for a structure with a number that there is not."""
        for entry in self.entries:
            for number in getattr(entry, "structures", None) or ():
                if number >= count:
                    raise ConfigurationError(
                        f"{entry.type}: there is no structure {number}; there are {count}, counted "
                        "from 0."
                    )

    def among(self, structures: range) -> Built:
        """The potential of some of the structures, which are counted anew.

        Numbers of structures that there are not would be lost: see `check_structures`.
        """

        def counted(entry: Any) -> Any:
            if getattr(entry, "structures", None) is None:
                return entry
            kept = tuple(n - structures.start for n in entry.structures if n in structures)
            return entry.model_copy(update={"structures": kept})

        return dataclasses.replace(self, entries=tuple(map(counted, self.entries)))

    def potential(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        if self.given is not None:
            return self.given
        if len(batch.counts):
            self.check_structures(len(batch.counts))
        try:
            whole = _summed(self.entries, batch)
            exclusions = exclusions_of(self.entries, batch)
        except ConfigurationError:
            raise
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        return whole if exclusions is None else whole.excluding(exclusions)


def _summed(entries: tuple[Any, ...], batch: Batch) -> Potential:
    """All entries added up; those that choose how far they reach come last."""
    fixed = [e for e in entries if not isinstance(e, CoulombConfig | ExclusionsConfig)]
    parts = [entry.build(batch) for entry in fixed]
    reaches = [float(np.max(part.reach)) for part in parts if part.reach is not None]
    charged = [entry for entry in entries if isinstance(entry, CoulombConfig)]
    if len(charged) + sum(isinstance(entry, CutoffCoulombConfig) for entry in entries) > 1:
        raise ConfigurationError("Charges would interact twice: give one coulomb entry.")
    parts += [entry.build(batch, max(reaches, default=0.0)) for entry in charged]
    if not parts:
        raise ConfigurationError("exclusions: there is nothing that they could be excluded from.")
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


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
    built = Built(entries=tuple(_validated(list(entries))))
    _ = built.charges, built.potential(Batch.of([]))  # what is wrong for any structures
    return built


def _validated(entries: list[Any]) -> list[Any]:
    if any(isinstance(entry, Potential) for entry in entries):
        raise ConfigurationError("Add potentials up, a + b; a list is for mappings.")
    try:
        return _ADAPTER.validate_python(entries)
    except ValidationError as error:
        problems = [_problem(problem, entries) for problem in error.errors()]
        lines = [f"{shown(place)}: {message}" for place, message in problems]
        raise ConfigurationError("\n".join(lines), problems) from None


def _problem(problem: Any, entries: list[Any]) -> tuple[tuple[Any, ...], str]:
    """One mistake: where it is, what it is, and the nearest name that would have been right."""
    number, *rest = problem["loc"]
    entry = entries[number]
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    rest = [part for part in rest if part != kind]
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        message = f"unknown key{nearest(str(rest[-1]), _keys(kind, rest))}"
    elif problem["type"] == "missing":
        message = "is missing"
    elif problem["type"] == "union_tag_invalid":
        message = f"there is no type {kind!r}{nearest(str(kind), _types())}"
    elif problem["type"] == "union_tag_not_found":
        message = f"has no type; types are {', '.join(_types())}"
    return ("potential", number, *rest), message


def _models() -> dict[str, type[BaseModel]]:
    union = typing.get_args(typing.get_args(PotentialConfig)[0])
    return {model.model_fields["type"].annotation.__args__[0]: model for model in union}


def _types() -> list[str]:
    return list(_models())


def _keys(kind: Any, rest: list[Any]) -> list[str]:
    """The keys that are known where the last part of a place stands."""
    known: Any = _models().get(str(kind))
    for part in rest[:-1]:
        if hasattr(known, "model_fields"):
            known = known.model_fields[str(part)].annotation
        else:  # dict[str, X] or tuple[X, ...]
            known = typing.get_args(known)[0 if isinstance(part, int) else 1]
    return list(getattr(known, "model_fields", ()))


def nearest(name: str, known: list[str]) -> str:
    """The known name that was probably meant, or all of them."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"
