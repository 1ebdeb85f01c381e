"""`single_point`: energies, forces and stresses of many structures at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from ase import Atoms

from instar.app.ase.structures import StructureError, naming_coincidences
from instar.app.config.potentials import PotentialLike, Trust, recipe_of
from instar.app.evaluation.point import check_precision, tabled
from instar.app.evaluation.within_budget import computed_within
from instar.core.data.vocabulary import SHOWN
from instar.core.utils.html_text import html_table
from instar.memory import find_budget

__all__ = ["SinglePoint", "single_point"]

if TYPE_CHECKING:
    StructuresLike = Atoms | Iterable[Atoms]
else:
    StructuresLike = Any  # what is none is refused in words


@dataclass(frozen=True)
class SinglePoint:
    """Results for a list of structures, in its order."""

    energies: np.ndarray
    """(structures,), eV."""
    forces: list[np.ndarray]
    """One array (atoms, 3) for each structure, eV/Å."""
    stresses: np.ndarray
    """(structures, 3, 3), eV/Å³, in the sign of ASE; NaN where a structure has no volume."""

    def __repr__(self) -> str:
        rows = [f"{n}: {e:.6f} eV, forces up to {f:.4g} eV/Å" for n, e, _, f in self._rows()]
        more = ["…"] if len(self.energies) > len(rows) else []
        return "\n  ".join([self._headline, *rows, *more])

    def _repr_html_(self) -> str:
        heads = ("structure", "energy (eV)", "atoms", "largest force (eV/Å)")
        rows = [(n, f"{e:.6f}", atoms, f"{f:.4g}") for n, e, atoms, f in self._rows()]
        more = [("…", "", "", "")] if len(self.energies) > len(rows) else []
        return html_table(self._headline, heads, [*rows, *more])

    @property
    def _headline(self) -> str:
        count = len(self.energies)
        return f"SinglePoint of {'1 structure' if count == 1 else f'{count} structures'}"

    def _rows(self) -> list[tuple[int, float, int, float]]:
        """The first structures: number, energy (eV), atoms, largest force (eV/Å)."""
        shown = enumerate(self.energies[:SHOWN].tolist())
        lengths = [np.linalg.norm(forces, axis=1) for forces in self.forces[:SHOWN]]
        return [(n, e, len(lengths[n]), float(lengths[n].max(initial=0))) for n, e in shown]


def single_point(
    structures: StructuresLike,
    potential: PotentialLike,
    precision: str = "float64",
    budget: str | int | float | None = None,
    *,
    trusted: bool = False,
) -> SinglePoint:
    """Energies, forces and stresses of structures of any mix of sizes and cells.

        F = −∂U/∂r        σ = (1/V) ∂U/∂ε

    Parameters
    ----------
    structures
        One `ase.Atoms` or several; positions in Å.
    potential
        An object of `instar.potentials`, or the mapping (or list of mappings) that stands in
        configuration files.
    precision
        "float64" or "float32"; no switch of JAX is needed.
    budget
        Memory: "8 GiB", "60 %" of what is left, bytes, or None for all that is left. Structures
        are computed as one program where they fit into it, else as several.
    trusted
        Whether a mapping may name calculators that start programs or load code.

    Returns
    -------
    SinglePoint
        ``energies`` (structures,) in eV, ``forces`` one array (atoms, 3) each in eV/Å, ``stresses``
        (structures, 3, 3) in eV/Å³ with the sign of ASE, NaN where a structure has no volume.

    Raises
    ------
    StructureError
        If the structures lack what the potential needs.
    ConfigurationError
        If a mapping is not a potential.
    MemoryPlanError
        If a structure can't fit into the budget.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> argon = {"epsilon": "0.01 eV", "sigma": "3.4 angstrom"}
    >>> potential = {"type": "lennard_jones", "cutoff": 9, "parameters": {"Ar": argon}}
    >>> instar.single_point(Atoms("Ar2", [[0, 0, 0], [0, 0, 3.4 * 2 ** (1 / 6)]]), potential)
    SinglePoint of 1 structure
      0: -0.010000 eV, forces up to ... eV/Å
    """
    if not isinstance(structures, Iterable):
        raise StructureError(f"Structures are ase.Atoms or a list of them, not {structures!r}.")
    structures = [structures] if isinstance(structures, Atoms) else list(structures)
    recipe = recipe_of(potential, trust=Trust.of(trusted))
    found_budget = find_budget(budget)
    check_precision(precision)
    if all(isinstance(atoms, Atoms) and len(atoms) == 0 for atoms in structures):
        count = len(structures)
        none = np.zeros((count, 3, 3))
        return SinglePoint(
            np.zeros(count), [np.zeros((0, 3))] * count, _with_volume(structures, none)
        )
    with jax.enable_x64(precision == "float64"), naming_coincidences(structures):
        point = tabled(structures, recipe, precision)
        found = computed_within(structures, recipe, precision, found_budget, point)
    ends = np.cumsum([len(atoms) for atoms in structures])[:-1]
    forces = [f.copy() for f in np.split(np.asarray(found.forces), ends)]
    stresses = _with_volume(structures, np.array(found.stresses))
    return SinglePoint(np.array(found.energies), forces, stresses)


def _with_volume(structures: Sequence[Atoms], stresses: np.ndarray) -> np.ndarray:
    """Stresses (structures, 3, 3), NaN where a structure has no cell of three vectors."""
    stresses[[atoms.cell.rank < 3 for atoms in structures]] = np.nan
    return stresses
