"""`calculator`: an ASE calculator, so that ASE's own tools run on instar."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from ase import Atoms
from ase.calculators.calculator import (
    Calculator,
    PropertyNotImplementedError,
    all_changes,
)
from ase.stress import full_3x3_to_voigt_6_stress

from instar.app.ase.structures import labels_of, naming_coincidences
from instar.app.config.potentials import PotentialLike, Trust, recipe_of
from instar.app.evaluation.point import Point, check_precision, computed, prepared

__all__ = ["InstarCalculator", "calculator"]


def calculator(
    potential: PotentialLike,
    precision: str = "float64",
    skin: float = 1.0,
    *,
    trusted: bool = False,
) -> InstarCalculator:
    """A potential as an ASE calculator, so that ASE's own tools run on it.

    Parameters
    ----------
    potential
        An object of `instar.potentials`, or the mapping (or list of mappings) that stands in
        configuration files.
    precision
        "float64" or "float32"; no switch of JAX is needed.
    skin
        In Å: neighbors are kept up to so far beyond the cutoff, so that a search is needed only
        once in a while as atoms move.
    trusted
        Whether a mapping may name calculators that start programs or load code.

    Returns
    -------
    InstarCalculator
        With energy, energies (eV), forces (eV/Å) and stress (eV/Å³).

    Raises
    ------
    ConfigurationError
        If a mapping is not a potential.
    ValueError
        If there is no such precision.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> atom = Atoms("Ar", [[1, 0, 0]])
    >>> atom.calc = instar.calculator({"type": "harmonic_trap", "stiffness": "2 eV/angstrom^2"})
    >>> print(round(atom.get_potential_energy(), 6))
    1.0
    """
    return InstarCalculator(potential, precision, skin, trusted=trusted)


class InstarCalculator(Calculator):
    """Energy, forces, stress and energies of atoms, by a potential of instar."""

    implemented_properties = [  # noqa: RUF012 (as ASE declares it)
        "energy",
        "free_energy",
        "energies",
        "forces",
        "stress",
    ]

    def __init__(
        self,
        potential: Any,
        precision: str = "float64",
        skin: float = 1.0,
        *,
        trusted: bool = False,
    ) -> None:
        super().__init__()
        self._recipe = recipe_of(potential, trust=Trust.of(trusted))
        check_precision(precision)
        self._precision = precision
        self._skin = skin
        self._point: Point | None = None

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        """Compute everything for ``atoms``; called by ASE."""
        super().calculate(atoms, properties, system_changes)
        assert self.atoms is not None
        properties = properties or ["energy"]
        with jax.enable_x64(self._precision == "float64"), naming_coincidences([self.atoms]):
            per_particle = "energies" in properties
            evaluation, self._point = computed(
                self._prepared(self.atoms), per_particle=per_particle
            )
            stress = np.asarray(evaluation.stress(self._point.systems.data.cell))[0]
            self.results = {
                "energy": float(evaluation.energy[0]),  # pyright: ignore[reportOptionalSubscript]
                "free_energy": float(evaluation.energy[0]),  # pyright: ignore[reportOptionalSubscript]
                "forces": np.array(evaluation.forces, np.float64),
            }
            if per_particle:
                self.results["energies"] = np.array(evaluation.particle_energies, np.float64)
        if self.atoms.cell.rank == 3:
            self.results["stress"] = full_3x3_to_voigt_6_stress(stress.astype(np.float64))
        elif "stress" in properties:
            raise PropertyNotImplementedError("There is no stress without a cell of three vectors.")

    def check_state(self, atoms: Atoms, tol: float = 1e-15) -> list[str]:
        """What changed since the last call; labels, which ASE does not know, among it."""
        changes = list(super().check_state(atoms, tol))
        if self.atoms is not None and labels_of(atoms) != labels_of(self.atoms):
            changes.append("labels")
        return changes

    def _prepared(self, atoms: Atoms) -> Point:
        """Atoms with the potential and the list of the last call, if it was for such atoms."""
        old, self._point = self._point, None  # an error on the way leaves nothing behind
        return prepared([atoms], self._recipe, self._precision, self._skin, old)
