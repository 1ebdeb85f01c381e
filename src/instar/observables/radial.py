"""`RadialDistribution`: how many particles are found at a distance, next to an ideal gas.

With c(r) the ordered pairs of a frame whose distance lies in a bin, N_a centres, N_b neighbors,
the volume V of that very frame, and v(r) = 4π/3 (r₊³ − r₋³) the volume of the bin's shell,

    g(r) = ⟨ V c(r) / (P v(r)) ⟩        n(r) = ⟨ Σ_{r' ≤ r} c(r') / N_a ⟩

P is the number of ordered pairs of different particles: N_a N_b for two species, N (N − 1) for
one. So an ideal gas has g = 1 exactly, for any N; a system of one particle has no pair, and no
g. All periodic images count, a particle's own ones too: distances may exceed half the cell, and
n(r) is then that of the infinite crystal.

    M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids, 2nd ed. (2017), sec. 8.2
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.data import Index, Table
from instar.core.lens import Lens, lens
from instar.core.typing import Label, SystemId
from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import in_precision
from instar.geometry import AllParticles, Cell
from instar.neighbors import NeighborList
from instar.observables.entry import Observation, for_each_system, observation, unknown_labels
from instar.observables.finding import Curve, Finding
from instar.observables.selection import (
    ObserverError,
    counted_systems,
    require_known,
    require_labels,
)
from instar.observables.total import Total

__all__ = ["Radial", "RadialDistribution", "RadialObservation"]


@dataclass
class Radial:
    """What a `RadialDistribution` found; NaN for a system that it has not seen.

    g is NaN, too, where a frame had one particle alone, and so no pair.
    """

    distance: Array  # (bins,) Å, the middle of each bin
    g: Array  # (systems, bins)
    outer: Array  # (bins,) Å, the outer end of each bin
    coordination: Array  # (systems, bins) neighbors of a centre up to the outer end


@dataclass
class _Points:
    """The particles that are looked at."""

    positions: Array
    system: Index[SystemId]


@dataclass
class _Boxes:
    cell: Cell


@dataclass
class RadialDistribution:
    """g(r) and n(r) of each system up to ``r_max`` (Å), in bins of equal width.

    Finds pairs with a neighbor list of its own. ``where`` is a lens to this observer in the whole
    state, so that the buffers of the list can grow (`advance`, `propagate_and_fix`); without it
    room is fixed, and too little of it is a failed check. Make one with `RadialDistribution.of`.
    """

    neighbors: NeighborList
    density: Total  # (systems, bins): V c / P, summed over frames
    around: Total  # (systems, bins): c / N_a
    frames: Array  # (systems,) int32
    pair: Index[Label] | None  # (2,) centres and neighbors: data, so that pairs share a program
    r_max: float = field(static=True)
    where: Lens[Any, Any] | None = field(static=True)

    @staticmethod
    @in_precision
    def of(
        state: Any,
        r_max: float,
        bins: int,
        *,
        pair: tuple[str, str] | None = None,
        skin: float = 0.0,
        where: Lens[Any, Any] | None = None,
        may_lack: bool = False,
    ) -> RadialDistribution:
        """An observer of the radial distribution function g(r) and of the coordination number n(r).

            g(r) = ⟨ V c(r) / (P v(r)) ⟩        n(r) = ⟨ Σ_{r' ≤ r} c(r') / N_a ⟩

        with c(r) ordered pairs in a bin, v(r) the volume of its shell, V that of the frame, and P
        the number of ordered pairs of different particles. All periodic images count.

        Parameters
        ----------
        state
            One like those that will be observed; its values must be known, not traced.
        r_max
            The largest distance, in Å; it may exceed half the cell.
        bins
            How many bins of equal width there are.
        pair
            The labels of centres and neighbors; left out, all particles are both.
        skin
            In Å: with a skin the neighbor list lives longer where frames follow each other closely.
        where
            A lens to this observer in the whole state, so that buffers can grow on the fly;
            `observe` does not need it.
        may_lack
            Whether labels that no particle has are allowed; then nothing is found.

        Returns
        -------
        RadialDistribution
            Without frames; ``result()`` returns ``distance`` and ``outer`` (bins,) in Å, ``g`` and
            ``coordination`` (systems, bins).

        Raises
        ------
        ObserverError
            If a system has no volume, a label is unknown, or a number is not in its range.

        Examples
        --------
        >>> from instar.observables import RadialDistribution
        >>> import instar
        >>> from ase import Atoms
        >>> argon = {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}
        >>> pair = {"type": "lennard_jones", "cutoff": "7 angstrom", "parameters": {"Ar": argon}}
        >>> state = instar.md_state(Atoms("Ar", cell=[8, 8, 8], pbc=True), pair, forces=False)
        >>> RadialDistribution.of(state, r_max=6.0, bins=60).bins
        60
        """
        require_known("RadialDistribution.of", state)
        _check(state, r_max, bins)
        if not may_lack:
            require_labels(state, *(pair or ()))
        dtype = state.particles.data.positions.dtype
        sums = Total.zeros((len(state.systems), bins), dtype)
        labels = None if pair is None else _labels(state, pair)
        tables = _seen(state, _members(state, labels), r_max * jnp.eye(3, dtype=dtype)[None])
        return RadialDistribution(
            neighbors=NeighborList.of(*tables, float(r_max), skin),
            density=sums,
            around=sums,
            frames=jnp.zeros(len(state.systems), jnp.int32),
            pair=labels,
            r_max=float(r_max),
            where=where,
        )

    def at(self, where: Lens[Any, Any] | None) -> RadialDistribution:
        """The same observer at another place in the state."""
        return dataclasses.replace(self, where=where)

    @property
    def sizes(self) -> dict[str, int]:
        """The room of its list, which may grow."""
        return dataclasses.asdict(self.neighbors.sizes)

    def resized(self, sizes: Mapping[str, int]) -> RadialDistribution:
        """With the room that a list had."""
        return dataclasses.replace(self, neighbors=self.neighbors.resized(**sizes))

    def update(self, state: Any) -> RadialDistribution:
        """With the pairs of one more state."""
        members = _members(state, self.pair)
        tables = _seen(state, members, self.neighbors.vectors)
        where = None if self.where is None else self.where.nest(_NEIGHBORS)
        neighbors = self.neighbors.updated(*tables, where=where)
        everyone = AllParticles.of(*tables)
        dtype = everyone.positions.dtype
        found = _histogram(neighbors, everyone, members, self).astype(dtype)
        first, second, both = (_count(mask, everyone, dtype) for mask in (*members, _both(members)))
        pairs = first * second - both
        counts = counted_systems(state.systems) & (first > 0) & (second > 0)
        scale = jnp.where(pairs > 0, everyone.cell.volume / jnp.maximum(pairs, 1), jnp.nan)
        density = scale[:, None] * found
        around = found / jnp.maximum(first, 1)[:, None]
        return dataclasses.replace(
            self,
            neighbors=neighbors,
            density=self.density.plus(density, counts[:, None]),
            around=self.around.plus(around, counts[:, None]),
            frames=self.frames + counts.astype(jnp.int32),
        )

    @in_precision
    def result(self) -> Radial:
        """g(r) and n(r), averaged over the frames of each system."""
        dtype = self.density.sum.dtype
        edges = np.linspace(0, self.r_max, self.bins + 1)
        shells = (4 / 3) * np.pi * np.diff(edges**3)
        frames = self.frames[:, None]
        return Radial(
            distance=jnp.asarray((edges[1:] + edges[:-1]) / 2, dtype),
            g=self.density.mean(frames) / jnp.asarray(shells, dtype)[None],
            outer=jnp.asarray(edges[1:], dtype),
            coordination=jnp.cumsum(self.around.mean(frames), axis=1),
        )

    @property
    def bins(self) -> int:
        """How many bins there are."""
        return self.density.sum.shape[1]


_NEIGHBORS: Lens[Any, NeighborList] = lens(lambda o: o.neighbors, cls=RadialDistribution)


@observation("radial_distribution")
@dataclasses.dataclass(frozen=True, kw_only=True)
class RadialObservation(Observation):
    """g(r), and the number of neighbors up to a distance: of a pair of labels, or of all atoms."""

    MEASURES: ClassVar[str] = "g(r)"

    every: int = option("steps between two looks", default=50, least=1, most=2**31)
    pair: tuple[str, str] | None = option(
        "labels of centres and neighbors; all atoms if left out", default=None, example=["O", "O"]
    )
    reach: float = option("the largest distance", unit="angstrom", default=10.0, above=0, most=100)
    bins: int = option("bins of equal width", default=200, least=1, most=100_000)

    @property
    def title(self) -> str:
        """Its name; with a pair, which one."""
        pair = "" if self.pair is None else f" {self.pair[0]}-{self.pair[1]}"
        return self.name or f"{self.NAME}{pair}"

    def check(self, structures: Any) -> list[str]:
        """Labels that there are, and volumes to compare with."""
        open_ones = np.flatnonzero(~np.all(structures.periodic, axis=1))
        lacking = [f"structure {n} does not repeat along all axes" for n in open_ones[:1]]
        return [*unknown_labels(self.pair or (), structures), *lacking]

    def made(self, state: Any, place: Lens[Any, Any]) -> RadialDistribution:
        """The observer, with a list of its own that can grow."""
        return RadialDistribution.of(
            state, self.reach, self.bins, pair=self.pair, where=place, may_lack=True
        )

    def found(self, observer: RadialDistribution, interval: float | None) -> Finding:
        """g(r) and n(r)."""
        found = observer.result()
        systems = found.g.shape[0]
        middle, outer = (
            for_each_system(np.asarray(r), systems) for r in (found.distance, found.outer)
        )
        curves = {
            "g": Curve(middle, np.asarray(found.g), "r", "angstrom", "g(r)"),
            "n": Curve(outer, np.asarray(found.coordination), "r", "angstrom", "n(r)"),
        }
        return Finding(curves)


def _check(state: Any, r_max: float, bins: int) -> None:
    if not 0 < r_max < np.inf:
        raise ObserverError(f"r_max is a length above zero (Å), not {r_max}.")
    if bins < 1:
        raise ObserverError(f"bins must be 1 or more, not {bins}.")
    bounded = np.asarray(state.systems.data.cell.bounded)
    if not bounded.all():
        raise ObserverError(
            f"System {int(np.argmin(bounded))} has no volume, and so no density to compare with.\n"
            "g(r) needs a cell with three vectors."
        )


def _labels(state: Any, pair: tuple[str, str]) -> Index[Label]:
    """The labels of a pair among those of a state; out of bounds where no particle can have it."""
    known = state.particles.data.labels.vocabulary
    places = {str(key): place for place, key in enumerate(known)}
    codes = np.array([places.get(label, len(known)) for label in pair], np.int32)
    return Index(known, jnp.asarray(codes))


def _members(state: Any, pair: Index[Label] | None) -> tuple[Array, Array]:
    """(particles,) the centres and the neighbors, of systems that count."""
    everyone = AllParticles.of(state.particles, state.systems)
    counts = (
        everyone.there & state.systems.set_data(counted_systems(state.systems))[everyone.system]
    )
    if pair is None:
        return counts, counts
    labels = everyone.particles.data.labels
    if labels.vocabulary != pair.vocabulary:
        raise ObserverError("The particles have other labels than those of the first state.")
    first, second = (labels.indices == pair.indices[k] for k in range(2))
    return counts & first, counts & second


def _both(members: tuple[Array, Array]) -> Array:
    """Particles that are centres and neighbors: they make no pair with themselves."""
    return members[0] & members[1]


def _seen(state: Any, members: tuple[Array, Array], kept: Array) -> tuple[Any, Any]:
    """Tables of the members alone; a frozen system keeps the cell that it had."""
    data, cell = state.particles.data, state.systems.data.cell
    system = data.system.apply_mask(members[0] | members[1])
    counts = counted_systems(state.systems)[:, None, None]
    cell = dataclasses.replace(cell, vectors=jnp.where(counts, cell.vectors, kept))
    particles = Table(state.particles.vocabulary, _Points(data.positions, system))
    return particles, Table(state.systems.vocabulary, _Boxes(cell))


def _count(mask: Array, everyone: AllParticles, dtype: Any) -> Array:
    """(systems,) how many particles are meant."""
    return everyone.system.apply_mask(mask).counts.data.astype(dtype)


def _histogram(
    neighbors: NeighborList,
    everyone: AllParticles,
    members: tuple[Array, Array],
    observer: RadialDistribution,
) -> Array:
    """(systems, bins) int32: ordered pairs by distance, one column of the list at a time."""
    images, bins = neighbors.images, observer.bins
    points = images.positions(everyone.positions, everyone.system.indices, everyone.cell)
    first, second = (m.at[images.owner].get(mode="fill", fill_value=False) for m in members)
    number = everyone.system[images.owner].indices
    rows = neighbors.rows.reshape(-1)
    here = [p[rows] for p in points]
    centre = first[rows] & (rows > 0)
    own = number[rows]
    per_length = np.asarray(bins / observer.r_max, points[0].dtype)

    def column(found: Array, near: Array) -> tuple[Array, None]:
        apart = [p[near] - h for p, h in zip(points, here, strict=True)]
        squared = apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]
        place = jnp.sqrt(squared) * per_length
        counts = centre & second[near] & (near > 0) & (place < bins)
        at = jnp.where(counts, place, bins).astype(jnp.int32)
        return found.at[own, at].add(1, mode="drop"), None

    columns = jnp.swapaxes(neighbors.slots, 1, 2).reshape(rows.shape[0], -1).T
    start = jnp.zeros((everyone.count, bins), jnp.int32)
    return lax.scan(column, start, columns)[0]
