"""OpenMM's energies and forces of bonds, angles and dihedrals, kind by kind; nothing is timed.

    tools/peers openmm
    .venv-peers/openmm/bin/python bench/peers/openmm_bonded.py --input in.npz --out out.npz

The input holds positions (n, 3) in Å, a box (3,) in Å that repeats along its axes, and for each
kind of term KIND_atoms (terms, 2 … 4) and KIND_parameters (terms, …) in eV, Å, rad. The output
holds KIND_energy (eV) and KIND_forces (n, 3; eV/Å), on the Reference platform, in double precision.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import openmm  # pyright: ignore[reportMissingImports]

MOLAR = 1.602176634e-19 * 6.02214076e23 / 1e3
"""kJ/mol in one eV."""
MORSE = "D*(1-exp(-a*(r-r0)))^2"
IMPROPER = "0.5*k*d^2; d=x-2*pi*ceil(x/(2*pi)-0.5); x=theta-phi0; pi=3.141592653589793"


def harmonic_bond(force: Any, atoms: list[int], k: float, r0: float) -> None:
    force.addBond(*atoms, r0 / 10, k * MOLAR * 100)


def morse_bond(force: Any, atoms: list[int], depth: float, a: float, r0: float) -> None:
    force.addBond(*atoms, [depth * MOLAR, a * 10, r0 / 10])


def harmonic_angle(force: Any, atoms: list[int], k: float, theta0: float) -> None:
    force.addAngle(*atoms, theta0, k * MOLAR)


def periodic_dihedral(force: Any, atoms: list[int], k: float, n: float, phi0: float) -> None:
    force.addTorsion(*atoms, int(n), phi0, k * MOLAR)


def rb_dihedral(force: Any, atoms: list[int], *coefficients: float) -> None:
    force.addTorsion(*atoms, *(c * MOLAR for c in coefficients))


def harmonic_improper(force: Any, atoms: list[int], k: float, phi0: float) -> None:
    force.addTorsion(*atoms, [k * MOLAR, phi0])


def custom(kind: Any, formula: str, *names: str) -> Any:
    force = kind(formula)
    add = getattr(force, "addPerBondParameter", None) or force.addPerTorsionParameter
    for name in names:
        add(name)
    return force


KINDS = {
    "harmonic_bond": (openmm.HarmonicBondForce, harmonic_bond),
    "morse_bond": (lambda: custom(openmm.CustomBondForce, MORSE, "D", "a", "r0"), morse_bond),
    "harmonic_angle": (openmm.HarmonicAngleForce, harmonic_angle),
    "periodic_dihedral": (openmm.PeriodicTorsionForce, periodic_dihedral),
    "rb_dihedral": (openmm.RBTorsionForce, rb_dihedral),
    "harmonic_improper": (
        lambda: custom(openmm.CustomTorsionForce, IMPROPER, "k", "phi0"),
        harmonic_improper,
    ),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def computed(force: Any, positions: np.ndarray, box: np.ndarray) -> tuple[float, np.ndarray]:
    """Energy (eV) and forces (eV/Å) of one force on its own."""
    force.setUsesPeriodicBoundaryConditions(True)
    system = openmm.System()
    for _ in positions:
        system.addParticle(1.0)
    system.setDefaultPeriodicBoxVectors(*np.diag(box / 10))
    system.addForce(force)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions / 10)
    state = context.getState(getEnergy=True, getForces=True)
    unit = openmm.unit
    energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole)
    forces = state.getForces(asNumpy=True)
    forces = np.array(forces.value_in_unit(unit.kilojoule_per_mole / unit.nanometer))
    return energy / MOLAR, forces / (10 * MOLAR)


def main() -> None:
    options = arguments()
    results: dict[str, Any] = {}
    with np.load(options.input) as given:
        for kind, (make, add) in KINDS.items():
            if f"{kind}_atoms" not in given:
                continue
            force = make()
            parameters = given[f"{kind}_parameters"]
            for atoms, numbers in zip(given[f"{kind}_atoms"], parameters, strict=True):
                add(force, atoms.tolist(), *numbers.tolist())
            energy, forces = computed(force, given["positions"], given["box"])
            results |= {f"{kind}_energy": energy, f"{kind}_forces": forces}
    np.savez(options.out, **results)


if __name__ == "__main__":
    main()
