"""Which systems and which particles an observer counts."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import is_traced
from instar.geometry import AllParticles

__all__ = ["ObserverError", "counted_systems", "labelled", "require_known", "selected"]


class ObserverError(ValueError):
    """Something that can't be observed as asked for."""


def counted_systems(systems: Any) -> Array:
    """(systems,) which systems still count: those that are not frozen."""
    frozen = getattr(systems.data, "frozen", None)
    if frozen is None:
        return jnp.ones(len(systems), bool)
    return ~frozen


def labelled(everyone: AllParticles, label: str | None) -> Array:
    """(particles,) the particles that have this label; without one, all that are there."""
    if label is None:
        return everyone.there
    labels = getattr(everyone.particles.data, "labels", None)
    if labels is None:
        raise ObserverError(
            f"Observing {label!r} alone needs particles with a column `labels`.\n"
            "Leave the label out to count all particles."
        )
    names = [str(key) for key in labels.vocabulary]
    if label not in names:
        raise ObserverError(f"No particle is labelled {label!r}; there are {', '.join(names)}.")
    return everyone.there & (labels.indices == names.index(label))


def selected(state: Any, label: str | None) -> AllParticles:
    """The particles of a state in their systems, with only those of a label there."""
    everyone = AllParticles.of(state.particles, state.systems)
    system = everyone.system.apply_mask(labelled(everyone, label))
    return dataclasses.replace(everyone, system=system)


def require_known(what: str, *values: Any) -> None:
    """Refuse traced values where something of fixed size is made or read."""
    if is_traced(values):
        raise TypeError(f"{what} works on the host: its values must be known, not traced.")
