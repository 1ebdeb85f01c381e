"""What relaxation can't begin with, refused in words before anything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from instar.core.typing import ArrayLike
from instar.dynamics.relax.cell import CELLS
from instar.geometry import AllParticles
from instar.potentials import Pair, Potential, PotentialError
from instar.potentials.constraints import constraints_of
from instar.potentials.potential import check_leaves
from instar.potentials.structures import Structures

__all__ = [
    "check_all",
    "check_cells",
    "check_mask",
    "check_potential",
    "check_tolerances",
    "least_tolerance",
]


def check_all(  # noqa: PLR0913 (all that a relaxation is given)
    particles: Any,
    systems: Any,
    potential: Potential,
    fixed: np.ndarray,
    *,
    cell: str,
    pressure: ArrayLike,
    force_tolerance: ArrayLike,
    stress_tolerance: ArrayLike,
    steps: ArrayLike,
) -> None:
    """Refuse what relaxation can't begin with."""
    everyone = AllParticles.of(particles, systems)
    if cell not in CELLS:
        raise ValueError(f"A cell is {', '.join(CELLS)}; there is no {cell!r}.")
    check_potential(potential, particles, systems, cell)
    dtype = everyone.positions.dtype
    check_tolerances(dtype, force_tolerance, stress_tolerance, steps, pressure, cell)
    check_cells(everyone, fixed, cell)


def check_potential(potential: Potential, particles: Any, systems: Any, cell: str) -> None:
    """Refuse a potential that the particles don't fit, or that relaxation can't do with."""
    check_leaves(potential)
    if problems := potential.check(Structures.of_tables(particles, systems)):
        raise PotentialError(str(problems[0]))
    if constraints_of(potential).all_groups:
        raise PotentialError(
            "Relaxation does not hold distances.\nLeave distance_constraint out, or replace it by "
            "a stiff bond; fixed atoms are possible."
        )
    if cell == "fixed":
        return
    for part in potential.parts():
        if isinstance(part, Pair) and part.truncation == "tail":
            raise PotentialError(
                "The pressure of truncation: tail is not the derivative of its energy, so a cell "
                f"can't be relaxed with it (cell: {cell}).\nUse truncation: switch or force_shift, "
                "or a fixed cell."
            )


def check_mask(mask: Any, cell: str) -> None:
    """Refuse a mask where the cell may not do what the mask lets it do."""
    if mask is None or cell == "full":
        return
    if cell == "fixed":
        raise ValueError("A mask has no meaning where the cell is fixed.")
    raise ValueError(
        f"A mask has no meaning for cell: {cell}, which moves all components together.\n"
        "Leave it out, or use cell: full."
    )


def check_cells(everyone: AllParticles, fixed: np.ndarray, cell: str) -> None:
    """Refuse a cell that can't move."""
    if cell == "fixed":
        return
    open_ = ~(np.asarray(everyone.cell.periodic).all(axis=1) & np.asarray(everyone.cell.bounded))
    open_ &= np.asarray(everyone.system.counts.data) > 0
    if open_.any():
        raise ValueError(
            f"System {int(np.argmax(open_))} does not repeat along all axes, so it has no volume "
            f"to change (cell: {cell}).\nUse a fixed cell."
        )
    if (fixed & np.asarray(everyone.there)).any():
        raise ValueError("A cell can't change around fixed atoms.\nFree them, or use a fixed cell.")


def check_tolerances(
    dtype: Any,
    force: ArrayLike,
    stress: ArrayLike,
    steps: ArrayLike,
    pressure: ArrayLike,
    cell: str,
) -> None:
    """Refuse numbers that nothing can reach."""
    least = least_tolerance(dtype)
    for name, given, unit in (
        ("force tolerance", force, "eV/Å"),
        ("stress tolerance", stress, "eV/Å³"),
    ):
        known = np.ravel(np.asarray(given, float))
        if not (known > 0).all():
            raise ValueError(f"A {name} is above zero, not {known[~(known > 0)][0]:g} {unit}.")
        if (known < least).any():
            raise ValueError(
                f"A {name} of {known.min():g} {unit} is below what {np.dtype(dtype)} can reach; "
                f"{least:.1g} {unit} or more is possible."
            )
    whole = np.ravel(np.asarray(steps))
    if whole.dtype.kind not in "iu" or (whole < 0).any() or (whole >= 2**31).any():
        raise ValueError(f"Steps are a whole number from 0 up, not {steps}.")
    known = np.ravel(np.asarray(pressure, float))
    if not np.isfinite(known).all():
        raise ValueError(f"A pressure is a finite number, not {known[~np.isfinite(known)][0]:g}.")
    if cell == "fixed" and (known != 0).any():
        raise ValueError(
            f"A pressure of {known[known != 0][0]:g} eV/Å³ changes nothing where the cell is "
            "fixed.\nLeave it out, or let the cell move: cell: isotropic or full."
        )


def least_tolerance(dtype: Any) -> float:
    """The smallest tolerance that forces of about 1 eV/Å, rounded, may reach."""
    return float(4 * np.finfo(dtype).eps)
