"""Energies, forces and stresses of structures as they stand: the work behind both doors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import (
    Particles,
    StructureError,
    Systems,
    structures_of,
    tables,
)
from instar.app.config.potentials import Recipe, require
from instar.core.data import Table
from instar.core.lens import lens
from instar.core.propagator import propagate_and_fix
from instar.core.result import Result, as_result_function
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.neighbors import NeighborList, Sizes
from instar.neighbors.extents import extents
from instar.neighbors.sizes import ReachError, estimate
from instar.potentials import Evaluation, Potential, PotentialError, evaluate

__all__ = [
    "DTYPES",
    "NEIGHBORS",
    "Point",
    "check_precision",
    "computed",
    "evaluated",
    "prepared",
    "room_for",
    "tabled",
    "with_list",
]

DTYPES = {"float64": np.float64, "float32": np.float32}
"""Precisions to compute in."""


@dataclass
class Point:
    """Structures, ready to be computed."""

    potential: Potential
    particles: Table[ParticleId, Particles]
    systems: Table[SystemId, Systems]
    neighbors: NeighborList | None


NEIGHBORS = lens(lambda point: point.neighbors, cls=Point)


def tabled(
    structures: Sequence[Any],
    recipe: Recipe,
    precision: str,
    old: Point | None = None,
    rows: int | None = None,
    potential: Potential | None = None,
) -> Point:
    """Structures as tables, with their potential; call under ``jax.enable_x64``.

    With ``rows`` the table of particles has that many, the last of them absent, unless the
    potential knows particles by their rows.

    A ``potential`` that was made for these very structures, and checked, is taken as it is. What
    the structures lack for a potential is a `StructureError`.

    An ``old`` point passes on its potential and its list if it was for the same particles, wherever
    they were: an Ewald sum stays as it was chosen, so that energies do not jump.
    """
    check_precision(precision)
    dtype = DTYPES[precision]
    known = structures_of(structures, recipe.charges)
    particles, systems = tables(known, dtype)
    if old is not None and _serves(old, particles, systems):
        require(old.potential.check(known))
        return Point(old.potential, particles, systems, old.neighbors)
    if potential is None:
        potential = recipe.potential(known)
    _check_precision(potential, dtype)
    if rows is not None and potential.exclusions is None:
        particles, systems = tables(known, dtype, rows)
    return Point(potential, particles, systems, None)


def prepared(
    structures: Sequence[Any],
    recipe: Recipe,
    precision: str,
    skin: float = 0.0,
    old: Point | None = None,
) -> Point:
    """As `tabled`, with a neighbor list: the old one, or an empty one."""
    point = tabled(structures, recipe, precision, old)
    if point.neighbors is not None:
        return point
    return with_list(point, room_for(point, skin), skin)


def _serves(old: Point, particles: Any, systems: Any) -> bool:
    """Whether there are as many particles, with the same labels, charges and periodic axes."""
    before, now = old.particles.data, particles.data
    return (
        len(old.particles) == len(particles)
        and before.labels.vocabulary is now.labels.vocabulary
        and np.array_equal(before.labels.indices, now.labels.indices)
        and np.array_equal(before.charges, now.charges, equal_nan=True)
        and np.array_equal(before.system.indices, now.system.indices)
        and np.array_equal(old.systems.data.cell.periodic, systems.data.cell.periodic)
    )


def room_for(point: Point, skin: float = 0.0) -> Sizes | None:
    """What a neighbor list needs, estimated on the host; None if there is no need for one."""
    reach = point.potential.reach
    if reach is None:
        return None
    lengths = np.broadcast_to(np.asarray(reach, float) + skin, len(point.systems))
    rows, cell = point.particles.data, point.systems.data.cell
    positions, system = np.asarray(rows.positions), np.asarray(rows.system.indices)
    try:
        return estimate(extents(positions, system, cell, lengths))
    except ReachError as error:
        raise StructureError(str(error).replace("System ", "Structure ", 1)) from error


def with_list(point: Point, room: Sizes | None, skin: float = 0.0) -> Point:
    """The point with an empty neighbor list of that room, or without one."""
    if room is None:
        return point
    potential = point.potential
    excluded = None if potential.exclusions is None else potential.exclusions.partners
    neighbors = NeighborList.of(
        point.particles, point.systems, potential.reach, skin, excluded=excluded, sizes=room
    )
    return NEIGHBORS.set(point, neighbors)


def computed(point: Point, *, per_particle: bool = False) -> tuple[Evaluation, Point]:
    """What the potential returns, and the point with its neighbor list up to date."""
    work = functools.partial(_compiled, per_particle=per_particle)
    (evaluation, neighbors), grown = propagate_and_fix(work, point)
    return evaluation, NEIGHBORS.set(grown, neighbors)


@functools.partial(jax.jit, static_argnames="per_particle")
def _compiled(point: Point, per_particle: bool) -> Result[tuple[Evaluation, Any]]:
    return as_result_function(evaluated)(point, per_particle)


def evaluated(point: Point, per_particle: bool = False) -> tuple[Evaluation, Any]:
    """What the potential returns, and the list: what is compiled. It must be wrapped."""
    neighbors = point.neighbors
    if neighbors is not None:
        neighbors = neighbors.updated(point.particles, point.systems, where=NEIGHBORS)
    evaluation = evaluate(
        point.potential,
        point.particles,
        point.systems,
        neighbors,
        virial=True,
        per_particle=per_particle,
    )
    return evaluation, neighbors


def check_precision(precision: str) -> None:
    """Refuse what is not a precision."""
    if precision not in DTYPES:
        raise ValueError(f"precision must be one of {', '.join(DTYPES)}, not {precision!r}.")


def _check_precision(potential: Potential, dtype: Any) -> None:
    """Parameters must not have lost the digits that are asked for."""
    for leaf in jax.tree.leaves(potential):
        kind = getattr(leaf, "dtype", np.dtype(np.float64))
        if jnp.issubdtype(kind, jnp.floating) and jnp.finfo(kind).bits < jnp.finfo(dtype).bits:
            raise PotentialError(
                f"A parameter of the potential is in {kind}, but {np.dtype(dtype)} is asked for.\n"
                f"Make the potential from Python or NumPy numbers, or ask for "
                f"precision='{kind}'."
            )
