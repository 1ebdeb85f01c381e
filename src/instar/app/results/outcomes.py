"""What has become of the systems of a run that relaxes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from instar.app.results.trajectory import Trajectory
from instar.dynamics.relax.outcomes import CONVERGED, FROZEN, GOING, NAMES, OUT_OF_STEPS

__all__ = ["Outcome", "outcomes_of"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a system has ended; NaN what is not known."""

    system: int
    name: str
    outcome: str
    steps: int
    energy: float
    force: float

    @property
    def converged(self) -> bool:
        """Whether it has."""
        return self.outcome == NAMES[CONVERGED]


def outcomes_of(
    trajectory: Trajectory, exploded: Iterable[int] = (), *, ended: bool = True
) -> list[Outcome]:
    """The outcome of each system by its last row; nothing if the run does not relax.

    Where the run has ``ended``, what still goes on is out of steps.
    """
    thermo, frozen = trajectory.thermo, set(exploded)
    if not {"outcome", "made", "energy", "force"} <= set(thermo):
        return []
    found = []
    for system, name in enumerate(trajectory.names):
        known = np.flatnonzero(np.isfinite(thermo["outcome"][:, system]))
        row = known[-1] if len(known) else None
        code = GOING if row is None else int(thermo["outcome"][row, system])
        if code == GOING and ended:
            code = OUT_OF_STEPS
        energy, force, made = (
            np.nan if row is None else float(thermo[column][row, system])
            for column in ("energy", "force", "made")
        )
        text = NAMES.get(FROZEN if system in frozen else code, "unknown")
        found.append(Outcome(system, name, text, int(np.nan_to_num(made)), energy, force))
    return found
