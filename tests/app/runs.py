"""Small runs for the tests, in this process and in others."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import yaml

import instar
from instar.app.run.progress import Progress

ROOT = Path(__file__).parents[2]
METHODS = {
    "nve": {"ensemble": "nve"},
    "langevin": {"ensemble": "nvt", "thermostat": "langevin", "friction": "1 /ps"},
    "velocity_rescaling": {"ensemble": "nvt", "thermostat": "velocity_rescaling"},
    "nose_hoover": {"ensemble": "nvt", "thermostat": "nose_hoover", "time_constant": "100 fs"},
    "brownian": {"ensemble": "nvt", "thermostat": "brownian", "friction": "50 /ps"},
    "cell_rescaling": {"ensemble": "npt", "barostat": "cell_rescaling"},
    "mtk": {"ensemble": "npt", "barostat": "mtk", "coupling": "full"},
}

OBSERVE = [
    {"type": "radial_distribution", "every": 10, "reach": "7 angstrom", "bins": 40},
    {"type": "mean_square_displacement", "every": 10, "window": 6},
    {"type": "density_profile", "every": 10, "axis": "a", "bins": 8},
]
"""Something of each kind: a histogram, a series with a memory, a profile."""


def configuration(method="langevin", **changes):
    """Two systems of argon; changes replace whole entries."""
    npt = METHODS[method]["ensemble"] == "npt"
    pressure = {"pressure": "100 bar"} if npt else {}
    return {
        "systems": [
            {
                "structure": {"lattice": "fcc", "species": "Ar", "repeat": 2, "density": 1.5},
                "temperature": "60 K",
                **pressure,
            },
            {
                "structure": {"lattice": "sc", "species": "Ar", "repeat": 3, "a": "4 angstrom"},
                "temperature": "120 K",
                **pressure,
            },
        ],
        "potential": [
            {
                "type": "lennard_jones",
                "cutoff": "6 angstrom",
                "truncation": "force_shift",
                "parameters": {"Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
            }
        ],
        "method": {"type": "md", "time_step": "2 fs", **METHODS[method]},
        "run": {"steps": 180, "equilibration": 20},
        "output": {"trajectory_every": 10, "thermo_every": 5},
        **changes,
    }


def run(config, out, **options):
    """Without a report, which has tests of its own."""
    return instar.run(config, out=out, report=False, **options)


def resume(folder, **options):
    return instar.resume(folder, report=False, **options)


class StopAfter(Progress):
    """Asks the run to stop, as a signal would, once it has made so many steps."""

    def __init__(self, step):
        self.at = step

    def update(self, step, last, phase, thermo, memory):
        if step >= self.at:
            signal.raise_signal(signal.SIGINT)


def written(path, config):
    path.write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    return path


def command(*arguments, cache, **options):
    """`instar` as a process of its own, with a compilation cache that the tests share."""
    variables = {**os.environ, "XLA_FLAGS": "", "JAX_COMPILATION_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-m", "instar", *map(str, arguments)],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def recorded(folder):
    """All that a run has written down, column by column."""
    found = {}
    with h5py.File(folder / "trajectory.h5") as file:

        def note(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()]

        file.visititems(note)
    return found


def assert_same(one, other):
    """Two runs have recorded the same, to the bit."""
    first, second = recorded(one), recorded(other)
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=name)
