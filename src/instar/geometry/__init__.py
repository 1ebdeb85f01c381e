"""Cells, periodic images, rotations; particles in their systems."""

from instar.geometry.cell import Cell
from instar.geometry.rotation import Rotation
from instar.geometry.system import System, per_system

__all__ = ["Cell", "Rotation", "System", "per_system"]
