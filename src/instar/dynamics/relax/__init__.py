"""Relaxation: many systems to their minima, each as if it were alone; one method a file."""

from instar.core.utils.declaration import Option
from instar.dynamics.relax.auto import auto
from instar.dynamics.relax.declared import optimizer
from instar.dynamics.relax.fire import fire
from instar.dynamics.relax.lbfgs import lbfgs
from instar.dynamics.relax.optimizer import (
    Optimizer,
    Relaxation,
    largest_stress,
    longest_force,
    measure_of_ase,
)
from instar.dynamics.relax.outcomes import outcomes
from instar.dynamics.relax.start import relaxed, start
from instar.dynamics.relax.state import Particles, State, Systems

__all__ = [
    "Optimizer",
    "Option",
    "Particles",
    "Relaxation",
    "State",
    "Systems",
    "auto",
    "fire",
    "largest_stress",
    "lbfgs",
    "longest_force",
    "measure_of_ase",
    "optimizer",
    "outcomes",
    "relaxed",
    "start",
]
