"""The host's side of an ASE potential: NumPy in, NumPy out; no JAX in here."""

from __future__ import annotations

from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError

from instar.core.utils.jax import dataclass

__all__ = ["Host", "HostState", "Results"]


@dataclass
class HostState:
    """What a calculator gets: all particles of all systems."""

    positions: Any  # (particles, 3) Å
    vectors: Any  # (systems, 3, 3) Å
    charges: Any  # (particles,) e; NaN where none were given
    numbers: Any  # (particles,) atomic numbers
    system: Any  # (particles,) out of bounds where a particle is absent
    periodic: Any  # (systems, 3)
    bounded: Any  # (systems,)

    def atoms(self, system: int, rows: np.ndarray) -> Atoms:
        """One of the systems, whose particles are in these rows."""
        atoms = Atoms(
            numbers=self.numbers[rows],
            positions=self.positions[rows].astype(np.float64),
            cell=_cell(self.vectors[system], self.bounded[system], self.periodic[system]),
            pbc=self.periodic[system],
        )
        if np.isfinite(self.charges[rows]).all():
            atoms.set_initial_charges(self.charges[rows].astype(np.float64))
        return atoms


@dataclass
class Results:
    """What a calculator says of all systems; no numbers (NaN) where it failed."""

    energy: Any  # (systems,) eV
    forces: Any  # (particles, 3) eV/Å
    virial: Any  # (systems, 3, 3) eV
    energies: Any  # (particles,) eV
    failed: Any  # (systems,)


class Cause:
    """The last error of a calculator, read when a report is written."""

    def __init__(self) -> None:
        self.text = "unknown"

    def __str__(self) -> str:
        return self.text


class Host:
    """One calculator, called for one system after the other."""

    def __init__(self, calculator: Any) -> None:
        self.calculator = calculator
        self.cause = Cause()

    @property
    def name(self) -> str:
        """The name of the calculator's class."""
        return type(self.calculator).__name__

    @property
    def properties(self) -> tuple[str, ...]:
        """What the calculator says it can work out."""
        return tuple(getattr(self.calculator, "implemented_properties", ()))

    def __repr__(self) -> str:
        return f"Host({self.name})"

    def computed(
        self, state: HostState, *, virial: bool, per_particle: bool, raises: bool
    ) -> Results:
        """What the calculator says of each system that has particles."""
        count, particles = len(state.vectors), len(state.positions)
        results = Results(
            np.zeros(count),
            np.zeros((particles, 3)),
            np.zeros((count, 3, 3)),
            np.zeros(particles),
            np.zeros(count, bool),
        )
        order = np.argsort(state.system, kind="stable")
        ends = np.searchsorted(state.system[order], np.arange(count + 1))
        for number in range(count):
            rows = order[ends[number] : ends[number + 1]]
            if not len(rows):
                continue
            atoms = state.atoms(number, rows)
            try:
                self._one(atoms, results, number, rows, virial, per_particle)
            except Exception as error:
                if raises:
                    raise
                self._note(error, atoms)
                results.failed[number] = True
                results.energy[number] = results.virial[number] = np.nan
                results.forces[rows] = results.energies[rows] = np.nan
        return results

    def _one(
        self,
        atoms: Atoms,
        results: Results,
        number: int,
        rows: np.ndarray,
        virial: bool,
        per_particle: bool,
    ) -> None:
        atoms.calc = self.calculator
        if not np.isfinite(atoms.positions).all():
            raise ValueError("positions are not finite numbers")
        results.energy[number] = atoms.get_potential_energy()
        results.forces[rows] = atoms.get_forces()
        if per_particle:
            results.energies[rows] = atoms.get_potential_energies()
        if virial:
            results.virial[number] = self._virial(atoms, results.forces[rows])

    def _virial(self, atoms: Atoms, forces: np.ndarray) -> np.ndarray:
        """W = −V σ; Σ r ⊗ f for what does not repeat, where that is the same."""
        if not atoms.pbc.any():
            return np.einsum("ni,nj->ij", atoms.positions, forces)
        if "stress" in self.properties:
            return -atoms.get_volume() * atoms.get_stress(voigt=False)
        raise PropertyNotImplementedError(
            f"{self.name} has no stress, which the virial of a periodic system needs; ask for "
            "energies and forces alone: evaluate(..., virial=False)."
        )

    def _note(self, error: Exception, atoms: Atoms) -> None:
        """Keep what it was, unless it is but the consequence of an earlier failure."""
        if np.isfinite(atoms.positions).all() or self.cause.text == "unknown":
            self.cause.text = f"{type(error).__name__}: {error}"


def _cell(vectors: np.ndarray, bounded: Any, periodic: np.ndarray) -> np.ndarray:
    """The vectors; none for a system without an end and without a repeat."""
    if not bounded and not periodic.any():
        return np.zeros((3, 3))
    return vectors.astype(np.float64)
