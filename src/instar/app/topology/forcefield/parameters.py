"""Parameters of a force field by the types of the atoms that they act on.

Of several definitions of a bond or an angle the first holds. Of a proper torsion the first
without a wildcard holds, else the first. See `torsions` for impropers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from instar.app.config.units import UNITS
from instar.app.topology.base import Place, Term, with_sigma
from instar.app.topology.forcefield.xml import ForceField, shown, value

__all__ = ["Definition", "Nonbonded", "Parameters", "Torsion", "read_parameters"]

_KJ = UNITS["kJ/mol"][0]
_NM = UNITS["nm"][0]

Types = frozenset[str] | None
"""The types that a definition is for; None for all."""


@dataclass(frozen=True)
class Definition:
    """What acts on atoms of these types: terms."""

    types: tuple[Types, ...]
    terms: list[Term]
    ordering: str = "default"

    @property
    def wildcard(self) -> bool:
        """Whether one of its atoms may be of any type."""
        return None in self.types

    def fits(self, types: tuple[str, ...]) -> bool:
        """Whether it is for these types, in this order or the reverse."""
        return self.fits_in_order(types) or self.fits_in_order(types[::-1])

    def fits_in_order(self, types: tuple[str, ...]) -> bool:
        """Whether it is for these types in this order."""
        pairs = zip(self.types, types, strict=True)
        return all(own is None or name in own for own, name in pairs)


@dataclass(frozen=True)
class Torsion:
    """Propers and impropers of one force."""

    propers: list[Definition] = field(default_factory=list)
    impropers: list[Definition] = field(default_factory=list)


@dataclass
class Nonbonded:
    """Lennard-Jones parameters (eV, Å) and charges (e) by type; factors of pairs 1-4 apart."""

    lennard_jones: dict[str, dict[str, float]] = field(default_factory=dict)
    charges: dict[str, float] = field(default_factory=dict)
    from_residue: bool = False
    factors: tuple[float, float] | None = None


@dataclass(frozen=True)
class Parameters:
    """All of a force field."""

    bonds: list[Definition]
    angles: list[Definition]
    torsions: list[Torsion]
    nonbonded: Nonbonded


def read_parameters(force_field: ForceField) -> Parameters:
    """The forces of a force field as definitions by type."""
    families: dict[str, set[str]] = {}
    for kind in force_field.types.values():
        families.setdefault(kind.family, set()).add(kind.name)
    reader = _Reader(force_field, families)
    return Parameters(
        reader.definitions("HarmonicBondForce", "Bond"),
        reader.definitions("HarmonicAngleForce", "Angle"),
        [reader.torsions("PeriodicTorsionForce"), reader.torsions("RBTorsionForce")],
        reader.nonbonded(),
    )


_ATOMS = {"Bond": 2, "Angle": 3, "Proper": 4, "Improper": 4}


class _Reader:
    def __init__(self, force_field: ForceField, families: dict[str, set[str]]) -> None:
        self.force_field, self.families = force_field, families

    def definitions(self, force: str, tag: str) -> list[Definition]:
        found: list[Definition] = []
        for place, element in self.force_field.forces[force]:
            ordering = element.get("ordering", "default")
            for child in self.children(place, element):
                types = self.types(place, child) if child.tag == tag else None
                if types is not None:
                    found.append(Definition(types, _TERMS[force](place, child), ordering))
        return found

    def children(self, place: Place, element: Element) -> list[Element]:
        known = ("Bond", "Angle", "Proper", "Improper")
        for child in element:
            if child.tag not in known:
                raise place.error(f"<{element.tag}> has an unknown {shown(child)}.")
        return list(element)

    def torsions(self, force: str) -> Torsion:
        impropers = self.definitions(force, "Improper")
        for definition in impropers:
            if definition.ordering not in ("default", "amber", "charmm"):
                place = self.force_field.forces[force][0][0]
                raise place.error(
                    f"the ordering {definition.ordering!r} of impropers is not supported.",
                    "Supported orderings: default, amber, charmm.",
                )
        return Torsion(self.definitions(force, "Proper"), impropers)

    def types(self, place: Place, element: Element) -> tuple[Types, ...] | None:
        """The types of a definition; None where it is for types that are not there."""
        numbers = range(1, _ATOMS[element.tag] + 1)
        found = [self.named(place, element, str(number)) for number in numbers]
        return None if any(types == frozenset() for types in found) else tuple(found)

    def named(self, place: Place, element: Element, number: str) -> Types:
        kind, family = element.get(f"type{number}"), element.get(f"class{number}")
        if (kind is None) == (family is None):
            raise place.error(
                f"{shown(element)} needs either type{number} or class{number}, not both."
            )
        if "" in (kind, family):
            return None
        if kind is not None:
            return frozenset([kind] if kind in self.force_field.types else [])
        return frozenset(self.families.get(str(family), ()))

    def nonbonded(self) -> Nonbonded:
        found = Nonbonded()
        for place, element in self.force_field.forces["NonbondedForce"]:
            factors = (value(place, element, "lj14scale"), value(place, element, "coulomb14scale"))
            if found.factors is not None and not _close(found.factors, factors):
                raise place.error(
                    f"the factors of pairs 1-4 apart are {factors}, in another file they are "
                    f"{found.factors} (Lennard-Jones, Coulomb).",
                    "Take force fields that belong together.",
                )
            found.factors = found.factors or factors
            for child in element:
                self.nonbonded_child(found, place, child)
        return found

    def nonbonded_child(self, found: Nonbonded, place: Place, child: Element) -> None:
        if child.tag == "UseAttributeFromResidue" and child.get("name") == "charge":
            found.from_residue = True
        elif child.tag == "Atom":
            self.nonbonded_atom(found, place, child)
        else:
            raise place.error(f"{shown(child)} in <NonbondedForce> is not supported.")

    def nonbonded_atom(self, found: Nonbonded, place: Place, atom: Element) -> None:
        types = self.named(place, atom, "")
        epsilon, sigma = (value(place, atom, key) for key in ("epsilon", "sigma"))
        values = with_sigma(epsilon * _KJ, sigma * _NM)
        if values is None or epsilon < 0:
            raise place.error(f"{shown(atom)}: epsilon and sigma are not above 0.")
        for name in self.force_field.types if types is None else types:
            found.lennard_jones[name] = values
            if "charge" in atom.attrib:
                found.charges[name] = value(place, atom, "charge")


def _close(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(one, other, strict=True))


def _bond(place: Place, bond: Element) -> list[Term]:
    k, length = value(place, bond, "k"), value(place, bond, "length")
    return [Term("harmonic_bond", {"k": k * _KJ / _NM**2, "r0": length * _NM})]


def _angle(place: Place, angle: Element) -> list[Term]:
    k, theta = value(place, angle, "k"), value(place, angle, "angle")
    return [Term("harmonic_angle", {"k": k * _KJ, "theta0": theta})]


def _periodic(place: Place, torsion: Element) -> list[Term]:
    kind = "periodic_dihedral" if torsion.tag == "Proper" else "periodic_improper"
    terms, number = [], 1
    while f"periodicity{number}" in torsion.attrib:
        keys = ("periodicity", "phase", "k")
        n, phase, k = (value(place, torsion, f"{key}{number}") for key in keys)
        if k != 0 and (n != int(n) or n < 1):
            raise place.error(f"{shown(torsion)}: a periodicity must be a whole number above 0.")
        terms.append(Term(kind, {"n": int(n), "phi0": phase, "k": k * _KJ}))
        number += 1
    if not terms:
        raise place.error(f"{shown(torsion)} has no attribute 'periodicity1'.")
    return [term for term in terms if term.parameters["k"] != 0]


def _rb(place: Place, torsion: Element) -> list[Term]:
    return [Term("rb_dihedral", {"c": [value(place, torsion, f"c{n}") * _KJ for n in range(6)]})]


_TERMS = {
    "HarmonicBondForce": _bond,
    "HarmonicAngleForce": _angle,
    "PeriodicTorsionForce": _periodic,
    "RBTorsionForce": _rb,
}
