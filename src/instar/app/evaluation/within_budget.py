"""Structures computed within a memory budget: at once if they fit, else in batches or in parts."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from instar.app.ase.structures import cut_by_atoms
from instar.app.config.potentials import Recipe
from instar.app.evaluation.in_batches import Results, StructuresWork, can_share_shapes, results_of
from instar.app.evaluation.point import Point, computed, evaluated, room_for, tabled, with_list
from instar.core.result import as_result_function
from instar.memory import Budget, MemoryPlanError, Programs, plan_work, programs_of, run, show
from instar.memory.run import is_out_of_memory

__all__ = ["computed_within", "estimated_need"]

BYTES_PER_ATOM, BYTES_PER_NEIGHBOR, BYTES_PER_IMAGE = 800, 60, 150
"""What an evaluation takes, about, in double precision: enough to see that there is plenty."""

PLENTY = 1 / 5
"""A part of the budget up to which the estimate alone is trusted."""


def computed_within(
    structures: Sequence[Any],
    recipe: Recipe,
    precision: str,
    budget: Budget,
    point: Point,
    first: int = 0,
) -> Results:
    """Energies, forces and stresses of structures, of which ``point`` has the tables.

    ``first`` is the number of the first of them.
    """
    limit = budget.usable()
    room = room_for(point)
    if point.potential.has_known_cost and estimated_need(point, room) <= PLENTY * limit:
        try:
            return _at_once(with_list(point, room))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
    if can_share_shapes(point.potential):
        return _in_batches(point, budget)
    need = _need(point, room)
    if need <= limit:
        return _at_once(with_list(point, room))
    if len(structures) == 1:
        raise MemoryPlanError(
            f"Structure {first} ({len(structures[0])} atoms) needs {show(need)}, but only "
            f"{show(limit)} may be used.\nThe budget is {show(budget.bytes)} ({budget.source}); "
            "give a larger one, or use single precision."
        )
    if not recipe.may_be_cut:
        raise MemoryPlanError(
            f"{len(structures)} structures need {show(need)} together, but only {show(limit)} may "
            "be used.\nTheir potential is an object that may hold for all of them only (its "
            "is_general is False), so they can't be computed in parts: pass it as a "
            "configuration, or give a larger budget."
        )
    return _in_parts(structures, recipe, precision, budget, math.ceil(need / limit), first)


def estimated_need(point: Point, room: Any) -> int:
    """Bytes that an evaluation takes, about; nothing is compiled."""
    atoms = len(point.particles)
    total = BYTES_PER_ATOM * atoms
    if room is not None:
        total += BYTES_PER_NEIGHBOR * atoms * room.neighbors + BYTES_PER_IMAGE * room.images
    return total


def _at_once(point: Point) -> Results:
    evaluation, point = computed(point)
    return jax.tree.map(np.asarray, results_of(evaluation, point))


def _need(point: Point, room: Any) -> int:
    """What the program for all structures takes; nothing is allocated."""
    listed = functools.partial(_listed, point.potential, room)
    whole = jax.eval_shape(listed, point.particles, point.systems)
    return Programs(as_result_function(evaluated)).need(whole).bytes


def _listed(potential: Any, room: Any, particles: Any, systems: Any) -> Point:
    return with_list(Point(potential, particles, systems, None), room)


def _in_batches(point: Point, budget: Budget) -> Results:
    """Batches of a few compiled shapes."""
    work = StructuresWork.of(point.potential, point.particles.data, point.systems.data)
    programs = programs_of(work)
    plan = plan_work(work, budget, programs=programs)
    dtype, systems = work.particles.positions.dtype, len(work.atoms)
    found = Results(
        np.empty(systems, dtype),
        np.empty((len(work.particles.positions), 3), dtype),
        np.empty((systems, 3, 3), dtype),
    )

    def consume(items: Any, value: Results) -> None:
        items = np.asarray(items)
        atoms = work.atoms_of(items)
        found.energies[items] = np.asarray(value.energies)[: len(items)]
        found.forces[atoms] = np.asarray(value.forces)[: len(atoms)]
        found.stresses[items] = np.asarray(value.stresses)[: len(items)]

    run(work, plan, consume, programs=programs)
    return found


def _in_parts(
    structures: Sequence[Any],
    recipe: Recipe,
    precision: str,
    budget: Budget,
    parts: int,
    first: int,
) -> Results:
    """Some structures after the others, each part with a potential and a program of its own."""
    found = []
    for part in cut_by_atoms([len(structure) for structure in structures], parts):
        some, own = [structures[number] for number in part], recipe.among(part)
        point = tabled(some, own, precision)
        found.append(computed_within(some, own, precision, budget, point, first + part.start))
    return jax.tree.map(lambda *rows: np.concatenate(rows), *found)
