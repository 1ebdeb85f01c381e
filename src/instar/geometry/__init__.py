"""Cells, periodic images, rotations; the particles of all systems."""

from instar.geometry.all_particles import AllParticles
from instar.geometry.cell import Cell
from instar.geometry.rotation import Rotation

__all__ = ["AllParticles", "Cell", "Rotation"]
