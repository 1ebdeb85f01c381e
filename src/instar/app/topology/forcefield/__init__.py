"""PDB files with force fields in the XML format of OpenMM."""

from instar.app.topology.forcefield.build import read_force_field
from instar.app.topology.forcefield.options import ForceFieldOptions

__all__ = ["ForceFieldOptions", "read_force_field"]
