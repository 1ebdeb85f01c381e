"""A thousand rattled crystals and clusters, relaxed side by side.

Each goes its own way: where one has ended, the next one that waits takes its place.
"""

import sys
import time
from collections import Counter

import numpy as np
from ase import Atoms
from ase.build import bulk

import instar

ARGON = {
    "type": "lennard_jones",
    "cutoff": 8.5,
    "truncation": "switch",
    "inner": 7.0,
    "pairs": {"Ar-Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}


def structure(number: int) -> Atoms:
    """A crystal or a cluster of some shape, with its atoms off their places."""
    random = np.random.default_rng(number)
    crystal = bulk("Ar", "fcc", a=5.3, cubic=True).repeat(random.integers(1, 4, 3))
    crystal.positions += random.normal(0, 0.2, crystal.positions.shape)
    if number % 2:
        crystal.pbc = False
        crystal.cell[:] = 0
    return crystal


def main(count: int) -> None:
    """Relax them, and say what has become of them."""
    structures = [structure(number) for number in range(count)]
    start = time.perf_counter()
    found = instar.relax(structures, ARGON, force_tolerance="1e-3 eV/angstrom")
    seconds = time.perf_counter() - start
    print(f"{count} structures of {min(map(len, structures))} to {max(map(len, structures))} atoms")
    print(", ".join(f"{name}: {number}" for name, number in Counter(found.outcomes).items()))
    print(f"{found.evaluations.mean():.0f} evaluations each, {seconds:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
