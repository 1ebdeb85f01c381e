"""`History`: the last steps of every system with the forces that they changed, for L-BFGS.

    H₀ = 1/α;   q = −f;  aᵢ = ρᵢ sᵢ·q, q −= aᵢ yᵢ  (newest first);  z = q/α;
    z += sᵢ (aᵢ − ρᵢ yᵢ·z)  (oldest first);   Δx = −z

with s = Δx, y = −Δf and ρ = 1/(y·s), by J. Nocedal, Math. Comp. 35, 773 (1980). All systems write
to the same row in turn; a row that a system has not filled has ρ = 0 and says nothing of it, so
that a newcomer begins with an empty history where others have a long one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.utils.jax import dataclass
from instar.dynamics.relax.coordinates import Coordinates, dot, only, times

__all__ = ["History", "after_step", "checked_memory", "direction", "empty_history", "forgotten"]


@dataclass
class History:
    """The last steps; rows are filled one after the other, in a ring."""

    steps: Coordinates  # (memory, particles, 3), (memory, systems, 3, 3)
    changes: Coordinates  # of the gradient, likewise
    inverse: Array  # (memory, systems) ρ; 0 where nothing is known
    filled: Array  # uint32: how many rows were ever written


def checked_memory(memory: Any) -> int:
    """How many steps are remembered, if it is a whole number of at least one."""
    if not isinstance(memory, int | np.integer) or isinstance(memory, bool) or memory < 1:
        raise ValueError(f"L-BFGS remembers 1 step or more, not {memory!r}.")
    return int(memory)


def empty_history(state: Any, memory: int) -> History:
    """With room for so many steps."""

    def rows(like: Array) -> Array:
        return jnp.zeros((memory, *like.shape), state.dtype)

    cells = rows(state.systems.data.virial) if state.moves_cell else None
    none = Coordinates(rows(state.particles.data.positions), cells)
    return History(
        steps=none,
        changes=jax.tree.map(jnp.copy, none),
        inverse=jnp.zeros((memory, len(state.systems)), state.dtype),
        filled=jnp.zeros((), jnp.uint32),
    )


def forgotten(history: History, some: Array) -> History:
    """Without what is known of some systems (systems,)."""
    kept = jnp.where(some[None], 0, history.inverse)
    return History(history.steps, history.changes, kept, history.filled)


def after_step(
    history: History, step: Coordinates, change: Coordinates, inverse: Array, state: Any
) -> History:
    """With one more row: the step, what it changed of the gradient, and ρ (systems,).

    Of a system whose ρ says nothing the row stays empty: what is not finite is not kept.
    """
    memory = history.inverse.shape[0]
    row = (history.filled % memory).astype(jnp.int32)
    known = jnp.isfinite(inverse) & (inverse != 0)
    none = jax.tree.map(jnp.zeros_like, step)

    def written(rows: Array, one: Array) -> Array:
        return lax.dynamic_update_index_in_dim(rows, one, row, 0)

    return History(
        steps=jax.tree.map(written, history.steps, only(known, step, none, state)),
        changes=jax.tree.map(written, history.changes, only(known, change, none, state)),
        inverse=written(history.inverse, jnp.where(known, inverse, 0)),
        filled=history.filled + 1,
    )


def direction(history: History, forces: Coordinates, stiffness: Array, state: Any) -> Coordinates:
    """Δx = H·f, with α (systems,) in eV/Å² in place of what is not known."""
    memory = history.inverse.shape[0]
    count = jnp.minimum(history.filled, memory).astype(jnp.int32)
    first = history.filled.astype(jnp.int32) - 1

    def row(n: Array) -> tuple[Coordinates, Coordinates, Array]:
        at = (first - n) % memory
        return jax.tree.map(
            lambda rows: rows[at], (history.steps, history.changes, history.inverse)
        )

    def product(known: Array, one: Coordinates, other: Coordinates) -> Array:
        return jnp.where(known != 0, known * dot(one, other, state), 0)

    def back(n: Array, carry: tuple[Coordinates, Array]) -> tuple[Coordinates, Array]:
        q, factors = carry
        step, change, known = row(n)
        factor = product(known, step, q)
        return q - times(factor, change, state), factors.at[n].set(factor)

    def forth(turn: Array, z: Coordinates) -> Coordinates:
        n = count - 1 - turn
        step, change, known = row(n)
        return z + times(factors[n] - product(known, change, z), step, state)

    q, factors = lax.fori_loop(0, count, back, (forces, jnp.zeros_like(history.inverse)))
    return lax.fori_loop(0, count, forth, times(1 / stiffness, q, state))
