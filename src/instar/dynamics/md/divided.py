"""`Division`: a state of many systems that steps move in blocks, a few systems at a time.

What the step of a block needs stays in a processor's cache, its list is made again only when one
of its own particles has moved too far, and devices share no work. A block is a `State` of its own
only while it is moved: before and after, its rows are where they belong in the one state. So
observers, checkpoints and reports know nothing of blocks; only the neighbor list of such a state
is a stack of lists, one per block.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from instar.core.assertion import with_outcome
from instar.core.data import Index, Table
from instar.core.typing import GroupId, ParticleId, SystemId
from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.dynamics.md.state import State
from instar.neighbors import NeighborList, Sizes
from instar.neighbors.blocks import over_blocks
from instar.neighbors.extents import extents
from instar.neighbors.sizes import estimate

__all__ = ["Division", "advanced", "divided", "of_systems", "over_division"]


@dataclass
class Division:
    """Which rows of a state are in which block; all blocks have as many rows, some of them empty.

    ``place`` and ``home`` are where each particle and each system is, counted through all blocks.
    """

    rows: Array  # (blocks, rows): a particle; any, where the system is out of bounds
    system: Array  # (blocks, rows): which system of its block it is in
    molecule: Array  # (blocks, rows): which molecule of its block it is in
    systems: Array  # (blocks, systems): a system; any, where there is none
    there: Array  # (blocks, systems): whether there is one
    place: Array  # (particles,)
    home: Array  # (systems,)
    molecules: int = field(static=True)
    mesh: Mesh | None = field(static=True, default=None)

    @staticmethod
    def of(state: State, blocks: list[np.ndarray], mesh: Mesh | None = None) -> Division:
        """Blocks of the systems with these numbers; with a mesh its devices divide, in number."""
        system = np.asarray(state.particles.data.system.indices)
        molecule = np.asarray(state.particles.data.molecule.indices)
        order = np.argsort(system, kind="stable")
        ends = np.searchsorted(system[order], np.arange(len(state.systems) + 1))
        parts = [[order[ends[n] : ends[n + 1]] for n in some] for some in blocks]
        rows = [np.concatenate(part) for part in parts]
        own = [np.repeat(np.arange(len(part)), [len(one) for one in part]) for part in parts]
        numbered = [np.unique(molecule[some], return_inverse=True)[1] for some in rows]
        room, most = max(map(len, rows)), max(map(len, blocks))
        place, home = np.zeros(len(system), np.int32), np.zeros(len(state.systems), np.int32)
        for block, (some, those) in enumerate(zip(rows, blocks, strict=True)):
            place[some] = block * room + np.arange(len(some))
            home[those] = block * most + np.arange(len(those))
        columns = {
            "rows": _padded(rows, room, 0),
            "system": _padded(own, room, most),
            "molecule": _padded(numbered, room, 0),
            "systems": _padded(blocks, most, 0),
            "there": _padded([np.ones(len(some)) for some in blocks], most, 0).astype(bool),
            "place": place,
            "home": home,
        }
        molecules = 1 + max(int(some.max(initial=0)) for some in numbered)
        return Division(**on_device(columns), molecules=molecules, mesh=mesh)

    @property
    def blocks(self) -> int:
        """How many there are."""
        return self.rows.shape[0]

    def placed(self, state: State) -> State:
        """The state with the lists of its blocks where they are moved; all else is everywhere."""
        if self.mesh is None:
            return jax.device_put(state, jax.local_devices()[0])
        everywhere = NamedSharding(self.mesh, PartitionSpec())
        spread = NamedSharding(self.mesh, PartitionSpec(self.mesh.axis_names))
        lists = None if state.neighbors is None else jax.device_put(state.neighbors, spread)
        rest = jax.device_put(dataclasses.replace(state, neighbors=None), everywhere)
        return dataclasses.replace(rest, neighbors=lists)


def _padded(parts: list[np.ndarray], length: int, fill: int) -> np.ndarray:
    return np.stack([np.pad(one, (0, length - len(one)), constant_values=fill) for one in parts])


def divided(state: State, division: Division, skin: Any, room: int | None = None) -> State:
    """The state with lists of blocks, empty and stale, with room for ``room`` neighbors."""
    state = dataclasses.replace(state, neighbors=None, division=division)
    if state.potential.reach is None:
        return state
    blocks = [
        _block(jax.tree.map(lambda a, n=n: np.asarray(a)[n], _parts(state)), state)
        for n in range(division.blocks)
    ]
    reach = state.potential.reach
    sizes = _room(blocks, reach, skin)
    if room is not None:
        sizes = dataclasses.replace(sizes, neighbors=room)
    lists = [
        NeighborList.of(block.particles, block.systems, reach, skin, sizes=sizes)
        for block in blocks
    ]
    stacked = jax.tree.map(lambda *leaves: on_device(np.stack(leaves)), *lists)
    return dataclasses.replace(state, neighbors=stacked)


def _room(blocks: list[State], reach: Any, skin: Any) -> Sizes:
    """Room that suffices for every block, and the search that is cheapest for most of them."""
    known = []
    for block in blocks:
        everyone, count = block.everyone, len(block.systems)
        system = np.asarray(everyone.system.indices)
        longest = np.broadcast_to(np.asarray(reach + skin, np.float64), count)
        known.append(extents(np.asarray(everyone.positions), system, everyone.cell, longest))
    cheapest = np.bincount([estimate(one).subdivision for one in known]).argmax()
    each = [estimate(one, int(cheapest)) for one in known]
    most = {n: max(getattr(one, n) for one in each) for n in ("images", "neighbors", "words")}
    return dataclasses.replace(each[0], **most)


# Blocks as states ----------------------------------------------------------------------------


def _parts(state: State) -> tuple[Any, ...]:
    """What differs from block to block, with a leading axis of blocks."""
    known = state.division
    columns = (known.rows, known.system, known.molecule, known.systems, known.there)
    return (*columns, state.neighbors)


def _block(part: tuple[Any, ...], state: State) -> State:
    """One block as a state."""
    rows, system, molecule, systems, there, neighbors = part
    data = {
        name: jax.tree.map(lambda column: column[rows], column)
        for name, column in _columns(state.particles.data).items()
    }
    data["labels"] = state.particles.data.labels[rows]
    data["system"] = Index.integer(jnp.asarray(system), n=len(systems), label=SystemId)
    molecules = state.division.molecules
    data["molecule"] = Index.integer(jnp.asarray(molecule), n=molecules, label=GroupId)
    of_systems = jax.tree.map(lambda column: column[systems], state.systems.data)
    of_systems = dataclasses.replace(  # nothing moves where there is no system
        of_systems, degrees=jnp.where(there, of_systems.degrees, 0)
    )
    return dataclasses.replace(
        state,
        particles=Table.arange(dataclasses.replace(state.particles.data, **data), ParticleId),
        systems=Table.arange(of_systems, SystemId),
        neighbors=neighbors,
        observed=None,
        division=None,
    )


def _columns(data: Any) -> dict[str, Any]:
    """Columns of particles, but for those that say where they belong."""
    values = {one.name: getattr(data, one.name) for one in dataclasses.fields(data)}
    return {name: value for name, value in values.items() if not isinstance(value, Index)}


# What is done to each block ------------------------------------------------------------------


def over_division(
    function: Callable[..., State], state: State, shared: Any = (), knobs: Any = ()
) -> State:
    """``function(block, shared, knobs)`` done to each block; it may move particles and systems.

    Of ``knobs`` a column with one entry per system is cut as the systems are. Checks are runtime
    checks: wrap the caller.
    """

    def changed(*given: Any) -> tuple[Any, Any, Any]:
        block = function(*given)
        return _columns(block.particles.data), block.systems.data, block.neighbors

    particles, systems, neighbors = _each(changed, state, shared, knobs)
    place, home = state.division.place, state.division.home
    rows = jax.tree.map(lambda column: _flat(column)[place], particles)
    systems = jax.tree.map(lambda column: _flat(column)[home], systems)
    tables = {"particles": dataclasses.replace(state.particles.data, **rows), "systems": systems}
    return dataclasses.replace(state.with_tables(tables), neighbors=neighbors)


def of_systems(function: Callable[[State], Any], state: State) -> Any:
    """``function(block)`` for each block: columns of systems, as those of the one state."""
    found = _each(lambda block, *_: function(block), state, (), ())
    return jax.tree.map(lambda column: _flat(column)[state.division.home], found)


def _each(function: Callable[..., Any], state: State, shared: Any, knobs: Any) -> Any:
    """What a function makes of each block, stacked; devices have equal shares of the blocks."""
    rest = dataclasses.replace(state, neighbors=None, observed=None)
    total = len(state.systems)

    def one(part: tuple[Any, ...], everything: tuple[State, Any, Any]) -> Any:
        rest, shared, knobs = everything
        systems = part[3]
        own = jax.tree.map(lambda a: a[systems] if a.shape[:1] == (total,) else a, knobs)
        return function(_block(part, rest), shared, own)

    knobs = jax.tree.map(jnp.asarray, knobs)
    return over_blocks(one, _parts(state), (rest, shared, knobs), state.division.mesh)


def _flat(stacked: Array) -> Array:
    """(blocks, rows, ...) → (blocks · rows, ...)."""
    return stacked.reshape(-1, *stacked.shape[2:])


def advanced(step: Any, key: Array, state: State, first: Any, last: Any) -> State:
    """The state after steps ``first`` to ``last``: each block makes all of them before the next."""
    counts = (key, jnp.asarray(first), jnp.asarray(last))
    return over_division(_moved, state, counts, step)


def _moved(block: State, shared: Any, step: Any) -> State:
    key, first, last = shared

    def one(carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        state, number, _ = carry
        state, passing = with_outcome(step)(jax.random.fold_in(key, number), state)
        return state, number + 1, passing

    begin = (block, first, jnp.ones((), bool))
    return lax.while_loop(lambda c: (c[1] < last) & c[2], one, begin)[0]
