"""`Correlation`: how particles remember where they were and how they moved.

Mean-square displacement and velocity autocorrelation at the lag k, averaged over the particles i
of a system and over all frames t that have a frame k before them:

    MSD(k) = ⟨ |rᵢ(t) − rᵢ(t − k)|² ⟩  (Å²)        VACF(k) = ⟨ vᵢ(t) · vᵢ(t − k) ⟩

with positions that are not wrapped into the cell. A ring holds the last frames; each new one is
compared with all of them, so that no pair of frames closer than the window is left out.

    D. Frenkel, B. Smit, Understanding Molecular Simulation, 2nd ed. (2002), sec. 4.4
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass, field
from instar.geometry import AllParticles
from instar.observables.selection import ObserverError, counted_systems, selected
from instar.observables.total import Total

__all__ = ["Correlation"]


def squared_distance(now: Array, before: Array) -> Array:
    """|a − b|² along the last axis."""
    return jnp.sum((now - before) ** 2, axis=-1)


def scalar_product(now: Array, before: Array) -> Array:
    """a · b along the last axis."""
    return jnp.sum(now * before, axis=-1)


@dataclass
class Correlation:
    """Correlations of a column of the particles with itself, up to ``window`` − 1 frames back.

    Make one with `Correlation.of_displacements` or `Correlation.of_velocities`. Particles keep
    their rows, their systems and their labels while it looks; a change is a failed check.
    """

    ring: Array  # (window, particles, 3) the last frames
    used: Array  # (window, systems) bool: whether a frame of the ring counts
    slot: Array  # () int32: where the next frame goes
    group: Array  # (particles,) int32: the system of a particle that counts, −1 of others
    members: Array  # (systems,) how many particles of each count
    total: Total  # (window, systems): means over particles, summed over frames, by lag
    count: Array  # (window, systems) int32: pairs of frames at each lag
    column: str = field(static=True)
    product: Callable[[Array, Array], Array] = field(static=True)
    label: str | None = field(static=True)
    without_drift: bool = field(static=True)

    @staticmethod
    def of_displacements(
        state: Any, window: int, *, label: str | None = None, without_drift: bool = False
    ) -> Correlation:
        """Mean-square displacements (Å²) of the particles, or of those with a label.

        With ``without_drift`` positions are those relative to the centre of mass of all particles
        of the system.
        """
        return _made(state, window, label, without_drift, ("positions", squared_distance))

    @staticmethod
    def of_velocities(
        state: Any, window: int, *, label: str | None = None, without_drift: bool = False
    ) -> Correlation:
        """Velocity autocorrelations of the particles, or of those with a label."""
        return _made(state, window, label, without_drift, ("velocities", scalar_product))

    def update(self, state: Any) -> Correlation:
        """With one more frame, compared with all those in the ring and with itself."""
        everyone = selected(state, self.label)
        runtime_assert(
            jnp.all(_group(everyone) == self.group),
            "Correlations in time need the same particles in every frame.\n"
            "One was added, removed, or changed its label or its system.",
            exception_type=ObserverError,
        )
        now = _values(state, self.column, self.without_drift)
        counts = counted_systems(state.systems)
        ring = self.ring.at[self.slot].set(now)
        used = self.used.at[self.slot].set(counts)
        lags = jnp.arange(self.window, dtype=jnp.int32)
        slots = (self.slot - lags) % self.window
        products = self.product(now[None], ring).T  # (particles, slots)
        sums = everyone.system.sum_over(products).data.T[slots]
        valid = used[slots] & (counts & (self.members > 0))[None]
        means = sums / jnp.maximum(self.members, 1)[None]
        return dataclasses.replace(
            self,
            ring=ring,
            used=used,
            slot=(self.slot + 1) % self.window,
            total=self.total.plus(means, valid),
            count=self.count + valid.astype(jnp.int32),
        )

    def result(self) -> Array:
        """(window, systems): the correlation at lags of 0, 1, ... frames; NaN where unseen."""
        return self.total.mean(self.count)

    @property
    def window(self) -> int:
        """How many frames the ring holds."""
        return self.ring.shape[0]


def _made(
    state: Any, window: int, label: str | None, without_drift: bool, kind: tuple[str, Any]
) -> Correlation:
    if window < 1:
        raise ObserverError(f"The window is one frame or more, not {window}.")
    now = _values(state, kind[0], without_drift)
    systems, everyone = len(state.systems), selected(state, label)
    return Correlation(
        ring=jnp.zeros((window, *now.shape), now.dtype),
        used=jnp.zeros((window, systems), bool),
        slot=jnp.zeros((), jnp.int32),
        group=_group(everyone),
        members=everyone.system.sum_over(jnp.ones_like(now[:, 0])).data,
        total=Total.zeros((window, systems), now.dtype),
        count=jnp.zeros((window, systems), jnp.int32),
        column=kind[0],
        product=kind[1],
        label=label,
        without_drift=without_drift,
    )


def _group(everyone: AllParticles) -> Array:
    return jnp.where(everyone.there, everyone.system.indices, np.int32(-1))


def _values(state: Any, column: str, without_drift: bool) -> Array:
    """A column of the particles, where asked for less its mean by mass over the system."""
    values = getattr(state.particles.data, column)
    if not without_drift:
        return values
    system, masses = state.particles.data.system, state.particles.data.masses[:, None]
    moments, total = system.sum_over((masses * values, masses)).data
    centre = moments / jnp.maximum(total, np.finfo(values.dtype).tiny)
    return values - state.systems.set_data(centre)[system]
