"""Times OpenMM's particle mesh Ewald sum of one periodic box of charges, over a scan of settings.

    tools/peers openmm
    .venv-peers/openmm/bin/python bench/peers/openmm_coulomb.py --input in.npz --out folder \
        --cutoffs 8 10 --tolerances 1e-3 1e-4

The input holds positions (n, 3) and a cell (3, 3), orthorhombic, in Å, and charges (n,) in e.
Platform CPU, which computes in single precision. Every setting gives its forces, in kₑe²/Å², as a
file in the folder, and one row of the JSON that is printed: the settings, the file, and the seconds
of one evaluation of energy and forces, as the median and the fastest of --repeats runs of
--evaluations each. Before each evaluation all ions move by the same 1e-6 Å; handing over these
positions isn't timed, nor is what Python makes of the forces.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import json
import statistics
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openmm

ANGSTROM_PER_NANOMETER = 10.0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for the forces")
    parser.add_argument("--cutoffs", nargs="+", type=float, required=True, help="Å")
    parser.add_argument("--tolerances", nargs="+", type=float, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--evaluations", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    return parser.parse_args()


def charged(charges: np.ndarray, method: int) -> tuple[openmm.System, openmm.NonbondedForce]:
    """Point charges without any other interaction."""
    system, force = openmm.System(), openmm.NonbondedForce()
    for charge in charges:
        system.addParticle(1.0)
        force.addParticle(float(charge), 1.0, 0.0)
    force.setNonbondedMethod(method)
    force.setUseDispersionCorrection(False)
    system.addForce(force)
    return system, force


def context_of(system: openmm.System, platform: str, properties: dict[str, str]) -> Any:
    integrator = openmm.VerletIntegrator(0.001)
    return openmm.Context(
        system, integrator, openmm.Platform.getPlatformByName(platform), properties
    )


def coulomb_constant() -> float:
    """kₑe² as OpenMM has it (kJ/mol nm): the energy of two unit charges at 1 nm."""
    system, _ = charged(np.ones(2), openmm.NonbondedForce.NoCutoff)
    context = context_of(system, "Reference", {})
    context.setPositions(np.array([[0.0, 0, 0], [1, 0, 0]]))
    return context.getState(energy=True).getPotentialEnergy()._value


def seconds_of_one(context: Any, positions: np.ndarray, options: argparse.Namespace) -> list[float]:
    """The mean over --evaluations, --repeats times."""
    times = []
    for repeat in range(options.repeats + 1):
        total = 0.0
        for number in range(options.evaluations):
            context.setPositions(positions + 1e-7 * (number % 2))
            begin = time.perf_counter()
            context.getState(energy=True, forces=True)
            total += time.perf_counter() - begin
        if repeat:  # the first one warms up
            times.append(total / options.evaluations)
    return times


def main() -> None:
    options = arguments()
    with np.load(options.input) as given:
        positions, cell, charges = given["positions"], given["cell"], given["charges"]
    if np.count_nonzero(cell) != 3:
        raise SystemExit("The cell is not orthorhombic: this bench knows only such boxes.")
    constant = coulomb_constant()
    positions, cell = positions / ANGSTROM_PER_NANOMETER, cell / ANGSTROM_PER_NANOMETER
    system, force = charged(charges, openmm.NonbondedForce.PME)
    system.setDefaultPeriodicBoxVectors(*(openmm.Vec3(*row) for row in cell.tolist()))
    rows = []
    for cutoff, tolerance in product(options.cutoffs, options.tolerances):
        force.setCutoffDistance(cutoff / ANGSTROM_PER_NANOMETER)
        force.setEwaldErrorTolerance(tolerance)
        context = context_of(system, "CPU", {"Threads": str(options.threads)})
        context.setPositions(positions)
        state = context.getState(energy=True, forces=True)
        forces = state.getForces(asNumpy=True)._value * ANGSTROM_PER_NANOMETER**-2
        times = seconds_of_one(context, positions, options)
        alpha, *mesh = force.getPMEParametersInContext(context)
        name = f"openmm-{len(rows)}.npy"
        np.save(options.out / name, forces / constant)
        chosen = {"cutoff": cutoff, "tolerance": tolerance, "threads": options.threads}
        energy = state.getPotentialEnergy()._value / ANGSTROM_PER_NANOMETER / constant
        rows.append(
            {
                "settings": {**chosen, "alpha": alpha / ANGSTROM_PER_NANOMETER, "mesh": mesh},
                "energy": energy,
                "forces": name,
                "seconds": statistics.median(times),
                "fastest": min(times),
            }
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
