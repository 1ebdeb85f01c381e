"""Cells, periodic images, rotations."""

from instar.geometry.cell import Cell
from instar.geometry.rotation import Rotation

__all__ = ["Cell", "Rotation"]
