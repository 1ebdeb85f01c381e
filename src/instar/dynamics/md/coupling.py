"""What a barostat may change of a cell, and how particles follow.

A deformation r → r·F takes the centres of mass of molecules along, and their velocities the other
way, V → V·F⁻¹; molecules themselves keep their shape. An atom may be a molecule on its own.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import Table
from instar.dynamics.md.state import State
from instar.geometry import Cell
from instar.observables.molecules import are_single, centres, molecule_masses
from instar.observables.pressure import molecular_pressure_tensor

__all__ = [
    "MODES",
    "Coupling",
    "check_cells",
    "deformed_cell",
    "exponential",
    "moved_with",
    "pressure_on_cell",
    "projected",
    "translations",
]

Coupling = Literal["isotropic", "anisotropic", "full"]
MODES = {"isotropic": 1, "anisotropic": 3, "full": 6}
"""Degrees of freedom of a cell: its volume, its three lengths, its shape without rotations."""


def projected(tensor: Array, coupling: Coupling) -> Array:
    """The part of symmetric matrices (systems, 3, 3) that a barostat acts upon."""
    eye = jnp.eye(3, dtype=tensor.dtype)[None]
    if coupling == "isotropic":
        return jnp.trace(tensor, axis1=1, axis2=2)[:, None, None] / 3 * eye
    return tensor * eye if coupling == "anisotropic" else tensor


def exponential(matrix: Array) -> Array:
    """e^M of small matrices (systems, 3, 3): Taylor's series, to rounding for |M| < 0.1."""
    eye = jnp.broadcast_to(jnp.eye(3, dtype=matrix.dtype), matrix.shape)
    total = eye
    for order in range(9, 0, -1):
        total = eye + _times(matrix, total) / order
    return total


def deformed_cell(cell: Cell, deformation: Array, coupling: Coupling) -> Cell:
    """The cell after r → r·F."""
    vectors = _times(cell.vectors, deformation)
    straight = cell.orthorhombic and coupling != "full"
    return Cell(vectors, cell.periodic, cell.bounded, orthorhombic=straight)


def moved_with(values: Array, deformation: Array, state: State) -> Array:
    """x + X·(F − 1), X being the centre of mass of each particle's molecule: (particles, 3)."""
    change = deformation - jnp.eye(3, dtype=values.dtype)[None]
    change = state.systems.set_data(change)[state.particles.data.system]
    whole = centres(values, state.particles)
    return values + sum(whole[:, k, None] * change[:, k] for k in range(3))


def pressure_on_cell(state: State) -> Array:
    """P (systems, 3, 3) in eV/Å³ of molecules as wholes, from the virial of this step."""
    return molecular_pressure_tensor(state.particles, state.systems, state.systems.data.virial)


def translations(state: State) -> Array:
    """Degrees of freedom (systems,) of the centres of mass of molecules."""
    data = state.particles.data
    share = jnp.ones_like(data.masses)
    if not are_single(state.particles):
        total = Table(data.molecule.vocabulary, molecule_masses(state.particles))[data.molecule]
        share = data.masses / jnp.where(total > 0, total, 1)
    count = data.system.sum_over(share).data
    return 3 * count - 3 * state.systems.data.held.astype(count.dtype)


def check_cells(state: State, coupling: Coupling) -> State:
    """The state with cells that can change as asked for; else an error. On the host."""
    if coupling not in MODES:
        raise ValueError(f"A cell changes {', '.join(MODES)}; there is no {coupling!r}.")
    cell, data = state.systems.data.cell, state.particles.data
    open_ = ~(np.asarray(cell.periodic).all(axis=1) & np.asarray(cell.bounded))
    if open_.any():
        raise ValueError(
            f"System {int(np.argmax(open_))} does not repeat along all axes, so it has no volume "
            "to change.\nUse a method of constant volume."
        )
    if np.asarray(data.fixed & data.system.valid_mask).any():
        raise ValueError(
            "A cell can't change around fixed atoms.\n"
            "Free them, or use a method of constant volume."
        )
    if coupling == "full" and cell.orthorhombic:
        cell = dataclasses.replace(cell, orthorhombic=False)
    return state.with_systems(cell=cell)


def _times(left: Array, right: Array) -> Array:
    """Products of 3×3 matrices, term by term: the same on every device."""
    return sum(
        (left[:, :, k, None] * right[:, k, None, :] for k in range(1, 3)),
        left[:, :, 0, None] * right[:, 0, None, :],
    )
