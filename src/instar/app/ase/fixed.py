"""Atoms that never move: of ASE's constraints, the one that is known here."""

from __future__ import annotations

import numpy as np
from ase import Atoms

__all__ = ["fixed_in", "wrong_constraint"]


def wrong_constraint(atoms: Atoms) -> str | None:
    """What is wrong with the constraints of a structure, and what to do; None if nothing is."""
    if not atoms.constraints:
        return None
    from ase.constraints import FixAtoms  # takes a while to import

    for constraint in atoms.constraints:
        if not isinstance(constraint, FixAtoms):
            return (
                f"has a constraint {type(constraint).__name__}; only FixAtoms is supported.\n"
                "Distances are held by distance_constraint in the potential."
            )
        index = np.asarray(constraint.index)
        beyond = (index < -len(atoms)) | (index >= len(atoms))
        if beyond.any():
            return f"fixes atom {index[beyond][0]}, and has {len(atoms)} atoms."
    return None


def fixed_in(atoms: Atoms) -> np.ndarray:
    """(atoms,) Which atoms `FixAtoms` holds."""
    fixed = np.zeros(len(atoms), bool)
    for constraint in atoms.constraints:
        fixed[constraint.index] = True
    return fixed
