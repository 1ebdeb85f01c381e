"""The plan of a run: how many systems at once, what that takes of memory and disk.

All systems are one batch if they fit. If not, they are cut into batches that do, which run one
after the other, each from its first step to its last.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from instar.app.ase.structures import cut_by_atoms
from instar.app.config import Loaded
from instar.app.config.stages import rows_of
from instar.app.run.build import Job, OutgrownError, built
from instar.app.run.directory import RunDirectoryError
from instar.app.run.kinds import kind_of
from instar.memory import (
    HEADROOM,
    Batch,
    Budget,
    Footprint,
    HighWater,
    MemoryPlanError,
    Plan,
    Shape,
    find_budget,
    show,
)
from instar.memory.budget import FIXED
from instar.observables import Quantity

__all__ = ["Disk", "check_disk", "cut", "disk_of", "planned", "sketched", "systems_of"]

_FEW = 50_000
"""Atoms of a batch that is made to see what larger ones need."""

_MANY = 20 * _FEW
"""Atoms up to which a batch is made for a plan alone."""


def sketched(loaded: Loaded) -> Plan:
    """The plan of a run, without its largest batch: what that needs follows from a smaller one."""
    kind_of(loaded).check()
    budget, total = find_budget(loaded.config.memory.budget), int(loaded.counts.sum())
    limit = budget.usable()
    sampled = loaded.recipe.may_be_cut and total > _MANY and loaded.counts.max() <= _FEW
    if not sampled or limit <= FIXED:
        return planned(loaded, HighWater())[0]
    parts = cut_by_atoms(loaded.counts.tolist(), math.ceil(total / _FEW))
    sample = max(parts, key=loaded.atoms_in)
    try:
        need = built(loaded, sample, limit).need
    except OutgrownError:
        return planned(loaded, HighWater())[0]
    batches = _within(loaded, (need - FIXED) / loaded.atoms_in(sample), limit - FIXED)
    return _plan(loaded, budget, batches, need, sample)


def _within(loaded: Loaded, per_atom: float, limit: int) -> list[range]:
    """As few batches as can be, each within a limit of bytes, if an atom takes so many."""
    sizes = loaded.counts.tolist()
    parts = math.ceil(per_atom * sum(sizes) / limit)
    while True:
        batches = cut_by_atoms(sizes, parts)
        if parts >= len(sizes) or per_atom * max(map(loaded.atoms_in, batches)) <= limit:
            return batches
        parts += max(1, parts // 100)


def planned(loaded: Loaded, high_water: HighWater) -> tuple[Plan, Job]:
    """Batches that fit into the budget, and the largest of them, ready to run.

    Nothing is computed for what can't fit. What the compiler takes is not counted.
    """
    kind = kind_of(loaded)
    kind.check()  # what can't be run at all is refused for all batches at once
    budget = find_budget(loaded.config.memory.budget)
    limit = budget.usable()
    if limit <= FIXED:
        raise MemoryPlanError(
            f"A run takes {show(FIXED)} at least, and this one may take {show(limit)} "
            f"({budget.source}, {HEADROOM:.0%} kept free).\nGive it a larger memory.budget."
        )
    batches = [range(len(loaded.structures))]
    while True:
        largest = max(batches, key=loaded.atoms_in)
        need = kind.estimate(largest) + _observed(loaded, largest)
        if need <= limit:
            try:
                with high_water.apart():
                    job = built(loaded, largest, limit)
                return _plan(loaded, budget, batches, job.need, largest), job
            except OutgrownError as outgrown:
                need = outgrown.need
        parts = math.ceil((need - FIXED) / (limit - FIXED))
        batches = _with_cut(loaded, batches, largest, parts, need, budget)


def cut(loaded: Loaded, plan: Plan, batch: int, need: int) -> Plan:
    """The plan with a batch in two: it was found to need more than it may take."""
    batches = [systems_of(plan, number) for number in range(len(plan.batches))]
    systems = batches[batch]
    batches = _with_cut(loaded, batches, systems, 2, need, plan.budget)
    return _plan(loaded, plan.budget, batches, need, systems)


def _with_cut(
    loaded: Loaded, batches: list[range], systems: range, parts: int, need: int, budget: Budget
) -> list[range]:
    """The batches with one of them in at least two parts, where it can be cut."""
    if len(systems) == 1:
        raise MemoryPlanError(
            f"System {systems.start} ({loaded.atoms_in(systems)} atoms) needs {show(need)}, and a "
            f"run may take {show(budget.usable())} ({budget.source}, {HEADROOM:.0%} kept free).\n"
            "Give it a larger memory.budget, a shorter skin, shorter windows to observe, or "
            "precision: float32."
        )
    if not loaded.recipe.may_be_cut:
        raise MemoryPlanError(
            f"{len(systems)} systems need {show(need)} together, and a run may take "
            f"{show(budget.usable())} ({budget.source}, {HEADROOM:.0%} kept free).\n"
            "Their potential is an object that may hold for all of them only (its is_general is "
            "False), so they can't run in batches: pass it as a configuration, or give a larger "
            "memory.budget."
        )
    sizes = loaded.counts[systems.start : systems.stop].tolist()
    cuts = cut_by_atoms(sizes, max(2, parts))
    place = batches.index(systems)
    own = [range(systems.start + part.start, systems.start + part.stop) for part in cuts]
    return [*batches[:place], *own, *batches[place + 1 :]]


def systems_of(plan: Plan, batch: int) -> range:
    """The systems of a batch."""
    items = plan.batches[batch].items
    return range(int(items[0]), int(items[-1]) + 1)


def _plan(loaded: Loaded, budget: Budget, batches: list[range], need: int, of: range) -> Plan:
    """The plan of these batches, from the need of some systems."""
    per_atom = max(0, need - FIXED) / max(1, loaded.atoms_in(of))
    sizes = [{"systems": len(batch), "atoms": loaded.atoms_in(batch)} for batch in batches]
    different = list({tuple(size.values()): size for size in sizes}.values())
    made = "" if of in batches else f", for {loaded.atoms_in(of)} atoms"
    footprint = Footprint(float(FIXED), {"atoms": per_atom}, f"the compiler{made}")
    shapes = tuple(Shape(size, int(footprint.bytes(size))) for size in different)
    numbered = tuple(
        Batch(batch, different.index(size)) for batch, size in zip(batches, sizes, strict=True)
    )
    return Plan(budget, HEADROOM, shapes, numbered, footprint)


def _observed(loaded: Loaded, systems: range) -> int:
    """Bytes that observers hold at least."""
    itemsize, atoms = np.dtype(loaded.config.precision).itemsize, loaded.atoms_in(systems)
    return sum(one.least_bytes(atoms, itemsize) for one in loaded.observations)


class Disk(NamedTuple):
    """Bytes that a run writes, about: floating-point numbers are hardly compressed."""

    frames: int
    trajectory: int
    thermo: int

    @property
    def bytes(self) -> int:
        """All of it."""
        return self.trajectory + self.thermo

    def __str__(self) -> str:
        return f"{self.frames} frames: {show(self.trajectory)}; thermo: {show(self.thermo)}"


def disk_of(loaded: Loaded) -> Disk:
    """What the frames and the table of thermo will take."""
    frames = rows_of(loaded.stages, "trajectory_every")
    rows = rows_of(loaded.stages, "thermo_every")
    systems = len(loaded.structures)
    atoms = loaded.atoms_in(range(systems))
    kind = kind_of(loaded)
    frame = sum(_bytes(one, systems, atoms) for one in kind.frame_columns.values())
    row = 16 + sum(_bytes(one, systems, atoms) for one in kind.THERMO.values())
    return Disk(frames, frames * frame, rows * row)


def check_disk(loaded: Loaded, place: Path, part: float = 1.0) -> None:
    """Refuse to begin where the disk is short of the ``part`` of a run that is still to be made."""
    there = next(folder for folder in (place, *place.resolve().parents) if folder.is_dir())
    free, need = shutil.disk_usage(there).free, int(part * disk_of(loaded).bytes)
    if need > free:
        raise RunDirectoryError(
            f"The run would write about {show(need)} to {place}, where {show(free)} are free.\n"
            "Make room, choose another folder, or record less often: output.trajectory_every, "
            "output.thermo_every."
        )


def _bytes(column: Quantity, systems: int, atoms: int) -> int:
    count = {"systems": systems, "particles": atoms}[column.of]
    return np.dtype(column.dtype).itemsize * math.prod(column.shape) * count
