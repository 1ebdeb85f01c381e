"""OpenMM's terms and their energies for a PDB file and a force field; nothing is timed.

    tools/peers openmm
    .venv-peers/openmm/bin/python bench/peers/openmm_topology.py --pdb in.pdb --out out.json \
        amber14/protein.ff14SB.xml amber14/tip3p.xml

All pairs interact (NoCutoff), on the Reference platform. The output has the energy of each force
(kJ/mol) by its name, the terms of each (nm, rad, kJ/mol), and the paths of the files.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import openmm
from openmm import app, unit


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", help="XML files; bundled ones by their names")
    parser.add_argument("--pdb", required=True, help="the same holds for it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--constraints", choices=("hbonds", "allbonds"))
    parser.add_argument("--rigid-water", action="store_true")
    return parser.parse_args()


def located(name: str) -> str:
    """A file as it is given, else the one of that name that comes with OpenMM."""
    bundled = Path(app.__file__).parent / "data" / name
    return name if Path(name).is_file() else str(bundled)


def plain(values: list[Any]) -> list[float]:
    """Numbers in nm, rad and kJ/mol."""
    system = unit.md_unit_system
    return [v.value_in_unit_system(system) if unit.is_quantity(v) else v for v in values]


def terms(force: Any) -> list[list[float]]:
    """Atoms and parameters of all terms of a bonded force."""
    for kind in ("Bond", "Angle", "Torsion"):
        if hasattr(force, f"getNum{kind}s"):
            count = getattr(force, f"getNum{kind}s")()
            return [plain(getattr(force, f"get{kind}Parameters")(n)) for n in range(count)]
    return []


def energies(system: Any, positions: Any) -> dict[str, float]:
    """The energy of each force, kJ/mol."""
    for number, force in enumerate(system.getForces()):
        force.setForceGroup(number)
    platform = openmm.Platform.getPlatformByName("Reference")
    context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform)
    context.setPositions(positions)
    found = {}
    for number, force in enumerate(system.getForces()):
        state = context.getState(getEnergy=True, groups={number})
        found[force.getName()] = plain([state.getPotentialEnergy()])[0]
    return found


def main() -> None:
    options = arguments()
    files = [located(name) for name in options.files]
    pdb = app.PDBFile(located(options.pdb))
    constraints = {"hbonds": app.HBonds, "allbonds": app.AllBonds}.get(options.constraints)
    system = app.ForceField(*files).createSystem(
        pdb.topology,
        nonbondedMethod=app.NoCutoff,
        constraints=constraints,
        rigidWater=options.rigid_water,
        removeCMMotion=False,
    )
    fixed = [plain(system.getConstraintParameters(n)) for n in range(system.getNumConstraints())]
    found = {
        "files": files,
        "pdb": located(options.pdb),
        "energies": energies(system, pdb.positions),
        "terms": {force.getName(): terms(force) for force in system.getForces()},
        "constraints": fixed,
    }
    options.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
