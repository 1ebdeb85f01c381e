"""What is worth a word before a run begins, though it is no mistake."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ase import Atoms

from instar.app.config import Loaded
from instar.app.config.systems import Wanted

__all__ = ["notes_of"]


def notes_of(loaded: Loaded) -> list[str]:
    """Sentences about what a run will not record, and about systems that can't do what is asked."""
    return [*_of_output(loaded), *_of_systems(loaded)]


def _of_output(loaded: Loaded) -> Iterator[str]:
    last = loaded.production
    called = f"stage {last.name}" if isinstance(loaded.config.run, list) else last.name
    if not any(stage.trajectory_every for stage in loaded.stages):
        yield "No frames are recorded: output.trajectory_every is 0."
    elif last.trajectory_every > last.steps:
        yield (
            f"Only the first frame of the {called} is recorded: output.trajectory_every is "
            f"{last.trajectory_every}, and it has {last.steps} steps."
        )
    if last.thermo_every > last.steps:
        yield (
            f"There are no averages of the {called}: output.thermo_every is "
            f"{last.thermo_every}, and it has {last.steps} steps."
        )


def _of_systems(loaded: Loaded) -> Iterator[str]:
    """One sentence per kind, however many systems it is about."""
    at_rest, single = _at_rest(loaded), _single_atoms(loaded)
    if at_rest:
        yield _about(
            loaded,
            at_rest,
            "begins at rest: it has neither velocities nor a temperature to draw them for.",
        )
    if single:
        yield _about(
            loaded,
            single,
            "is a single atom, held at rest as all centres of mass are: it has no temperature.",
        )


def _about(loaded: Loaded, numbers: list[int], text: str) -> str:
    others = {1: "", 2: " The same holds for another one."}
    more = others.get(len(numbers), f" The same holds for {len(numbers) - 1} others.")
    return f"{loaded.called(numbers[0])} {text}{more}"


def _at_rest(loaded: Loaded) -> list[int]:
    first = loaded.stages[0]
    if first.method.has_set_points or first.method.time(1) is None:
        return []
    return [
        number
        for number, (atoms, system) in enumerate(_pairs(loaded))
        if not first.wanted(system).temperature and not np.any(atoms.get_momenta())
    ]


def _single_atoms(loaded: Loaded) -> list[int]:
    first = loaded.stages[0]
    if not (loaded.counts == 1).any() or loaded.potentials.moves_centre:
        return []
    return [
        number
        for number, (atoms, system) in enumerate(_pairs(loaded))
        if len(atoms) == 1 and first.wanted(system).temperature and not atoms.constraints
    ]


def _pairs(loaded: Loaded) -> Iterator[tuple[Atoms, Wanted]]:
    return zip(loaded.structures, loaded.systems, strict=True)
