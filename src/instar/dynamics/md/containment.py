"""Explosions are contained: a system that stops being finite is frozen, the others go on."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.dynamics.md.state import State

__all__ = ["Explosion", "chosen", "contained", "explosions"]


class Explosion(NamedTuple):
    """A system that could not make a step; its state is kept as it was before."""

    system: int
    step: int
    atoms: tuple[int, ...]

    def __str__(self) -> str:
        named = ", ".join(map(str, self.atoms[:8])) + (", …" if len(self.atoms) > 8 else "")
        return (
            f"System {self.system} exploded at step {self.step} and is frozen as it was before: "
            f"atoms {named} would have had positions, velocities or forces that are not finite, "
            "or have moved by more than half a cell.\n"
            "Make the time step smaller (or the time constant of a barostat larger), or relax the "
            "structure first."
        )


def explosions(state: State) -> tuple[Explosion, ...]:
    """Systems that are frozen, in the order of their numbers; atoms are counted in their system."""
    systems, particles = state.systems.data, state.particles.data
    of_system, number = np.asarray(particles.system.indices), np.asarray(particles.number)
    suspect = np.asarray(particles.suspect)
    return tuple(
        Explosion(
            int(system),
            int(systems.frozen_at[system]),
            tuple(number[suspect & (of_system == system)].tolist()),
        )
        for system in np.flatnonzero(systems.frozen)
    )


def contained(before: State, after: State) -> State:
    """``after``, but for systems that are not finite any more: they are as before, for good."""
    data, systems = after.particles.data, after.systems.data
    suspect = data.system.valid_mask & ~_finite((data.positions, data.velocities, data.forces))
    broken = ~_finite((systems.cell.vectors, systems.heat, systems.thermostat, systems.barostat))
    frozen = before.systems.data.frozen

    def kept(old: Any, made: Any) -> Any:
        exploded = broken | (data.system.sum_over(suspect).data > 0)
        stop, new = frozen | exploded, exploded & ~frozen
        stopped, just_now = after.systems.set_data((stop, new))[data.system]
        particles = _where(stopped, old[0], made[0])
        columns = _where(stop, old[1], made[1])
        seen = particles.suspect | (suspect & just_now)
        at = jnp.where(new, step, columns.frozen_at)
        return (
            dataclasses.replace(particles, suspect=seen),
            dataclasses.replace(columns, frozen=stop, frozen_at=at),
        )

    step = before.step
    trouble = jnp.any(suspect) | jnp.any(broken) | jnp.any(frozen)
    particles, columns = lax.cond(
        trouble,
        kept,
        lambda _, after: after,
        (before.particles.data, before.systems.data),
        (data, systems),
    )
    return dataclasses.replace(
        after,
        particles=dataclasses.replace(after.particles, data=particles),
        systems=dataclasses.replace(after.systems, data=columns),
    )


def chosen(accepted: Array, new: State, old: State) -> State:
    """The new state of systems (systems,) that accept it, the old one of others.

    All else is as in the new state, its list as well.
    """
    mine = new.systems.set_data(accepted)[new.particles.data.system]
    particles = _where(mine, new.particles.data, old.particles.data)
    columns = _where(accepted, new.systems.data, old.systems.data)
    return dataclasses.replace(
        new,
        particles=dataclasses.replace(new.particles, data=particles),
        systems=dataclasses.replace(new.systems, data=columns),
    )


def _finite(columns: Any) -> Array:
    """Whether all numbers of each row are finite."""
    rows = [
        jnp.all(jnp.isfinite(leaf.reshape(leaf.shape[0], -1)), axis=1)
        for leaf in jax.tree.leaves(columns)
    ]
    return jnp.all(jnp.stack(rows), axis=0)


def _where(chosen: Array, one: Any, other: Any) -> Any:
    """Rows of one where chosen, else of the other."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(pick, one, other)
