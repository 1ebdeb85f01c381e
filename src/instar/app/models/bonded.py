"""Bonds, angles and dihedrals as they stand in configuration files."""

from __future__ import annotations

import dataclasses
import math
import operator
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from instar.app.models.base import (
    Angle,
    Energy,
    InverseLength,
    Length,
    Number,
    Stiffness,
    Strict,
    TorsionStiffness,
)
from instar.app.models.terms import TermsConfig
from instar.app.structures import Batch
from instar.potentials import (
    Bonded,
    CosineAngle,
    HarmonicAngle,
    HarmonicBond,
    HarmonicImproper,
    MorseBond,
    PeriodicDihedral,
    PeriodicImproper,
    Potential,
    RyckaertBellemansDihedral,
)

__all__ = [
    "CosineAngleConfig",
    "HarmonicAngleConfig",
    "HarmonicBondConfig",
    "HarmonicImproperConfig",
    "MorseBondConfig",
    "PeriodicDihedralConfig",
    "PeriodicImproperConfig",
    "RBDihedralConfig",
]


# Fields -----------------------------------------------------------------------------------


def _atoms(count: int) -> Any:
    """So many different atoms, counted within a structure from 0."""

    def checked(value: Any) -> tuple[int, ...]:
        if not isinstance(value, list | tuple | np.ndarray) or len(value) != count:
            raise ValueError(f"{count} atoms are needed, such as {list(range(count))}")
        for atom in value:
            whole = hasattr(atom, "__index__") and not isinstance(atom, bool)
            if not whole or operator.index(atom) < 0:
                raise ValueError(f"atoms are whole numbers, counted from 0; {atom!r} is none")
        if len(set(value)) < count:
            raise ValueError(f"an atom is named twice: {list(value)}")
        return tuple(operator.index(atom) for atom in value)

    return BeforeValidator(checked)


def _bend(value: float) -> float:
    if not 0 <= value <= math.pi:
        raise ValueError(f"is between 0 and 180 deg, not {math.degrees(value):g} deg")
    return value


def _six(value: tuple[float, ...]) -> tuple[float, ...]:
    if len(value) != 6:
        raise ValueError(f"6 coefficients are needed, C0 … C5, not {len(value)}")
    return value


def _listed(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise ValueError("a list of terms is needed")
    return value


def _whole(value: float) -> float:
    if value < 1 or value % 1:
        raise ValueError(f"is a whole number from 1, not {value:g}")
    return value


Pair = Annotated[tuple[int, ...], _atoms(2)]
Triple = Annotated[tuple[int, ...], _atoms(3)]
Quadruple = Annotated[tuple[int, ...], _atoms(4)]
Bend = Annotated[Angle, AfterValidator(_bend)]
Multiplicity = Annotated[Number, AfterValidator(_whole)]


# Terms ------------------------------------------------------------------------------------


class _HarmonicBond(Strict):
    atoms: Pair
    k: Annotated[Stiffness, Field(ge=0)]
    r0: Annotated[Length, Field(ge=0)]


class _MorseBond(Strict):
    atoms: Pair
    D: Annotated[Energy, Field(ge=0)]
    a: Annotated[InverseLength, Field(gt=0)]
    r0: Annotated[Length, Field(ge=0)]


class _HarmonicAngle(Strict):
    atoms: Triple
    k: Annotated[TorsionStiffness, Field(ge=0)]
    theta0: Bend


class _CosineAngle(Strict):
    atoms: Triple
    k: Annotated[Energy, Field(ge=0)]
    theta0: Bend


class _Periodic(Strict):
    atoms: Quadruple
    k: Energy
    n: Multiplicity
    phi0: Angle


class _RyckaertBellemans(Strict):
    atoms: Quadruple
    c: Annotated[tuple[Energy, ...], AfterValidator(_six)]


class _HarmonicImproper(Strict):
    atoms: Quadruple
    k: Annotated[TorsionStiffness, Field(ge=0)]
    phi0: Angle


# Kinds ------------------------------------------------------------------------------------


class _BondedConfig[Term: Strict](TermsConfig):
    """Terms of one kind, each with its atoms and parameters."""

    POTENTIAL: ClassVar[type[Bonded]]

    terms: Annotated[tuple[Term, ...], BeforeValidator(_listed)]

    def build(self, batch: Batch) -> Potential:
        """The potential for these structures."""
        columns = 1 + max(map(max, self.POTENTIAL.EDGES))
        terms = [term.model_dump() for term in self.terms]
        atoms = self.placed(batch, [term.pop("atoms") for term in terms], columns)
        names = [f.name for f in dataclasses.fields(self.POTENTIAL) if f.name != "atoms"]
        return self.POTENTIAL(atoms, **{n: self._column(batch, terms, n) for n in names})

    def _column(self, batch: Batch, terms: list[dict[str, Any]], name: str) -> np.ndarray:
        return self.repeated(batch, [term[name] for term in terms])


class _Bonds[Term: Strict](_BondedConfig[Term]):
    @property
    def bonds(self) -> list[tuple[int, int]]:
        """The two atoms of each bond, counted within a structure."""
        return [(term.atoms[0], term.atoms[1]) for term in self.terms]  # pyright: ignore


class HarmonicBondConfig(_Bonds[_HarmonicBond]):
    """`type: harmonic_bond`."""

    POTENTIAL = HarmonicBond
    type: Literal["harmonic_bond"]


class MorseBondConfig(_Bonds[_MorseBond]):
    """`type: morse_bond`."""

    POTENTIAL = MorseBond
    type: Literal["morse_bond"]


class HarmonicAngleConfig(_BondedConfig[_HarmonicAngle]):
    """`type: harmonic_angle`."""

    POTENTIAL = HarmonicAngle
    type: Literal["harmonic_angle"]


class CosineAngleConfig(_BondedConfig[_CosineAngle]):
    """`type: cosine_angle`."""

    POTENTIAL = CosineAngle
    type: Literal["cosine_angle"]


class PeriodicDihedralConfig(_BondedConfig[_Periodic]):
    """`type: periodic_dihedral`."""

    POTENTIAL = PeriodicDihedral
    type: Literal["periodic_dihedral"]


class RBDihedralConfig(_BondedConfig[_RyckaertBellemans]):
    """`type: rb_dihedral`."""

    POTENTIAL = RyckaertBellemansDihedral
    type: Literal["rb_dihedral"]

    def _column(self, batch: Batch, terms: list[dict[str, Any]], name: str) -> np.ndarray:
        """Six numbers a term."""
        return self.repeated(batch, [number for term in terms for number in term[name]]).reshape(
            -1, 6
        )


class HarmonicImproperConfig(_BondedConfig[_HarmonicImproper]):
    """`type: harmonic_improper`."""

    POTENTIAL = HarmonicImproper
    type: Literal["harmonic_improper"]


class PeriodicImproperConfig(_BondedConfig[_Periodic]):
    """`type: periodic_improper`."""

    POTENTIAL = PeriodicImproper
    type: Literal["periodic_improper"]
