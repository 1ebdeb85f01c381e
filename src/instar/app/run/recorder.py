"""`Recorded`: a step that notes, inside the compiled program, what is to be written down."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.app.config.units import parse_unit
from instar.core.utils.jax import dataclass, field
from instar.dynamics import md

__all__ = ["THERMO", "Notes", "Recorded"]

THERMO = {
    "temperature": "K",
    "potential": "eV",
    "kinetic": "eV",
    "total": "eV",
    "conserved": "eV",
    "pressure": "bar",
    "volume": "angstrom^3",
    "density": "g/cm^3",
}
"""Columns of the thermo table and their units."""

_BAR, _GRAM_PER_CM3 = parse_unit("bar")[0], parse_unit("g/cm^3")[0]


@dataclass
class Notes:
    """Rows that wait to be read by the host; a count says how many there are."""

    thermo: dict[str, Any]  # (room, systems)
    thermo_steps: Any  # (room,)
    thermo_count: Any
    frames: dict[str, Any]  # positions, cell and, if wanted, velocities: (room, ...)
    frame_steps: Any  # (room,)
    frame_count: Any

    @staticmethod
    def empty(state: md.State, thermo_room: int, frame_room: int, velocities: bool) -> Notes:
        """Room for so many rows."""
        systems, particles = len(state.systems), len(state.particles)
        frames = {
            "positions": np.zeros((frame_room, particles, 3), np.float32),
            "cell": np.zeros((frame_room, systems, 3, 3), state.dtype),
        }
        if velocities:
            frames["velocities"] = np.zeros_like(frames["positions"])
        notes = Notes(
            thermo={name: np.zeros((thermo_room, systems), state.dtype) for name in THERMO},
            thermo_steps=np.zeros(thermo_room, np.uint32),
            thermo_count=np.zeros((), np.int32),
            frames=frames,
            frame_steps=np.zeros(frame_room, np.uint32),
            frame_count=np.zeros((), np.int32),
        )
        return jax.device_put(notes)

    def erased(self) -> Notes:
        """Nothing noted, the room as it is."""
        none = jax.device_put(np.zeros((), np.int32), self.thermo_count.sharding)
        return dataclasses.replace(self, thermo_count=none, frame_count=none)

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Rows of thermo and of frames, on the host."""
        noted = jax.device_get(self)
        rows, frames = int(noted.thermo_count), int(noted.frame_count)
        thermo = {"step": noted.thermo_steps.astype(np.int64), **noted.thermo}
        moved = {"step": noted.frame_steps.astype(np.int64), **noted.frames}
        return (
            {name: values[:rows] for name, values in thermo.items()},
            {name: values[:frames] for name, values in moved.items()},
        )


@dataclass
class Recorded(md.Part):
    """A step; then a row of thermo and a frame, each every few steps counted from ``origin``.

    Frames are noted only after ``origin``, the end of the equilibration. ``frame_every`` 0: never.
    """

    step: md.Part
    origin: Any
    thermo_every: int = field(static=True)
    frame_every: int = field(static=True)

    def __call__(self, key: Array, state: md.State, /) -> md.State:
        """The step, and what is noted after it."""
        state = self.step(key, state)
        notes = self._with_frame(state, self._with_thermo(state, state.observed))
        return dataclasses.replace(state, observed=notes)

    def begin(self, state: md.State) -> md.State:
        """With what the step needs."""
        return self.step.begin(state)

    def _due(self, state: md.State, every: int) -> Array:
        origin = jnp.asarray(self.origin, jnp.uint32)
        return (state.step + (every - origin % every)) % every == 0

    def _with_thermo(self, state: md.State, notes: Notes) -> Notes:
        due = self._due(state, self.thermo_every)
        nothing = jnp.zeros(len(state.systems), state.dtype)
        row = lax.cond(due, self._row, lambda _: dict.fromkeys(THERMO, nothing), state)
        place = jnp.where(due, notes.thermo_count, notes.thermo_steps.shape[0])
        return dataclasses.replace(
            notes,
            thermo={name: _put(notes.thermo[name], place, row[name]) for name in THERMO},
            thermo_steps=_put(notes.thermo_steps, place, state.step),
            thermo_count=notes.thermo_count + due.astype(jnp.int32),
        )

    def _row(self, state: md.State) -> dict[str, Array]:
        found = md.thermo(self.step, state)
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
            "pressure": jnp.where(filled, found.pressure, jnp.nan) / _BAR,
            "volume": volume,
            "density": mass / volume / _GRAM_PER_CM3,
        }

    def _with_frame(self, state: md.State, notes: Notes) -> Notes:
        if self.frame_every == 0:
            return notes
        due = self._due(state, self.frame_every) & (state.step > self.origin)
        place = jnp.where(due, notes.frame_count, notes.frame_steps.shape[0])
        data = state.particles.data
        columns = {
            "positions": data.positions,
            "cell": state.systems.data.cell.vectors,
            "velocities": data.velocities,
        }
        frames = {
            name: _put(rows, place, columns[name].astype(rows.dtype))
            for name, rows in notes.frames.items()
        }
        return dataclasses.replace(
            notes,
            frames=frames,
            frame_steps=_put(notes.frame_steps, place, state.step),
            frame_count=notes.frame_count + due.astype(jnp.int32),
        )


def _put(rows: Array, place: Array, new: Array) -> Array:
    """One row written; none if the place is beyond the end. No row is ever copied elsewhere."""
    return rows.at[place].set(new, mode="drop")
