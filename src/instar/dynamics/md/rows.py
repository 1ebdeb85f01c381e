"""What a run of molecular dynamics writes down: the columns of thermo and of frames."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.dynamics.md.state import State
from instar.dynamics.md.thermo import thermo
from instar.observables.quantity import Quantity

__all__ = ["FRAME", "THERMO", "Frame", "thermo_row"]

THERMO = {
    "temperature": Quantity("K", "kinetic temperature", shown="value", live=True),
    "potential": Quantity("eV", "potential energy", shown="value"),
    "kinetic": Quantity("eV", "kinetic energy"),
    "total": Quantity("eV", "kinetic and potential energy", live=True),
    "conserved": Quantity("eV", "what the method keeps constant", shown="change"),
    "pressure": Quantity("bar", "pressure; none without a volume", shown="value"),
    "volume": Quantity("angstrom^3", "volume of the cell; none if it does not repeat"),
    "density": Quantity("g/cm^3", "mass per volume", shown="value"),
}
"""Columns of the thermo table."""

FRAME = {
    "cell": Quantity("angstrom", "vectors of the cell, as rows", shape=(3, 3)),
    "positions": Quantity("angstrom", "not wrapped", "particles", (3,), "float32"),
    "velocities": Quantity("angstrom/fs", "velocities", "particles", (3,), "float32"),
}
"""Columns of frames; velocities are among them on request."""


def thermo_row(state: State) -> dict[str, Array]:
    """A row of thermo (systems,), in internal units; wrap the caller: checks are runtime checks."""
    found = thermo(state)
    particles, cell = state.particles.data, state.systems.data.cell
    mass = particles.system.sum_over(particles.masses).data
    filled = jnp.all(cell.periodic, axis=1)  # what has no volume has none of these
    volume = jnp.where(filled, found.volume, jnp.nan)
    return {
        "temperature": found.temperature,
        "potential": found.potential,
        "kinetic": found.kinetic,
        "total": found.total,
        "conserved": found.conserved,
        "pressure": jnp.where(filled, found.pressure, jnp.nan),
        "volume": volume,
        "density": mass / volume,
    }


@dataclasses.dataclass(frozen=True)
class Frame:
    """A frame as it is stored, with velocities or without."""

    velocities: bool

    def __call__(self, state: State) -> dict[str, Any]:
        data = state.particles.data
        columns = {"positions": data.positions, "velocities": data.velocities}
        wanted = columns if self.velocities else {"positions": data.positions}
        frame = {name: column.astype(np.float32) for name, column in wanted.items()}
        return {"cell": state.systems.data.cell.vectors, **frame}
