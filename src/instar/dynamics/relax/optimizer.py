"""`Optimizer`: what a method decides of a step, and `Relaxation`: the step that they all share.

    x' = x + Δx(forces, what the method keeps);  F(x');  the method judges;  has it converged?

Every system goes its own way: one that has ended stays as it is while others go on, and one that is
new is only evaluated by its first step. A step takes one evaluation of the potential.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass
from instar.core.utils.precision import precision_of
from instar.dynamics.containment import chosen, contained
from instar.dynamics.forces import forces_on_free, located
from instar.dynamics.part import Part
from instar.dynamics.relax.cell import (
    displaced,
    far_deformed,
    generalized_forces,
    moving_stress,
    referred,
)
from instar.dynamics.relax.coordinates import Coordinates, largest_part, only
from instar.dynamics.relax.outcomes import CONVERGED, GOING, OUT_OF_STEPS
from instar.dynamics.relax.state import NEIGHBORS, State
from instar.potentials import evaluate

__all__ = [
    "Optimizer",
    "Relaxation",
    "evaluated",
    "largest_stress",
    "longest_force",
    "measure_of_ase",
    "relaxation",
]


@dataclass
class Optimizer:
    """How far to go, from forces and what was kept of the steps before; abstract.

    What it keeps is a tree of arrays: of particles, of systems, or of both behind a first axis.
    """

    def scale(self, state: State) -> Array:
        """What the logarithm of a deformation is multiplied by (systems,): the atoms, as in ASE."""
        return state.systems.data.atoms

    def fresh(self, state: State) -> Any:
        """What it keeps of systems that have not made a step."""
        raise NotImplementedError(f"{type(self).__name__} keeps nothing.")

    def again(self, kept: Any, new: Array, state: State) -> Any:
        """What it keeps, but for new systems (systems,): theirs as `fresh` makes it."""
        raise NotImplementedError(f"{type(self).__name__} can't begin again.")

    def proposed(self, state: State, forces: Coordinates) -> tuple[Coordinates, Any]:
        """The step of each system, and what is kept."""
        raise NotImplementedError(f"{type(self).__name__} proposes no step.")

    def judged(
        self, before: State, trial: State, step: Coordinates, forces: Coordinates
    ) -> tuple[State, Any]:
        """The state after the step, and what is kept; ``forces`` are those before it.

        The trial has what `proposed` has kept.
        """
        return trial, trial.optimizer


@dataclass
class Relaxation(Part):
    """One step of an optimizer for all systems that go on."""

    optimizer: Optimizer

    def __call__(self, key: Array, state: State, /) -> State:
        going, entering = state.going, state.going & (state.systems.data.evaluations == 0)
        scale = self.optimizer.scale(state)
        forces = generalized_forces(state, scale)
        step, kept = self.optimizer.proposed(state, forces)
        none = jax.tree.map(jnp.zeros_like, step)
        step = only(going & ~entering, step, none, state)
        trial = evaluated(displaced(dataclasses.replace(state, optimizer=kept), step, scale))
        after, kept = self.optimizer.judged(state, trial, step, forces)
        after = dataclasses.replace(after, optimizer=kept)
        after = chosen(going, chosen(entering, trial, after), state)
        after = contained(state, _counted(after, going, entering))
        begins = entering
        if state.moves_cell:
            far = far_deformed(after) & after.going
            begins, after = begins | far, referred(after, far)
        kept = self.optimizer.again(kept, begins, after)
        return dataclasses.replace(after, optimizer=kept, step=state.step + 1)

    def begin(self, state: State) -> State:
        """With what the optimizer keeps."""
        with precision_of(state):
            return dataclasses.replace(state, optimizer=self.optimizer.fresh(state))


def relaxation(optimizer: Optimizer) -> Relaxation:
    """The step of an optimizer; its numbers become arrays, so that others need no new program."""

    def as_array(knob: Any) -> Any:
        return knob if isinstance(knob, jax.Array) else np.asarray(knob, float)

    return Relaxation(jax.tree.map(as_array, optimizer))


def longest_force(state: State) -> Array:
    """max |F| (systems,) in eV/Å, of atoms that are free to move."""
    squares = jnp.sum(state.particles.data.forces**2, axis=1)
    return jnp.sqrt(state.largest(squares))


def largest_stress(state: State) -> Array:
    """max |σ + p| (systems,) in eV/Å³, of components that move the cell."""
    return jnp.max(jnp.abs(moving_stress(state)), axis=(1, 2))


def measure_of_ase(state: State) -> Array:
    """What ASE compares with ``fmax`` (systems,): the longest row of forces on atoms and cell."""
    return largest_part(generalized_forces(state, state.systems.data.atoms), state)


def evaluated(state: State) -> State:
    """With an up-to-date list, forces and energy; and the virial where it is needed.

    Checks are runtime checks: wrap the caller.
    """
    state, there = located(state, NEIGHBORS)
    found = evaluate(
        there.potential,
        there.particles,
        there.systems,
        there.neighbors,
        virial=state.moves_cell or state.stresses,
        finite=False,
    )
    assert found.forces is not None
    state = state.with_particles(forces=forces_on_free(found.forces, state))
    if found.virial is not None:
        state = state.with_systems(virial=found.virial)
    return state.with_systems(energy=found.energy)


def _counted(state: State, going: Array, entering: Array) -> State:
    """With one more evaluation of what goes on, and one more step of what has moved; judged."""
    known = state.systems.data
    one = going.astype(jnp.uint32)
    steps = known.steps + jnp.where(entering, jnp.uint32(0), one)
    small = longest_force(state) <= known.force_tolerance
    small &= largest_stress(state) <= known.stress_tolerance
    over = (known.outcome == GOING) & (steps >= known.most)
    outcome = jnp.where(going & over, OUT_OF_STEPS, known.outcome)
    return state.with_systems(
        steps=steps,
        evaluations=known.evaluations + one,
        outcome=jnp.where(going & small, CONVERGED, outcome),
    )
