"""Rock salt with its ions shaken, for the benches: states, and forces that are converged."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from ase import Atoms
from fluid import best_of
from jax import Array
from jax.sharding import Mesh

from instar.app.ase.structures import structures_of, tables
from instar.app.evaluation.point import Point
from instar.core.lens import lens
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.neighbors import NeighborList
from instar.potentials import COULOMB_CONSTANT, Evaluation, Ewald, evaluate, ewald

LATTICE, SHAKE, SKIN = 5.64, 0.3, 1.0
NEIGHBORS = lens(lambda point: point.neighbors, cls=Point)


class Salt(NamedTuple):
    """Ions on the host."""

    positions: np.ndarray  # Å
    cell: np.ndarray  # (3, 3) Å
    charges: np.ndarray  # e


def rock_salt(ions: int) -> Salt:
    """About that many ions, each displaced by 0.3 Å rms."""
    side = 2 * round((ions / 8) ** (1 / 3))
    sites = np.array(list(itertools.product(range(side), repeat=3)))
    noise = np.random.default_rng(ions).normal(0, SHAKE / math.sqrt(3), sites.shape)
    cell = np.eye(3) * side * LATTICE / 2
    return Salt(sites * LATTICE / 2 + noise, cell, 1.0 - 2 * (sites.sum(1) % 2))


def prepared(salt: Salt, potential: Ewald, mesh: Mesh | None) -> Point:
    """A state with its neighbor list made."""
    count = len(salt.charges)
    atoms = Atoms(f"X{count}", salt.positions, cell=salt.cell, pbc=True, charges=salt.charges)
    particles, systems = tables(structures_of([atoms]), np.float64)
    neighbors = NeighborList.of(particles, systems, potential.reach, SKIN, mesh=mesh)
    point = Point(jax.tree.map(jnp.asarray, potential), particles, systems, neighbors)
    neighbors, point = propagate_and_fix(_updated, point)
    return NEIGHBORS.set(point, neighbors)


@jax.jit
@as_result_function
def _updated(point: Point) -> NeighborList:
    assert point.neighbors is not None
    return point.neighbors.updated(point.particles, point.systems, where=NEIGHBORS)


@partial(jax.jit, static_argnames=("parts",))
def _computed(point: Point, parts: str = "all") -> Any:
    potential: Any = point.potential
    if parts == "reciprocal":
        from instar.geometry import AllParticles

        everyone = AllParticles.of(point.particles, point.systems)
        return potential.reciprocal(everyone.positions, point.particles.data.charges, everyone)
    return evaluate(potential, point.particles, point.systems, point.neighbors)


def forces_of(point: Point) -> np.ndarray:
    """Forces in kₑe²/Å²."""
    found: Evaluation = _computed(point)
    return np.asarray(found.forces) / COULOMB_CONSTANT


def seconds(point: Point, parts: str = "all", repeats: int = 15) -> float:
    """Of one evaluation of energy and forces, on a list that stands."""
    return best_of(lambda: _computed(point, parts), repeats)


def made_for(salt: Salt, accuracy: float, mesh: Mesh | None, **options: Any) -> Point:
    """The state with a sum of that accuracy."""
    system = np.zeros(len(salt.charges), int)
    options["devices"] = mesh
    return prepared(salt, ewald(salt.charges, system, salt.cell[None], accuracy, **options), mesh)


def converged(salt: Salt) -> np.ndarray:
    """Forces to 1e-10 kₑe²/Å²."""
    return forces_of(made_for(salt, 1e-9, None))


def rms(difference: np.ndarray | Array) -> float:
    """Root mean square of forces over all ions."""
    return float(np.sqrt(np.mean(np.sum(np.asarray(difference) ** 2, axis=1))))
