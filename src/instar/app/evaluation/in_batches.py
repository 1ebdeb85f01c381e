"""Many structures within a memory budget: batches of them, padded to few compiled shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.app.ase.structures import Particles, Systems
from instar.app.evaluation.point import Point, evaluated, with_list
from instar.core.data import Index, Table
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.memory.footprint import Sizes
from instar.neighbors import Sizes as Room
from instar.neighbors.extents import extents
from instar.neighbors.sizes import estimate, image_room
from instar.potentials import Evaluation, Potential

__all__ = ["Results", "StructuresWork", "can_share_shapes", "results_of"]


@dataclass
class Results:
    """What is wanted of each structure."""

    energies: Any
    forces: Any
    stresses: Any


def results_of(found: Evaluation, point: Point) -> Results:
    """What is wanted of an evaluation."""
    assert found.energy is not None
    assert found.forces is not None
    stress = _STRESS(Evaluation(virial=found.virial), point.systems.data.cell)
    return Results(found.energy, found.forces, stress)


_STRESS = jax.jit(Evaluation.stress)


def can_share_shapes(potential: Potential) -> bool:
    """Whether a potential is the same for all structures, so that batches can share a program."""
    return potential.is_general and potential.reach is not None


@dataclasses.dataclass(frozen=True)
class StructuresWork:
    """Structures as items, by systems, atoms and periodic images.

    ``particles`` and ``systems`` hold the columns of all structures, on the host; ``room`` what a
    neighbor list needs for any of them.
    """

    potential: Potential
    particles: Particles
    systems: Systems
    room: Room
    atoms: np.ndarray
    images: np.ndarray

    @staticmethod
    def of(potential: Potential, particles: Particles, systems: Systems) -> StructuresWork:
        """For structures whose tables have these columns."""
        particles, systems = jax.tree.map(np.asarray, (particles, systems))
        cell = systems.cell
        positions, system = np.asarray(particles.positions), np.asarray(particles.system.indices)
        reach = np.full(len(cell.vectors), float(potential.reach))
        known = extents(positions, system, cell, reach)
        each = np.maximum(known.counts, np.ceil(image_room(known.images))).astype(int) + 1
        return StructuresWork(potential, particles, systems, estimate(known), known.counts, each)

    @property
    def held(self) -> int:
        """What all structures and their results take."""
        rows = jax.tree.leaves((self.particles, self.systems))
        return 2 * sum(leaf.nbytes for leaf in rows)

    @property
    def measures(self) -> Mapping[str, np.ndarray]:
        """What each structure adds to a batch."""
        return {"systems": np.ones_like(self.atoms), "atoms": self.atoms, "images": self.images}

    def program(self, state: Point, inputs: tuple[()], /) -> Results:
        """Energies, forces and stresses of a batch."""
        return results_of(evaluated(state)[0], state)

    def abstract(self, sizes: Sizes) -> tuple[Any, tuple[()]]:
        """A batch of these sizes."""

        def rows(values: np.ndarray, count: int) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct((count, *values.shape[1:]), values.dtype)

        columns = jax.tree.map(lambda a: rows(a, sizes["atoms"]), self._columns)
        systems = jax.tree.map(lambda a: rows(a, sizes["systems"]), self.systems)
        return jax.eval_shape(lambda *given: self._point(sizes, *given), columns, systems), ()

    def load(self, items: np.ndarray | range, sizes: Sizes) -> tuple[Any, tuple[()]]:
        """These structures, and rows of no structure where there are fewer than the shape has."""
        items = np.asarray(items)
        atoms = self.atoms_of(items)
        missing = sizes["atoms"] - len(atoms)
        new = np.full(len(self.atoms), len(items), np.int32)
        new[items] = np.arange(len(items))

        def rows(values: np.ndarray) -> np.ndarray:
            none = np.zeros((missing, *values.shape[1:]), values.dtype)
            return np.concatenate([values[atoms], none])

        columns = jax.tree.map(rows, self._columns)
        columns["system"][: len(atoms)] = new[columns["system"][: len(atoms)]]
        columns["system"][len(atoms) :] = sizes["systems"]
        at = np.concatenate([items, np.full(sizes["systems"] - len(items), items[0])])
        systems = jax.tree.map(lambda values: values[at], self.systems)
        return self._point(sizes, *jax.tree.map(jnp.asarray, (columns, systems))), ()

    def grown(self, sizes: Sizes, larger: Point, repair: Callable[[Any], Any]) -> StructuresWork:
        """With as much room as a list has grown to; for images, in the same ratio for all."""
        assert larger.neighbors is not None
        new = larger.neighbors.sizes
        room = dataclasses.replace(
            self.room,
            neighbors=max(new.neighbors, self.room.neighbors),
            words=max(new.words, self.room.words),
        )
        more = max(1.0, new.images / sizes["images"])
        images = np.ceil(self.images * more).astype(int)
        return dataclasses.replace(self, room=room, images=images)

    def atoms_of(self, items: np.ndarray) -> np.ndarray:
        """Rows of the particles of these structures, in their order."""
        counts, starts = self.atoms[items], np.cumsum(self.atoms) - self.atoms
        before = np.cumsum(counts) - counts
        return np.repeat(starts[items] - before, counts) + np.arange(int(counts.sum()))

    @property
    def _columns(self) -> dict[str, Any]:
        """Columns of the particles; a system is its number alone."""
        names = [one.name for one in dataclasses.fields(self.particles)]
        columns = {name: getattr(self.particles, name) for name in names}
        return {**columns, "system": self.particles.system.indices}

    def _point(self, sizes: Sizes, columns: dict[str, Any], systems: Systems) -> Point:
        system = Index.integer(columns["system"], n=sizes["systems"], label=SystemId)
        particles = Table.arange(Particles(**{**columns, "system": system}), label=ParticleId)
        room = dataclasses.replace(self.room, images=sizes["images"])
        known = Table.arange(systems, label=SystemId)
        return with_list(Point(self.potential, particles, known, None), room)
