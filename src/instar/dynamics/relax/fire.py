"""FIRE, the fast inertial relaxation engine, step for step as in ASE.

    f·v > 0:  v ← (1 − a) v + a |v| f/|f|;  after more than N such steps  Δt ← min(1.1 Δt, Δt_max),
              a ← 0.99 a
    else:     v ← 0,  Δt ← Δt/2,  a ← 0.1
    v ← v + Δt f;   Δx = Δt v, no longer than the longest step as a whole

E. Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006). Every particle has the mass 1. The longest
step is of the whole vector, as in ASE: large systems crawl.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.utils.declaration import Option
from instar.core.utils.jax import dataclass
from instar.dynamics.knobs import Numbers, checked, knob
from instar.dynamics.relax.coordinates import Coordinates, dot, norm, only, times
from instar.dynamics.relax.declared import optimizer
from instar.dynamics.relax.optimizer import Optimizer, Relaxation, relaxation
from instar.dynamics.relax.state import State

__all__ = ["Fire", "fire"]

GROWTH, SHRINKAGE, MIXING, CALMING, PATIENCE = 1.1, 0.5, 0.1, 0.99, 5


@dataclass
class Motion:
    """What FIRE keeps."""

    velocity: Coordinates
    time_step: Array  # (systems,)
    mixing: Array  # (systems,) a
    downhill: Array  # (systems,) int32: steps since it went uphill
    moving: Array  # (systems,) whether it has made a step


@dataclass
class Fire(Optimizer):
    """See `fire`."""

    time_step: Any
    longest_time_step: Any
    longest_step: Any

    def fresh(self, state: State) -> Motion:
        """At rest."""
        systems = len(state.systems)
        none = jnp.zeros_like(state.systems.data.virial) if state.moves_cell else None
        return Motion(
            velocity=Coordinates(jnp.zeros_like(state.particles.data.positions), none),
            time_step=knob(self.time_step, state),
            mixing=jnp.full(systems, MIXING, state.dtype),
            downhill=jnp.zeros(systems, jnp.int32),
            moving=jnp.zeros(systems, bool),
        )

    def again(self, kept: Motion, new: Array, state: State) -> Motion:
        """New systems at rest."""
        return chosen_motion(new, self.fresh(state), kept, state)

    def proposed(self, state: State, forces: Coordinates) -> tuple[Coordinates, Motion]:
        """As the equations say; what does not go on keeps what it has."""
        kept: Motion = state.optimizer
        power, force, speed = (
            dot(forces, kept.velocity, state),
            norm(forces, state),
            norm(kept.velocity, state),
        )
        along = power > 0
        steered = times(1 - kept.mixing, kept.velocity, state) + times(
            kept.mixing * speed / jnp.where(force > 0, force, 1), forces, state
        )
        velocity = only(along, steered, jax.tree.map(jnp.zeros_like, steered), state)
        faster, turned = along & (kept.downhill > PATIENCE), kept.moving & ~along
        longest = knob(self.longest_time_step, state)
        time = jnp.where(faster, jnp.minimum(kept.time_step * GROWTH, longest), kept.time_step)
        time = jnp.where(turned, kept.time_step * SHRINKAGE, time)
        mixing = jnp.where(faster, kept.mixing * CALMING, kept.mixing)
        mixing = jnp.where(turned, jnp.asarray(MIXING, state.dtype), mixing)
        velocity = velocity + times(time, forces, state)
        length = time * norm(velocity, state)
        limit = knob(self.longest_step, state)
        shorter = jnp.where(length > limit, limit / jnp.where(length > 0, length, 1), 1)
        motion = Motion(
            velocity=velocity,
            time_step=time,
            mixing=mixing,
            downhill=jnp.where(along, kept.downhill + 1, 0),
            moving=jnp.ones_like(kept.moving),
        )
        step = times(shorter * time, velocity, state)
        return step, chosen_motion(state.going, motion, kept, state)


def chosen_motion(chosen: Array, one: Motion, other: Motion, state: State) -> Motion:
    """What is kept of chosen systems (systems,), and the other of others."""

    def pick(a: Array, b: Array) -> Array:
        return jnp.where(chosen, a, b)

    return Motion(
        velocity=only(chosen, one.velocity, other.velocity, state),
        time_step=pick(one.time_step, other.time_step),
        mixing=pick(one.mixing, other.mixing),
        downhill=pick(one.downhill, other.downhill),
        moving=pick(one.moving, other.moving),
    )


@optimizer(
    "fire",
    time_step=Option("the time step at the beginning", default=0.1, above=0),
    longest_time_step=Option("the longest time step", default=1.0, above=0),
    longest_step=Option(
        "how long a step is at most, of all atoms together",
        unit="angstrom",
        default="0.2 angstrom",
        above=0,
    ),
)
def fire(
    time_step: Numbers = 0.1, longest_time_step: Numbers = 1.0, longest_step: Numbers = 0.2
) -> Relaxation:
    """FIRE, the fast inertial relaxation engine, step for step as in ASE.

        v ← (1 − a) v + a |v| f/|f| while f·v > 0, else 0;   v ← v + Δt f;   Δx = Δt v

    E. Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006). The longest step is one of the whole
    vector, as in ASE, so that large systems crawl; `auto` does not.

    Parameters
    ----------
    time_step, longest_time_step
        Δt at the beginning, and at most; one for all systems or one per system.
    longest_step
        |Δx| at most, of all atoms together, in Å.

    Returns
    -------
    Relaxation
        What `relaxed` takes.

    Raises
    ------
    ValueError
        If a number is not above zero.

    Examples
    --------
    >>> from instar.dynamics import relax
    >>> method = relax.fire(time_step=0.05)
    """
    for name, value in (
        ("time step", time_step),
        ("longest time step", longest_time_step),
        ("longest step", longest_step),
    ):
        checked(name, value)
    return relaxation(Fire(time_step, longest_time_step, longest_step))
