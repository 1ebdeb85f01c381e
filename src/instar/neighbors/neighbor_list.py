"""`NeighborList`: who is within reach of whom, kept up to date.

A list is made for distances up to cutoff + skin. It holds until some particle may have come from
beyond that to within the cutoff. With the cell deformed from A₀ to A, F = A₀⁻¹A, and each
particle displaced by u beyond what the deformation does to it, a pair that was at least R apart
is still apart by

    |r| ≥ (1 − ‖F − 1‖) R − 2 max |u|

so the list is stale only once that may be less than the cutoff.

Excluded pairs are left out: of each such pair the image that is nearest when the list is made.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from instar.core.assertion import runtime_assert
from instar.core.capacity import FixedCapacity, LensCapacity
from instar.core.data import Buffered, Index, Table
from instar.core.lens import Lens
from instar.core.typing import HasPositions, HasSystem, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field
from instar.geometry import Cell
from instar.geometry.triples import largest
from instar.neighbors.blocks import block_shape, over_blocks
from instar.neighbors.displaced import moved_by
from instar.neighbors.exclusion import are_close, excluded_rows, without
from instar.neighbors.extents import extents
from instar.neighbors.grid import Grid, grid_of
from instar.neighbors.images import FAR, Images, Wrapped, wrap
from instar.neighbors.search import WORD, Found, Points, Room, search
from instar.neighbors.sizes import Sizes, estimate
from instar.statefunc.edges import Edges

__all__ = ["HasCell", "NeighborList", "NeighborMatrix"]

GROWTH = 1.1
"""Ratio of the sizes that buffers grow through: finer than doubling, since room costs time."""


@runtime_checkable
class HasCell(Protocol):
    """Systems that have a cell."""

    @property
    def cell(self) -> Cell:
        """One cell a system."""
        ...


@runtime_checkable
class _InSystems(HasPositions, HasSystem, Protocol):
    """Particles that have a place, in a system."""


@dataclass
class NeighborMatrix:
    """Neighbors of each particle, one row each, in the order of the particles."""

    neighbors: Index[ParticleId]  # (particles, room); out of bounds where there are no more
    shift: Array  # (particles, room, 3): whole cells that the neighbor is away


@dataclass
class NeighborList:
    """Who is within reach of whom: a matrix of rows of images, and what it was made from.

    Rows of the matrix are particles sorted in space, in blocks. Make one with
    `NeighborList.of`; it is empty and stale until `updated`.
    """

    images: Images
    rows: Array  # (blocks, width): the image that each row of the matrix is about
    slots: Array  # (blocks, room, width): images near it; 0 where there are no more
    place: Array  # (particles,): the row of the matrix of each particle
    positions: Array  # (particles, 3) when the list was made; so are the next three
    system: Array  # (particles,)
    vectors: Array  # (systems, 3, 3)
    periodic: Array  # (systems, 3)
    cutoff: Array  # (systems,) Å
    skin: Array  # (systems,) Å
    words: int = field(static=True)
    subdivision: int = field(static=True)
    mesh: Mesh | None = field(static=True, default=None)
    excluded: Array | None = None  # (particles, room) int32: rows; out of bounds for none
    settled: Array | None = None  # whether the images left out are certain while the list holds

    # Making -------------------------------------------------------------------------------

    @staticmethod
    def of[P: _InSystems, S: HasCell](
        particles: Table[ParticleId, P] | Buffered[ParticleId, P],
        systems: Table[SystemId, S],
        cutoff: Any,
        skin: Any = 0.0,
        *,
        subdivision: int | None = None,
        sizes: Sizes | None = None,
        mesh: Mesh | None = None,
        excluded: Array | None = None,
    ) -> NeighborList:
        """An empty list with room for what is to be expected; `updated` fills it.

        Parameters
        ----------
        particles
            A table with the columns ``positions`` (particles, 3) in Å and ``system``; values must
            be known, unless there are ``sizes``.
        systems
            A table with the column ``cell``.
        cutoff, skin
            In Å, one for all systems or one each: neighbors are listed up to the sum of both.
        subdivision
            Bins to a reach (0: all pairs of a system); left out, the cheapest.
        sizes
            Room, in place of all estimates; particles and systems may then be traced.
        mesh
            Devices that rows are spread over.
        excluded
            (particles, room): rows that are none of the neighbors of each particle.

        Returns
        -------
        NeighborList
            Without neighbors yet.

        Raises
        ------
        ValueError
            If a length is not a finite number, or a cutoff is not above zero.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.neighbors import NeighborList
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar2", [[0, 0, 0], [4, 0, 0]]), trap, forces=False)
        >>> NeighborList.of(state.particles, state.systems, cutoff=7.0, skin=1.0).cutoff.tolist()
        [7.0]
        """
        positions, cell = particles.data.positions, systems.data.cell
        cutoffs, skins = (_one_per_system(a, cell, positions.dtype) for a in (cutoff, skin))
        _check_lengths(cutoffs, skins)
        system = particles.data.system.update_labels(systems.vocabulary).indices
        if sizes is None:
            reach = (cutoffs + skins).astype(np.float64)
            known = extents(np.asarray(positions), np.asarray(system), cell, reach)
            sizes = estimate(known, subdivision)
        count = positions.shape[0]
        blocks, width = block_shape(count, mesh)
        return NeighborList(
            images=Images(
                jnp.full(sizes.images, count, jnp.int32),
                jnp.zeros((sizes.images, 3), jnp.int32),
            ),
            rows=jnp.zeros((blocks, width), jnp.int32),
            slots=jnp.zeros((blocks, sizes.neighbors, width), jnp.int32),
            place=jnp.zeros(count, jnp.int32),
            positions=jnp.full_like(positions, jnp.nan),  # further away than any skin
            system=system,
            vectors=cell.vectors,
            periodic=cell.periodic,
            cutoff=jnp.asarray(cutoffs),
            skin=jnp.asarray(skins),
            words=sizes.words,
            subdivision=sizes.subdivision,
            mesh=mesh,
            excluded=excluded,
            settled=jnp.ones((), bool),
        )

    # Keeping up to date -------------------------------------------------------------------

    @property
    def sizes(self) -> Sizes:
        """The room of each buffer."""
        rows = self.images.owner.shape[-1]
        return Sizes(rows, self.slots.shape[-2], self.words, self.subdivision)

    def is_stale(self, positions: Array, system: Index[SystemId], cell: Cell) -> Array:
        """Whether a pair may be within the cutoff that the list does not have."""
        # F − 1 from the difference of the vectors: exactly zero where a cell has not changed.
        inverse = Cell(self.vectors, self.periodic, cell.bounded).inverse
        strain = jnp.einsum("sij,sjk->sik", inverse, cell.vectors - self.vectors)
        reach = self.cutoff + self.skin
        kept = (1 - jnp.sqrt(jnp.sum(strain**2, axis=(1, 2)))) * reach - self.cutoff
        limit = jnp.where(kept >= 0, (kept / 2) ** 2, -1)
        limit = Table(system.vocabulary, limit).beside(system)
        moved = moved_by(positions, self.positions, strain, system)
        there = system.valid_mask
        others = jnp.any(system.indices != self.system) | jnp.any(cell.periodic != self.periodic)
        if self.excluded is not None and self.settled is not None:
            # Where images are in doubt the list holds for these very positions.
            same = jnp.all(jnp.where(there, moved, 0) == 0) & jnp.all(strain == 0)
            others |= ~(self.settled | same)
        # Not "moved > limit": a position that is not a number is stale, too.
        return others | jnp.any(there & ~(moved <= limit))

    def updated[P: _InSystems, S: HasCell](
        self,
        particles: Table[ParticleId, P] | Buffered[ParticleId, P],
        systems: Table[SystemId, S],
        where: Lens[Any, Any] | None = None,
    ) -> NeighborList:
        """The list for particles where they are now: made again only if one has moved too far.

        Works inside compiled code.

        Parameters
        ----------
        particles, systems
            Tables as for `NeighborList.of`, with as many rows.
        where
            A lens to this list in the state. Buffers that turn out too small are a failed check;
            with ``where`` that check carries the repair. Wrap the caller (`as_result_function`,
            `advance`): unwrapped, pairs that do not fit would be missing.

        Returns
        -------
        NeighborList
            Up to date.

        Raises
        ------
        ValueError
            If the list was made for another number of particles or systems.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar, jax
        >>> from instar.neighbors import NeighborList
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar"), trap, precision="float32")
        >>> listed = NeighborList.of(state.particles, state.systems, cutoff=7.0, skin=1.0)
        >>> listed = jax.jit(NeighborList.updated)(listed, state.particles, state.systems)
        """
        data = lax.stop_gradient((particles.data.positions, systems.data.cell))
        positions, cell = data
        system = particles.data.system.update_labels(systems.vocabulary)
        present = lax.stop_gradient(self)
        _check_shapes(present, positions, cell)

        def rebuilt(carry: Any) -> Any:
            old, _, _ = carry
            return *old._made(positions, system, cell), jnp.zeros((), bool)

        # A loop of one turn or none: unlike a conditional it leaves what is kept where it is.
        stale = present.is_stale(positions, system, cell)
        start = (present, jnp.zeros(3, jnp.int32), stale)
        made, needs, _ = lax.while_loop(lambda carry: carry[2], rebuilt, start)
        made._check_room(needs, where)
        _check_values(positions, system, cell)
        return made

    def resized(self, **sizes: int) -> NeighborList:
        """With buffers of other sizes; a list that may no longer fit is stale."""
        new = dataclasses.replace(self.sizes, **sizes)
        particles = self.positions.shape[-2]
        images = Images(
            _resized(self.images.owner, new.images, -1, particles),
            _resized(self.images.shift, new.images, -2, 0),
        )
        slots = _resized(self.slots, new.neighbors, -2, 0)
        fits = new.images >= self.sizes.images and new.neighbors >= self.sizes.neighbors
        return dataclasses.replace(
            self,
            images=images,
            slots=slots,
            positions=self.positions if fits else jnp.full_like(self.positions, jnp.nan),
            words=new.words,
            subdivision=new.subdivision,
        )

    def placed(self) -> NeighborList:
        """On the devices of its mesh, as a search leaves it there: each has its blocks of rows."""
        if self.mesh is None:
            return self
        everywhere = NamedSharding(self.mesh, PartitionSpec())
        spread = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names))
        return dataclasses.replace(
            jax.device_put(self, everywhere),
            rows=jax.device_put(self.rows, spread),
            slots=jax.device_put(self.slots, spread),
        )

    def _made(
        self, positions: Array, system: Index[SystemId], cell: Cell
    ) -> tuple[NeighborList, Array]:
        wrapped = wrap(positions, system, cell)
        reach = self.cutoff + self.skin
        rows = self.images.owner.shape[0]
        grid = grid_of(wrapped, positions, cell, reach, rows, self.subdivision)
        at, place = _in_space(grid.home, self.rows.shape)
        room = Room(self.slots.shape[1], self.words, self.subdivision)

        left_out = excluded_rows(self.excluded, grid, wrapped, positions, cell)
        # While the list holds, a distance grows by the skin at most, a height shrinks by its part.
        margin = self.skin + cell.exact_within * self.skin / jnp.where(reach > 0, reach, 1)
        settled = are_close(self.excluded, wrapped, positions, cell, margin)

        def find(rows: Array, shared: tuple[Grid, Wrapped, Cell, Array, Array | None]) -> Found:
            grid, wrapped, cell, reach, left_out = shared
            found = search(grid, _points(grid, wrapped, rows), cell, reach, room)
            if left_out is None:
                return found
            kept = without(found.rows, left_out[jnp.where(rows > 0, grid.images.owner[rows], 0)])
            return Found(kept, found.count, found.candidates)

        found = over_blocks(find, at, (grid, wrapped, cell, reach, left_out), self.mesh)
        needs = jnp.stack(
            [
                grid.needed + 1,
                jnp.max(found.count, initial=0),
                -(-jnp.max(found.candidates) // WORD),
            ]
        )
        new = dataclasses.replace(
            self,
            images=grid.images,
            rows=at,
            slots=found.rows,
            place=place,
            positions=positions,
            system=system.indices,
            vectors=cell.vectors,
            periodic=cell.periodic,
            settled=settled,
        )
        return new, needs

    def _check_room(self, needs: Array, where: Lens[Any, Any] | None) -> None:
        for number, name in enumerate(("images", "neighbors", "words")):
            size = getattr(self.sizes, name)
            if where is None:
                capacity = FixedCapacity(size, f"Make the list with more room for {name}.")
            else:
                capacity = LensCapacity(size, where.nest(_SizeLens(name)), base=GROWTH)
            capacity.generate_assertion(needs[number])

    # Reading ------------------------------------------------------------------------------

    def matrix(self) -> NeighborMatrix:
        """Neighbors of each particle up to cutoff + skin at the time the list was made."""
        particles = self.positions.shape[0]
        near = self._by_particle(self.slots)
        own = self.images.shift[self.rows.reshape(-1)[self.place]]
        shift = jnp.where((near > 0)[..., None], self.images.shift[near] - own[:, None], 0)
        owner = jnp.where(near > 0, self.images.owner[near], particles)
        return NeighborMatrix(Index.integer(owner, n=particles, label=ParticleId), shift)

    def edges(self, particles: Any, systems: Any) -> Edges:
        """The same as edges in rows, with shifts (Å) for cells as they are now; differentiable."""
        matrix = self.matrix()
        vectors = systems.set_data(systems.data.cell.vectors)[particles.data.system]
        shifts = jnp.einsum("pnk,pkx->pnx", matrix.shift.astype(vectors.dtype), vectors)
        return Edges.rows(matrix.neighbors.indices, shifts)

    def out_of_bounds(self) -> str | None:
        """The name of a column that points beyond what it points to; for lists from files."""
        images, particles = self.sizes.images, self.positions.shape[-2]
        bounds = {
            "images.owner": (self.images.owner, particles + 1),
            "rows": (self.rows, images),
            "slots": (self.slots, images),
            "place": (self.place, max(1, self.rows.shape[-1] * self.rows.shape[-2])),
        }
        for name, (column, end) in bounds.items():
            known = np.asarray(column)
            if known.size and (known.min() < 0 or known.max() >= end):
                return name
        return None

    def _by_particle(self, slots: Array) -> Array:
        """(blocks, room, width) → (particles, room)."""
        rows = jnp.swapaxes(slots, 1, 2).reshape(-1, slots.shape[1])
        return rows[self.place]


@dataclasses.dataclass(frozen=True)
class _SizeLens(Lens[NeighborList, int]):
    """One size of a list; writing it makes the buffers longer."""

    name: str

    @property
    def paths(self) -> tuple[Any, ...]:
        return ((),)

    def get(self, state: NeighborList) -> int:
        return getattr(state.sizes, self.name)

    def set(self, state: NeighborList, value: int) -> NeighborList:
        return state.resized(**{self.name: value})


def _one_per_system(values: Any, cell: Cell, dtype: Any) -> np.ndarray:
    systems = cell.vectors.shape[0]
    given = np.asarray(values, dtype)
    if given.shape not in ((), (systems,)):
        raise ValueError(
            f"There are {systems} systems, but lengths of shape {given.shape}.\n"
            "Give one length (Å) for all systems, or one each."
        )
    return np.broadcast_to(given, (systems,))


def _check_shapes(present: NeighborList, positions: Array, cell: Cell) -> None:
    made_for = present.positions.shape[0], present.vectors.shape[0]
    given = positions.shape[0], cell.vectors.shape[0]
    if made_for != given:
        raise ValueError(
            f"A neighbor list for {made_for[0]} particles in {made_for[1]} systems can't serve "
            f"{given[0]} in {given[1]}.\nMake a new one: NeighborList.of(particles, systems, ...)."
        )


def _check_values(positions: Array, system: Index[SystemId], cell: Cell) -> None:
    """What a search can't do anything with: no numbers, places beyond counting, a bent box."""
    there = system.valid_mask
    bad = there & ~jnp.isfinite(positions).all(axis=1)
    runtime_assert(
        ~jnp.any(bad),
        "A particle's position is not a finite number: particle {particle}.",
        fmt_args={"particle": jnp.argmax(bad)},
    )
    flat = ~(jnp.isfinite(cell.heights).all(axis=1) & (cell.heights > 0).all(axis=1))
    runtime_assert(
        ~jnp.any(flat),
        "The cell of system {system} is flat or not made of finite numbers.",
        fmt_args={"system": jnp.argmax(flat)},
    )
    shortest = jnp.min(jnp.where(cell.periodic, cell.heights, jnp.inf), axis=1)
    farthest = Table(system.vocabulary, 2.0**28 * shortest).beside(system)
    far = there & (largest(positions) > farthest)
    runtime_assert(
        ~jnp.any(far),
        "Particle {particle} is too many cells away to count them; wrap it into its cell.",
        fmt_args={"particle": jnp.argmax(far)},
    )
    if cell.orthorhombic:
        off_axis = np.where(np.eye(3, dtype=bool), 0, 1)[None].astype(cell.vectors.dtype)
        runtime_assert(
            ~jnp.any(cell.vectors * off_axis != 0),
            "A cell said to have right angles does not; change cells with Cell.with_vectors.",
        )


def _check_lengths(cutoff: np.ndarray, skin: np.ndarray) -> None:
    for name, known in (("cutoff", cutoff), ("skin", skin)):
        if not (np.isfinite(known) & (known >= 0)).all():
            raise ValueError(f"A {name} is a length (Å), not {known.tolist()}.")


def _in_space(home: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Rows of the matrix in the order of space, and the row of each particle."""
    particles = home.shape[0]
    number = jnp.arange(particles, dtype=jnp.int32)
    absent = np.iinfo(np.int32).max
    at, order = lax.sort((jnp.where(home > 0, home, absent), number), num_keys=1)
    place = jnp.zeros(particles, jnp.int32).at[order].set(number, unique_indices=True)
    rows = jnp.zeros(shape[0] * shape[1], jnp.int32)
    return rows.at[:particles].set(jnp.where(at < absent, at, 0)).reshape(shape), place


def _points(grid: Grid, wrapped: Wrapped, rows: Array) -> Points:
    """The particles that these images are, as points to look from."""
    there = rows > 0
    owner = jnp.where(there, grid.images.owner[rows], 0)
    x, y, z = (jnp.where(there, p[rows], -FAR) for p in grid.points)
    return Points(x, y, z, wrapped.inside[owner], wrapped.system[owner], rows, there)


def _resized(array: Array, length: int, axis: int, fill: int) -> Array:
    more, axis = length - array.shape[axis], axis % array.ndim
    if more <= 0:
        return lax.slice_in_dim(array, 0, length, axis=axis)
    padding = [(0, 0)] * array.ndim
    padding[axis] = (0, more)
    return jnp.pad(array, padding, constant_values=fill)
