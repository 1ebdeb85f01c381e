"""`Series`: a function of the state, recorded row after row.

row t of system s = f(stateₜ)[s]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.capacity import FixedCapacity
from instar.core.utils.jax import dataclass, field
from instar.core.utils.precision import in_precision
from instar.observables.selection import ObserverError, counted_systems, require_known

__all__ = ["Series"]


@dataclass
class Series:
    """The rows of a function of the state, in room for a fixed number of them.

    The function gives a tree of arrays (systems, ...), such as energies. A system that is frozen
    records no more rows. Make one with `Series.of`; a full series is a runtime check.
    """

    function: Callable[[Any], Any] = field(static=True)
    rows: Any  # a tree of (room, systems, ...)
    count: Array  # (systems,) int32: rows recorded of each

    @staticmethod
    @in_precision
    def of(function: Callable[[Any], Any], state: Any, room: int) -> Series:
        """An empty series, for the values of a function of the state, row after row.

            row t of system s = f(stateₜ)[s]

        Parameters
        ----------
        function
            Of a state; returns an array (systems, ...) or a tree of such arrays. It is part of what
            is compiled: pass the same function, not a new lambda each time.
        state
            One like those that will be observed.
        room
            The largest number of rows; one more is an error, not a loss.

        Returns
        -------
        Series
            Without rows; `update` adds one, ``result()`` returns all.

        Raises
        ------
        ObserverError
            If there is no room, or the function does not return one row per system.

        Examples
        --------
        >>> from ase import Atoms
        >>> import instar
        >>> from instar.observables import Series, kinetic_energy
        >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
        >>> state = instar.md_state(Atoms("Ar"), trap)
        >>> def kinetic(state):
        ...     return kinetic_energy(state.particles)
        >>> Series.of(kinetic, state, room=100).room
        100
        """
        if room < 1:
            raise ObserverError(f"A series has room for one row or more, not for {room}.")
        shapes = jax.eval_shape(function, state)
        check_per_system(shapes, len(state.systems))

        def empty(leaf: Any) -> Array:
            inexact = jnp.issubdtype(leaf.dtype, jnp.inexact)
            return jnp.full((room, *leaf.shape), jnp.nan if inexact else 0, leaf.dtype)

        rows = jax.tree.map(empty, shapes)
        return Series(function, rows, jnp.zeros(len(state.systems), jnp.int32))

    @property
    def room(self) -> int:
        """How many rows fit."""
        return jax.tree.leaves(self.rows)[0].shape[0]

    def update(self, state: Any) -> Series:
        """With one more row of each system that is not frozen."""
        counts = counted_systems(state.systems)
        count = self.count + counts.astype(jnp.int32)
        capacity = FixedCapacity(self.room, "Make the series with more room, or record less often.")
        capacity.generate_assertion(count)
        place = jnp.where(counts, self.count, self.room)
        system = jnp.arange(len(counts), dtype=jnp.int32)

        def written(rows: Array, new: Any) -> Array:
            return rows.at[place, system].set(new, mode="drop")

        rows = jax.tree.map(written, self.rows, self.function(state))
        return dataclasses.replace(self, rows=rows, count=count)

    def result(self) -> Any:
        """The rows so far: a tree of arrays (rows, systems, ...), on the host.

        A system that was frozen has fewer (``count``); the rest of its rows is NaN, or 0 where
        the function gives whole numbers.
        """
        require_known("Series.result", self.count)
        longest = min(int(np.max(self.count, initial=0)), self.room)
        return jax.tree.map(lambda leaf: np.asarray(leaf[:longest]), self.rows)


def check_per_system(shapes: Any, systems: int) -> None:
    """Refuse a function that does not give one row for each system."""
    leaves = jax.tree.leaves(shapes)
    wrong = [leaf.shape for leaf in leaves if leaf.shape[:1] != (systems,)]
    if wrong or not leaves:
        gave = f"an array of shape {wrong[0]}" if wrong else "nothing"
        raise ObserverError(
            f"There are {systems} systems, but the function gave {gave}.\n"
            "It must give arrays with one row for each system: (systems, ...)."
        )
