"""Data files of LAMMPS."""

from instar.app.topology.lammps.build import read_data
from instar.app.topology.lammps.options import DataOptions

__all__ = ["DataOptions", "read_data"]
