"""L-BFGS, step for step as in ASE.

    Δx = H f, shortened as a whole until no atom moves further than the longest step

with H from the last steps (see `history`): D. C. Liu and J. Nocedal, Math. Program. 45, 503
(1989). There is no line search, and energies are not looked at. Where cells move, a row of the cell
counts as an atom.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import Option
from instar.core.utils.jax import dataclass, field
from instar.dynamics.knobs import Numbers, checked, knob
from instar.dynamics.relax.cell import generalized_forces
from instar.dynamics.relax.coordinates import Coordinates, dot, largest_part, times
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
from instar.dynamics.relax.state import State

__all__ = ["Lbfgs", "lbfgs"]


@dataclass
class Lbfgs(Optimizer):
    """See `lbfgs`."""

    stiffness: Any
    longest_step: Any
    memory: int = field(static=True, default=100)

    def fresh(self, state: State) -> History:
        """No history."""
        return empty_history(state, self.memory)

    def again(self, kept: History, new: Array, state: State) -> History:
        """New systems without a history."""
        return forgotten(kept, new)

    def proposed(self, state: State, forces: Coordinates) -> tuple[Coordinates, History]:
        """Along the direction that the history says, within the limit."""
        step = direction(state.optimizer, forces, knob(self.stiffness, state), state)
        longest, limit = largest_part(step, state), knob(self.longest_step, state)
        far = longest >= limit
        shorter = jnp.where(far, limit / jnp.where(far, longest, 1), 1)
        return times(shorter, step, state), state.optimizer

    def judged(
        self, before: State, trial: State, step: Coordinates, forces: Coordinates
    ) -> tuple[State, History]:
        """With the step in the history."""
        change = forces - generalized_forces(trial, self.scale(trial))
        curvature = dot(change, step, trial)
        inverse = jnp.where(curvature != 0, 1 / jnp.where(curvature != 0, curvature, 1), 0)
        return trial, after_step(trial.optimizer, step, change, inverse, trial)


@optimizer(
    "lbfgs",
    memory=Option("how many steps are remembered", default=100, kind=int, least=1),
    stiffness=Option(
        "the curvature where nothing is known yet",
        unit="eV/angstrom^2",
        default="70 eV/angstrom^2",
        above=0,
    ),
    longest_step=Option(
        "how far an atom moves at most in a step", unit="angstrom", default="0.2 angstrom", above=0
    ),
)
def lbfgs(memory: int = 100, stiffness: Numbers = 70.0, longest_step: Numbers = 0.2) -> Relaxation:
    """L-BFGS, step for step as in ASE: the curvature is learned from the last steps.

        Δx = H f, shortened as a whole until no atom moves further than the longest step

    D. C. Liu and J. Nocedal, Math. Program. 45, 503 (1989). There is no line search, and energies
    are not looked at: it may go uphill where `auto` does not.

    Parameters
    ----------
    memory
        How many steps are remembered; each takes 48 bytes per atom in double precision.
    stiffness
        The curvature in eV/Å² where nothing is known yet; one for all systems or one per system.
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
    >>> method = relax.lbfgs(memory=20)
    """
    checked("stiffness", stiffness)
    checked("longest step", longest_step)
    return relaxation(Lbfgs(stiffness, longest_step, checked_memory(memory)))
