"""Force fields in the XML format of OpenMM, with their units of nm, kJ/mol and degrees or rad."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from instar.app.topology.base import Place, check_bytes

__all__ = ["AtomType", "ForceField", "Template", "TemplateAtom", "read_files"]

_FORCES = (
    "HarmonicBondForce",
    "HarmonicAngleForce",
    "PeriodicTorsionForce",
    "RBTorsionForce",
    "NonbondedForce",
)


@dataclass(frozen=True)
class AtomType:
    """A type of atoms."""

    name: str
    family: str
    element: str | None
    mass: float


@dataclass(frozen=True)
class TemplateAtom:
    """An atom of a residue: its name and type, its charge (e) if it has one of its own."""

    name: str
    type: str
    charge: float | None


@dataclass(frozen=True)
class Template:
    """A residue of the force field: atoms, bonds between them, and to other residues."""

    name: str
    place: Place
    atoms: list[TemplateAtom]
    bonds: list[tuple[int, int]]
    external: list[int]
    unsupported: str | None = None
    override: int = 0


@dataclass
class ForceField:
    """Types, residues and the elements of the forces, from all files in their order."""

    types: dict[str, AtomType] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    forces: dict[str, list[tuple[Place, Element]]] = field(
        default_factory=lambda: {name: [] for name in _FORCES}
    )
    patches: int = 0


def read_files(paths: list[Path]) -> ForceField:
    """All files as one force field; what is not known is an error that names its tag."""
    force_field = ForceField()
    read: list[Path] = []
    roots = [root for path in paths for root in _roots(path, (), read)]
    for place, root in roots:
        for element in root.iterfind("AtomTypes/Type"):
            _add_type(force_field, place, element)
    for place, root in roots:
        for element in root:
            _add(force_field, place, element)
    return force_field


_MOST_FILES = 100
"""Files that include each other: without a limit, thirty small ones are read a billion times."""


def _roots(path: Path, above: tuple[Path, ...], read: list[Path]) -> list[tuple[Place, Element]]:
    """A file, and before it those that it includes; ``read`` are all that were read so far."""
    place = Place(path)
    if path in above:
        raise place.error("the file includes itself.")
    if len(read) == _MOST_FILES:
        raise place.error(f"more than {_MOST_FILES} files would be read, included ones among them.")
    read.append(path)
    if not path.is_file():
        who = f" (included by {above[-1].name})" if above else ""
        raise place.error(f"there is no such file{who}.", "Name the XML file with its folder.")
    check_bytes(path)
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise place.error(f"this is not XML: {error}.") from None
    if root.tag != "ForceField":
        raise place.error(f"the outermost tag is <{root.tag}>, not <ForceField>.")
    included = [
        found
        for element in root.iterfind("Include")
        for found in _roots(path.parent / _text(place, element, "file"), (*above, path), read)
    ]
    return [*included, (place, root)]


def _add_type(force_field: ForceField, place: Place, element: Element) -> None:
    name = _text(place, element, "name")
    if name in force_field.types:
        raise place.error(f"the atom type {name!r} is defined twice.")
    kind = AtomType(
        name,
        _text(place, element, "class"),
        element.get("element"),
        value(place, element, "mass"),
    )
    force_field.types[name] = kind


def _add(force_field: ForceField, place: Place, element: Element) -> None:
    if element.tag == "Residues":
        for residue in element:
            _add_template(force_field, _template(place, residue))
    elif element.tag == "Patches":
        force_field.patches += len(element)
    elif element.tag in force_field.forces:
        force_field.forces[element.tag].append((place, element))
    elif element.tag not in ("Info", "AtomTypes", "Include"):
        raise place.error(
            f"<{element.tag}> is not supported.",
            f"Supported forces: {', '.join(_FORCES)}. Take a force field without it.",
        )


def _add_template(force_field: ForceField, template: Template) -> None:
    there = force_field.templates.get(template.name)
    if there is not None and there.override == template.override:
        raise template.place.error(
            f"the residue {template.name!r} is defined twice, first in {there.place.path.name}.",
            "Leave one of them out, or give one a higher override.",
        )
    if there is None or template.override > there.override:
        force_field.templates[template.name] = template


def _template(place: Place, residue: Element) -> Template:
    name = _text(place, residue, "name")
    atoms = [_template_atom(place, atom) for atom in residue.iterfind("Atom")]
    rows = {atom.name: row for row, atom in enumerate(atoms)}
    if len(rows) != len(atoms):
        raise place.error(f"the residue {name!r} has two atoms of one name.")
    known = ("Atom", "Bond", "ExternalBond", "AllowPatch")
    outward = residue.iterfind("ExternalBond")
    return Template(
        name,
        place,
        atoms,
        [_ends(place, bond, rows) for bond in residue.iterfind("Bond")],
        [_end(place, bond, ("atomName", "from"), rows) for bond in outward],
        next((child.tag for child in residue if child.tag not in known), None),
        int(value(place, residue, "override")) if "override" in residue.attrib else 0,
    )


def _template_atom(place: Place, atom: Element) -> TemplateAtom:
    charge = value(place, atom, "charge") if "charge" in atom.attrib else None
    return TemplateAtom(_text(place, atom, "name"), _text(place, atom, "type"), charge)


def _ends(place: Place, bond: Element, rows: dict[str, int]) -> tuple[int, int]:
    first = _end(place, bond, ("atomName1", "from"), rows)
    return first, _end(place, bond, ("atomName2", "to"), rows)


def _end(place: Place, bond: Element, keys: tuple[str, str], rows: dict[str, int]) -> int:
    """An atom of a template, by its name or by its number."""
    by_name, by_number = keys
    if by_name in bond.attrib:
        row = rows.get(bond.attrib[by_name], -1)
    else:
        row = int(value(place, bond, by_number))
    if not 0 <= row < len(rows):
        raise place.error(f"{shown(bond)} names an atom that is not in its residue.")
    return row


def _text(place: Place, element: Element, key: str) -> str:
    if key not in element.attrib:
        raise place.error(f"{shown(element)} has no attribute {key!r}.")
    return element.attrib[key]


def value(place: Place, element: Element, key: str) -> float:
    """An attribute as a number."""
    text = _text(place, element, key)
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise place.error(f"{key} of {shown(element)} is {text!r}, which is not a finite number.")
    return number


def shown(element: Element) -> str:
    """A tag as it stands in the file."""
    attributes = "".join(f' {key}="{text}"' for key, text in element.attrib.items())
    return f"<{element.tag}{attributes}>"
