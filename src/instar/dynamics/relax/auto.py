"""`auto`: L-BFGS whose steps never raise the energy, with curvature and reach that are learned.

    Δx = H f, with α = y·y/(s·y) where nothing is known;   no atom further than the reach
    E + pV rises:  back to where it was, a shorter reach, and what was learned is kept
    else:          the step counts, and the reach grows if it was too short

D. C. Liu and J. Nocedal, Math. Program. 45, 503 (1989), in a trust region. A trial costs one
evaluation, whether it counts or not; there is no line search, so that no system waits for another.
The part of the cell is scaled by √N v^⅓, v being the volume per atom: then its curvature is about
that of atoms, however many there are. It is kept symmetric, so that cells don't turn.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import Option
from instar.core.utils.jax import dataclass, field
from instar.dynamics.containment import chosen
from instar.dynamics.knobs import Numbers, checked, knob
from instar.dynamics.relax.cell import generalized_forces
from instar.dynamics.relax.coordinates import Coordinates, dot, norm, only, times
from instar.dynamics.relax.declared import optimizer
from instar.dynamics.relax.history import (
    History,
    after_step,
    checked_memory,
    direction,
    empty_history,
    forgotten,
)
from instar.dynamics.relax.optimizer import Optimizer, Relaxation, relaxation
from instar.dynamics.relax.outcomes import GOING, STUCK
from instar.dynamics.relax.state import State

__all__ = ["Auto", "auto"]

FIRST_REACH, GROWTH, SHRINKAGE = 0.1, 2.0, 0.25
"""The reach of the first step (Å), and by what it changes."""

CELL_LENGTH = 3.0
"""Å: a strain of 1 counts as so long a step."""

CELL_SCALE = 0.6
"""In units of √N v^⅓."""

FORGETS_AFTER, GIVES_UP_AFTER = 3, 20
"""Trials refused in a row: the history is not to be trusted any more; no step lowers the energy."""


@dataclass
class Learned:
    """What `auto` keeps."""

    history: History
    stiffness: Array  # (systems,) α, eV/Å²
    reach: Array  # (systems,) Å
    refused: Array  # (systems,) int32: trials in a row that raised the energy


@dataclass
class Auto(Optimizer):
    """See `auto`."""

    stiffness: Any
    longest_step: Any
    memory: int = field(static=True, default=20)

    def scale(self, state: State) -> Array:
        """√N v^⅓, of the cell that deformations are counted from."""
        systems = state.systems.data
        volume = jnp.abs(jnp.linalg.det(systems.reference)) / systems.atoms
        return CELL_SCALE * jnp.sqrt(systems.atoms) * jnp.cbrt(volume)

    def fresh(self, state: State) -> Learned:
        """Nothing learned."""
        return Learned(
            history=empty_history(state, self.memory),
            stiffness=knob(self.stiffness, state),
            reach=self._first_reach(state),
            refused=jnp.zeros(len(state.systems), jnp.int32),
        )

    def again(self, kept: Learned, new: Array, state: State) -> Learned:
        """New systems have learned nothing."""
        return Learned(
            history=forgotten(kept.history, new),
            stiffness=jnp.where(new, knob(self.stiffness, state), kept.stiffness),
            reach=jnp.where(new, self._first_reach(state), kept.reach),
            refused=jnp.where(new, 0, kept.refused),
        )

    def _first_reach(self, state: State) -> Array:
        return jnp.minimum(FIRST_REACH, knob(self.longest_step, state))

    def proposed(self, state: State, forces: Coordinates) -> tuple[Coordinates, Learned]:
        """Along the direction that the history says, if it leads down, within the reach."""
        kept: Learned = state.optimizer
        forces = symmetric(forces)
        step = direction(kept.history, forces, kept.stiffness, state)
        down = dot(step, forces, state) > 1e-6 * norm(step, state) * norm(forces, state)
        step = only(down, step, times(1 / kept.stiffness, forces, state), state)
        return limited(step, kept.reach, self.scale(state), state), kept

    def judged(
        self, before: State, trial: State, step: Coordinates, forces: Coordinates
    ) -> tuple[State, Learned]:
        """The trial if it has not raised the energy; what it has taught in any case."""
        kept: Learned = trial.optimizer
        forces = symmetric(forces)
        later = symmetric(generalized_forces(trial, self.scale(trial)))
        rise = trial.enthalpy - before.enthalpy
        work = dot(forces + later, step, trial) / 2  # −ΔE, to third order of the step
        rounding = 8 * jnp.finfo(trial.dtype).eps * jnp.abs(before.enthalpy)
        good = (rise < 0) | ((rise <= rounding) & (work >= 0))
        change = forces - later
        curvature = dot(change, step, trial)
        bend, length = norm(change, trial), norm(step, trial)
        bent = curvature > 1e-8 * bend * length
        inverse = jnp.where(bent, 1 / jnp.where(bent, curvature, 1), 0)
        history = after_step(kept.history, step, change, inverse, trial)
        refused = jnp.where(good, 0, kept.refused + 1)
        history = forgotten(history, refused == FORGETS_AFTER)
        softer = jnp.where(good, kept.stiffness / 2, kept.stiffness)
        stiffness = jnp.where(bent, bend**2 / jnp.where(bent, curvature, 1), softer)
        extent = largest_extent(step, self.scale(trial), trial)
        longest = knob(self.longest_step, trial)
        wider = jnp.where(extent > 0.9 * kept.reach, GROWTH * kept.reach, kept.reach)
        reach = jnp.where(good, jnp.minimum(wider, longest), SHRINKAGE * extent)
        after = chosen(good, trial, before)
        outcome = jnp.where(refused >= GIVES_UP_AFTER, STUCK, GOING)
        learned = Learned(history, stiffness, reach, refused)
        return after.with_systems(outcome=outcome.astype(jnp.int32)), learned


def symmetric(vector: Coordinates) -> Coordinates:
    """Without rotations of the cell."""
    if vector.cell is None:
        return vector
    return Coordinates(vector.particles, (vector.cell + jnp.swapaxes(vector.cell, 1, 2)) / 2)


def largest_extent(step: Coordinates, scale: Array, state: State) -> Array:
    """How far a step goes (systems,), in Å."""
    longest = jnp.sqrt(state.largest(jnp.sum(step.particles**2, axis=1)))
    if step.cell is None:
        return longest
    rows = jnp.sqrt(jnp.max(jnp.sum(step.cell**2, axis=2), axis=1))
    return jnp.maximum(longest, CELL_LENGTH * rows / scale)


def limited(step: Coordinates, reach: Array, scale: Array, state: State) -> Coordinates:
    """The step, shortened until nothing goes further than the reach."""
    extent = largest_extent(step, scale, state)
    far = extent > reach
    return times(jnp.where(far, reach / jnp.where(far, extent, 1), 1), step, state)


@optimizer(
    "auto",
    memory=Option("how many steps are remembered", default=20, kind=int, least=1),
    stiffness=Option(
        "the curvature that the first step expects",
        unit="eV/angstrom^2",
        default="10 eV/angstrom^2",
        above=0,
    ),
    longest_step=Option(
        "how far an atom moves at most in a step", unit="angstrom", default="0.5 angstrom", above=0
    ),
)
def auto(memory: int = 20, stiffness: Numbers = 10.0, longest_step: Numbers = 0.5) -> Relaxation:
    """L-BFGS whose steps never raise the energy, with curvature and reach that are learned.

        Δx = H f, no atom further than the reach;   back where E + pV would rise

    D. C. Liu and J. Nocedal, Math. Program. 45, 503 (1989), in a trust region. It takes fewer
    evaluations than `fire` and `lbfgs`; a trial that is refused costs one, and is counted.

    Parameters
    ----------
    memory
        How many steps are remembered; each takes 48 bytes per atom in double precision.
    stiffness
        The curvature in eV/Å² that the first step expects; one for all systems or one per system.
    longest_step
        How far an atom moves at most in a step, in Å.

    Returns
    -------
    Relaxation
        What `relaxed` takes.

    Raises
    ------
    ValueError
        If a number is not in its range.

    Examples
    --------
    >>> from instar.dynamics import relax
    >>> method = relax.auto(memory=50)
    """
    checked("stiffness", stiffness)
    checked("longest step", longest_step)
    return relaxation(Auto(stiffness, longest_step, checked_memory(memory)))
