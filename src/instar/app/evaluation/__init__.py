"""Energies, forces and stresses of structures, within a memory budget."""
