"""How cells move: the logarithm of their deformation beside the positions before it.

    r = r₀·Fᵀ        A = A₀·Fᵀ        F = e^U        x = (r₀, c U)
    f₀ = f·F         W' = W − pV      f_c = Σ L(Uᵀ, W'·F⁻ᵀ)/c

with the virial W = −Vσ, and L the Fréchet derivative of the exponential; as the `FrechetCellFilter`
of ASE, whose scale c is the number of atoms. The energy E + pV is minimized.

    fixed             cells do not move
    isotropic         by their volume alone: W' is replaced by ⅓ tr W'
    full              volume and shape
    constant_volume   shape alone: the trace of f_c is left out

A mask says which components of the strain may change. The reference A₀ moves along where the
deformation has grown: e^U is hardly a coordinate any more where it is far from one.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.dynamics.relax.coordinates import Coordinates
from instar.dynamics.relax.state import State
from instar.geometry.matrix_functions import (
    exponential,
    exponential_derivative,
    inverse,
    logarithm,
    product,
)

__all__ = [
    "CELLS",
    "displaced",
    "far_deformed",
    "generalized_forces",
    "mask_of",
    "moving_stress",
    "referred",
]

CELLS = ("fixed", "isotropic", "full", "constant_volume")

FARTHEST = 0.25
"""The deformation ‖U‖ at which the reference moves along: an eighth of each length."""


def generalized_forces(state: State, scale: Array) -> Coordinates:
    """Forces on r₀ and on c U, with the scale c (systems,)."""
    particles = state.particles.data
    if not state.moves_cell:
        return Coordinates(particles.forces, None)
    change = _deformation(state)
    whole = change + _eye(change)
    on_atoms = particles.forces + _rows(particles.forces, state.own(change))
    work = product(_moving(state, _excess(state)), jnp.swapaxes(inverse(whole), 1, 2))
    on_cell = exponential_derivative(logarithm(change), work)
    if state.cell == "constant_volume":
        on_cell = _traceless(on_cell)
    return Coordinates(on_atoms, on_cell / scale[:, None, None])


def displaced(state: State, step: Coordinates, scale: Array) -> State:
    """The state moved by a step in generalized coordinates, without its forces."""
    positions = state.particles.data.positions
    if step.cell is None:
        return state.with_particles(positions=positions + step.particles)
    systems = state.systems.data
    moves = jnp.any(step.cell != 0, axis=(1, 2))[:, None, None]
    before = _deformation(state)
    after = exponential(logarithm(before) + step.cell / scale[:, None, None])
    after = jnp.where(moves, after * systems.mask.astype(state.dtype), before)
    moved = systems.reference + product(systems.reference, _turned(after))
    vectors = jnp.where(moves, moved, systems.cell.vectors)
    # r·F⁻ᵀF'ᵀ − r = r·F⁻ᵀ(F' − F)ᵀ: nothing is lost where nothing changes.
    carrying = product(inverse(_turned(before) + _eye(before)), _turned(after - before))
    carried = _rows(positions, state.own(carrying))
    stepped = step.particles + _rows(step.particles, state.own(_turned(after)))
    cell = systems.cell.with_vectors(vectors)
    return state.with_particles(positions=positions + carried + stepped).with_systems(cell=cell)


def far_deformed(state: State) -> Array:
    """(systems,) whether the deformation has grown so far that the reference has to move along."""
    change = _deformation(state)
    return jnp.sum(logarithm(change) ** 2, axis=(1, 2)) > FARTHEST**2


def referred(state: State, moved: Array) -> State:
    """The state with the reference of some systems (systems,) where their cell is now."""
    systems = state.systems.data
    reference = jnp.where(moved[:, None, None], systems.cell.vectors, systems.reference)
    return state.with_systems(reference=reference)


def moving_stress(state: State) -> Array:
    """What moves the cell of σ + p (systems, 3, 3), in eV/Å³; zero where it is fixed."""
    if not state.moves_cell:
        return jnp.zeros_like(state.systems.data.virial)
    excess = _moving(state, _excess(state))
    if state.cell == "constant_volume":
        excess = _traceless(excess)
    return -excess / state.systems.data.cell.volume[:, None, None]


def _deformation(state: State) -> Array:
    """F − 1 (systems, 3, 3)."""
    systems = state.systems.data
    return _turned(product(inverse(systems.reference), systems.cell.vectors - systems.reference))


def _excess(state: State) -> Array:
    """W − pV (systems, 3, 3) in eV."""
    known = state.systems.data
    virial = (known.virial + _turned(known.virial)) / 2
    work = (known.pressure * known.cell.volume)[:, None, None]
    return virial - work * _eye(virial)


def _moving(state: State, virial: Array) -> Array:
    if state.cell == "isotropic":
        virial = jnp.trace(virial, axis1=1, axis2=2)[:, None, None] / 3 * _eye(virial)
    return virial * state.systems.data.mask.astype(virial.dtype)


def _traceless(matrix: Array) -> Array:
    return matrix - jnp.trace(matrix, axis1=1, axis2=2)[:, None, None] / 3 * _eye(matrix)


def _eye(matrix: Array) -> Array:
    return jnp.broadcast_to(jnp.eye(3, dtype=matrix.dtype), matrix.shape)


def _turned(matrix: Array) -> Array:
    return jnp.swapaxes(matrix, 1, 2)


def _rows(vectors: Array, matrices: Array) -> Array:
    """Each vector (particles, 3) times its matrix (particles, 3, 3)."""
    return sum(
        (vectors[:, k, None] * matrices[:, k] for k in range(1, 3)),
        vectors[:, 0, None] * matrices[:, 0],
    )


_COMPONENTS = ("xx", "yy", "zz", "yz", "xz", "xy")


def mask_of(given: Any, count: int) -> np.ndarray:
    """Which components of the strain may change (systems, 3, 3), from what users write.

    That is None for all of them, six bools (xx, yy, zz, yz, xz, xy), or a symmetric matrix; one for
    all systems, or one per system.
    """
    known = np.ones(6, bool) if given is None else np.asarray(given)
    if known.dtype != bool and not np.isin(known, (0, 1)).all():
        raise ValueError(f"A mask of strains is six bools ({', '.join(_COMPONENTS)}), not {given}.")
    known = known.astype(bool)
    if known.shape[-1:] == (6,):
        known = known[..., np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])]
    if known.shape not in ((3, 3), (count, 3, 3)) or (known != np.swapaxes(known, -1, -2)).any():
        raise ValueError(
            f"A mask of strains is six bools ({', '.join(_COMPONENTS)}) or a symmetric matrix, one "
            f"for all systems or one per system; not {given!r:.100}."
        )
    return np.broadcast_to(known, (count, 3, 3))
