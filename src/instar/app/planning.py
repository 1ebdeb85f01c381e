"""The plan of a run: how many systems at once, what that takes of memory and disk.

All systems are one batch if they fit. If not, they are cut into batches that do, which run one
after the other, each from its first step to its last.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from instar.app.build import FIXED, Job, built
from instar.app.config import Loaded
from instar.app.point import room_for, tabled
from instar.app.recorder import THERMO
from instar.app.structures import cut_by_atoms
from instar.app.within_budget import estimated_need
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

__all__ = ["Disk", "OutgrownError", "cut", "disk_of", "planned", "systems_of"]


class OutgrownError(Exception):
    """A batch that has grown beyond what it may take."""

    def __init__(self, need: int) -> None:
        super().__init__(need)
        self.need = need


def planned(loaded: Loaded, high_water: HighWater) -> tuple[Plan, Job]:
    """Batches that fit into the budget, and the largest of them, ready to run.

    Nothing is allocated for what clearly can't fit. What the compiler takes is not counted.
    """
    budget = find_budget(loaded.config.memory.budget)
    limit = int(budget.bytes * (1 - HEADROOM))
    if limit <= FIXED:
        raise MemoryPlanError(
            f"A run takes {show(FIXED)} at least, and this one may take {show(limit)} "
            f"({budget.source}, {HEADROOM:.0%} kept free).\nGive it a larger memory.budget."
        )
    sizes = [len(atoms) for atoms in loaded.structures]
    parts = 1
    while True:
        batches = cut_by_atoms(sizes, parts)
        largest = max(batches, key=lambda batch: _atoms(loaded, batch))
        need = _estimate(loaded, largest)
        if need <= limit:
            with high_water.apart():
                job = built(loaded, largest)
            need = job.need
            if need <= limit:
                return _plan(loaded, budget, batches, job), job
        if len(largest) == 1:
            raise MemoryPlanError(_too_large(loaded, largest.start, need, budget))
        too_much = (need - FIXED) / (limit - FIXED)
        parts = max(len(batches) + 1, math.ceil(len(batches) * too_much))


def cut(loaded: Loaded, plan: Plan, batch: int, need: int) -> Plan:
    """The plan with a batch in two: it was found to need more than it may take."""
    batches = [systems_of(plan, number) for number in range(len(plan.batches))]
    systems = batches[batch]
    if len(systems) == 1:
        raise MemoryPlanError(_too_large(loaded, systems.start, need, plan.budget))
    sizes = [len(loaded.structures[number]) for number in systems]
    halves = [
        range(systems.start + half.start, systems.start + half.stop)
        for half in cut_by_atoms(sizes, 2)
    ]
    batches[batch : batch + 1] = halves
    return _plan_of(loaded, plan.budget, batches, _per_atom(need, _atoms(loaded, systems)))


def systems_of(plan: Plan, batch: int) -> range:
    """The systems of a batch."""
    items = plan.batches[batch].items
    return range(int(items[0]), int(items[-1]) + 1)


def _plan(loaded: Loaded, budget: Budget, batches: list[range], job: Job) -> Plan:
    per_atom = _per_atom(job.need, _atoms(loaded, job.systems))
    return _plan_of(loaded, budget, batches, per_atom)


def _per_atom(need: int, atoms: int) -> float:
    return max(0, need - FIXED) / max(1, atoms)


def _plan_of(loaded: Loaded, budget: Budget, batches: list[range], per_atom: float) -> Plan:
    sizes = [{"systems": len(batch), "atoms": _atoms(loaded, batch)} for batch in batches]
    different = list({tuple(size.values()): size for size in sizes}.values())
    footprint = Footprint(float(FIXED), {"atoms": per_atom}, "the compiler, for the largest batch")
    shapes = tuple(Shape(size, int(footprint.bytes(size))) for size in different)
    numbered = tuple(
        Batch(batch, different.index(size)) for batch, size in zip(batches, sizes, strict=True)
    )
    return Plan(budget, HEADROOM, shapes, numbered, footprint)


def _atoms(loaded: Loaded, systems: range) -> int:
    return sum(len(loaded.structures[number]) for number in systems)


def _estimate(loaded: Loaded, systems: range) -> int:
    """Bytes that these systems take at least: to see what can't fit without trying.

    A quarter of what an evaluation takes, about: no more than a state of any method.
    """
    some = [loaded.structures[number] for number in systems]
    point = tabled(some, loaded.potential.among(systems), loaded.config.precision)
    return estimated_need(point, room_for(point, loaded.config.method.skin)) // 4


def _too_large(loaded: Loaded, system: int, need: int, budget: Budget) -> str:
    return (
        f"System {system} ({len(loaded.structures[system])} atoms) needs {show(need)}, and a run "
        f"may take {show(int(budget.bytes * (1 - HEADROOM)))} ({budget.source}, {HEADROOM:.0%} "
        "kept free).\nGive it a larger memory.budget, a shorter skin, or precision: float32."
    )


class Disk(NamedTuple):
    """Bytes that a run writes, about: floating-point numbers are hardly compressed."""

    frames: int
    trajectory: int
    thermo: int

    def __str__(self) -> str:
        return f"{self.frames} frames: {show(self.trajectory)}; thermo: {show(self.thermo)}"


def disk_of(loaded: Loaded) -> Disk:
    """What the frames and the table of thermo will take."""
    steps, output = loaded.config.run, loaded.config.output
    frames = steps.steps // output.trajectory_every if output.trajectory_every else 0
    rows = (steps.equilibration + steps.steps) // output.thermo_every
    systems = len(loaded.structures)
    atoms = _atoms(loaded, range(systems))
    frame = 12 * atoms * (2 if output.velocities else 1) + 72 * systems
    return Disk(frames, frames * frame, rows * (16 + 8 * len(THERMO) * systems))
