"""One core finds what two find, to the bit."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

PASS = """
import os
if hasattr(os, "sched_setaffinity"):  # elsewhere both run on all cores
    os.sched_setaffinity(0, {cores})
import hashlib
import jax
import numpy as np
from ase.build import bulk
import instar
jax.config.update("jax_enable_x64", True)
potential = {{
    "type": "lennard_jones",
    "cutoff": 6.0,
    "parameters": {{"Ar": {{"epsilon": 0.0104, "sigma": 3.4}}}},
}}
atoms = bulk("Ar", "fcc", 5.4, cubic=True) * (8, 8, 8)
atoms.rattle(0.1, seed=0)
found = instar.md.computed(instar.md_state(atoms, potential))
columns = found.particles.data.forces, found.systems.data.energy, found.systems.data.virial
print(hashlib.sha256(b"".join(np.asarray(column).tobytes() for column in columns)).hexdigest())
"""


def digest(cores):
    words = [sys.executable, "-c", PASS.format(cores=cores)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_forces_energy_and_virial_on_one_core_and_on_all():
    cores = set(range(os.cpu_count() or 1))
    assert digest({min(cores)}) == digest(cores)
