"""`single_point`: energies, forces and stresses of many structures at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from ase import Atoms

from instar.app.ase_potential import AsePotential
from instar.app.point import check_precision, tabled
from instar.app.potentials import build
from instar.app.structures import StructureError, labels_of
from instar.app.within_budget import computed_within
from instar.memory import find_budget
from instar.potentials import Ewald, Pair, Potential

__all__ = ["SinglePoint", "single_point"]


@dataclass(frozen=True)
class SinglePoint:
    """Results for a list of structures, in its order."""

    energies: np.ndarray
    """(structures,), eV."""
    forces: list[np.ndarray]
    """One array (atoms, 3) for each structure, eV/Å."""
    stresses: np.ndarray
    """(structures, 3, 3), eV/Å³, in the sign of ASE; zero where a structure has no volume."""


def single_point(
    structures: Any,
    potential: Any,
    precision: str = "float64",
    budget: str | int | float | None = None,
) -> SinglePoint:
    """Energies, forces and stresses of structures of any mix of sizes and cells.

    ``potential`` is an object of `instar.potentials`, or the mapping (or list of mappings) that
    stands in configuration files. Structures are computed as one program where they fit into
    ``budget`` ("8 GiB", "60 %", or None for all memory that is left), else as several.
    """
    if not isinstance(structures, Iterable):
        raise StructureError(f"Structures are ase.Atoms or a list of them, not {structures!r}.")
    structures = [structures] if isinstance(structures, Atoms) else list(structures)
    built = build(potential)
    found_budget = find_budget(budget)
    check_precision(precision)
    if all(isinstance(atoms, Atoms) and len(atoms) == 0 for atoms in structures):
        count = len(structures)
        return SinglePoint(np.zeros(count), [np.zeros((0, 3))] * count, np.zeros((count, 3, 3)))
    with jax.enable_x64(precision == "float64"):
        point = tabled(structures, built, precision)
        check_species(structures, point.potential, built.charges)
        found = computed_within(structures, built, precision, found_budget, point)
    ends = np.cumsum([len(atoms) for atoms in structures])[:-1]
    forces = [f.copy() for f in np.split(np.asarray(found.forces), ends)]
    return SinglePoint(np.array(found.energies), forces, np.array(found.stresses))


def check_species(
    structures: list[Atoms], potential: Potential, charges: Mapping[str, float] | None
) -> None:
    """Every two species that meet have parameters, and charges where they are needed.

    Else an error names what is missing.
    """
    charged = any(
        isinstance(p, Ewald) or getattr(p, "strength", None) == "charges" for p in _parts(potential)
    )
    called = any(isinstance(part, AsePotential) for part in potential.terms())
    for number, atoms in enumerate(structures):
        if called and atoms.get_initial_magnetic_moments().any():
            raise StructureError(
                f"Structure {number} has magnetic moments, which ASE calculators are not told "
                "from here.\nRemove them, or call the calculator by itself."
            )
        if charged and charges is None and len(atoms) and not atoms.has("initial_charges"):
            raise StructureError(
                f"Structure {number} has no charges, but the potential needs them.\n"
                "Set atoms.set_initial_charges([...]), or give charges by label in the potential."
            )
        present = set(labels_of(atoms))
        for part in _parts(potential):
            if isinstance(part, Pair):
                for first, second in part.missing(present):
                    pair = first if first == second else f"the pair {first}-{second}"
                    raise StructureError(
                        f"{type(part.formula).__name__} has no parameters for {pair} of "
                        f"structure {number}.\nGive them in parameters or pairs, or name a "
                        "mixing rule."
                    )


def _parts(potential: Potential) -> list[Any]:
    """The terms of a potential, and the pair sums inside of them."""
    return [getattr(term, "pairs", term) for term in potential.terms()]
