"""What a run of relaxation writes down: the columns of thermo and of frames."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.dynamics.relax.optimizer import largest_stress, longest_force, measure_of_ase
from instar.dynamics.relax.state import State
from instar.observables.quantity import Quantity

__all__ = ["FRAME", "THERMO", "frame", "thermo_row"]

THERMO = {
    "energy": Quantity("eV", "potential energy", shown="value"),
    "enthalpy": Quantity("eV", "energy and pV: what is minimized", shown="change"),
    "force": Quantity("eV/angstrom", "longest force", shown="value", live=True),
    "stress": Quantity("GPa", "largest component of stress and pressure that moves the cell"),
    "measure": Quantity("eV/angstrom", "what ASE compares with fmax"),
    "volume": Quantity("angstrom^3", "volume of the cell; none if it does not repeat"),
    "made": Quantity("", "steps made"),
    "outcome": Quantity("", "0 goes on, 1 converged, 3 stuck"),
}
"""Columns of the thermo table."""

FRAME = {
    "cell": Quantity("angstrom", "vectors of the cell, as rows", shape=(3, 3)),
    "positions": Quantity("angstrom", "not wrapped", "particles", (3,), "float64"),
    "forces": Quantity("eV/angstrom", "forces", "particles", (3,), "float64"),
    "energy": Quantity("eV", "potential energy", shape=()),
    "stress": Quantity("eV/angstrom^3", "stress, in the sign of ASE", shape=(3, 3)),
}
"""Columns of frames."""


def thermo_row(state: State) -> dict[str, Array]:
    """A row of thermo (systems,), in internal units; NaN where nothing is known yet."""
    known = state.systems.data
    filled = jnp.all(known.cell.periodic, axis=1)
    row = {
        "energy": known.energy,
        "enthalpy": state.enthalpy,
        "force": longest_force(state),
        "stress": largest_stress(state),
        "measure": measure_of_ase(state),
        "volume": jnp.where(filled, known.cell.volume, jnp.nan),
    }
    row = {name: _known(column, state) for name, column in row.items()}
    made, outcome = (column.astype(state.dtype) for column in (known.steps, known.outcome))
    return {**row, "made": made, "outcome": outcome}


def frame(state: State) -> dict[str, Any]:
    """A frame, in internal units."""
    known, particles = state.systems.data, state.particles.data
    filled = jnp.all(known.cell.periodic, axis=1)[:, None, None]
    stress = -known.virial / known.cell.volume[:, None, None]
    return {
        "cell": known.cell.vectors,
        "positions": particles.positions,
        "forces": particles.forces,
        "energy": _known(known.energy, state),
        "stress": _known(jnp.where(filled, stress, jnp.nan), state),
    }


def _known(column: Array, state: State) -> Array:
    evaluated = state.systems.data.evaluations > 0
    return jnp.where(evaluated.reshape(-1, *(1,) * (column.ndim - 1)), column, jnp.nan)
