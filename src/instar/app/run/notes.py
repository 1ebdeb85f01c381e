"""What is worth a word before a run begins, though it is no mistake."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from instar.app.config import Loaded

__all__ = ["notes_of"]


def notes_of(loaded: Loaded) -> list[str]:
    """Sentences about what a run will not record, and about systems that can't do what is asked."""
    return [*_of_output(loaded), *_of_systems(loaded)]


def _of_output(loaded: Loaded) -> Iterator[str]:
    last = loaded.production
    if not any(stage.trajectory_every for stage in loaded.stages):
        yield "No frames are recorded: output.trajectory_every is 0."
    elif last.trajectory_every > last.steps:
        yield (
            f"Only the first frame of the {last.name} is recorded: output.trajectory_every is "
            f"{last.trajectory_every}, and it has {last.steps} steps."
        )
    if last.thermo_every > last.steps:
        yield (
            f"There are no averages of the {last.name}: output.thermo_every is "
            f"{last.thermo_every}, and it has {last.steps} steps."
        )


def _of_systems(loaded: Loaded) -> Iterator[str]:
    first = loaded.stages[0]
    constant_energy = not first.method.has_set_points
    driven = loaded.potentials.moves_centre
    pairs = zip(loaded.structures, loaded.systems, strict=True)
    for number, (atoms, system) in enumerate(pairs):
        wanted = first.wanted(system)
        if constant_energy and not wanted.temperature and not np.any(atoms.get_momenta()):
            yield (
                f"System {number} begins at rest: it has neither velocities nor a temperature to "
                "draw them for."
            )
        if len(atoms) == 1 and wanted.temperature and not (driven or atoms.constraints):
            yield (
                f"System {number} is a single atom, held at rest as all centres of mass are: it "
                "has no temperature."
            )
