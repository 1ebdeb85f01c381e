"""Which systems and which particles an observer counts."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.utils.jax import is_traced
from instar.geometry import AllParticles

__all__ = [
    "ObserverError",
    "counted_systems",
    "labelled",
    "require_known",
    "require_labels",
    "selected",
]


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
    names = _labels(everyone.particles, label)
    if label not in names:
        return jnp.zeros_like(everyone.there)
    indices = everyone.particles.data.labels.indices
    return everyone.there & (indices == names.index(label))


def require_labels(state: Any, *labels: str | None) -> None:
    """Refuse labels that no particle of a state could have."""
    for label in labels:
        if label is not None and label not in (names := _labels(state.particles, label)):
            raise ObserverError(f"No particle is labelled {label!r}; there are {', '.join(names)}.")


def _labels(particles: Any, label: str) -> list[str]:
    labels = getattr(particles.data, "labels", None)
    if labels is None:
        raise ObserverError(
            f"Observing {label!r} alone needs particles with a column `labels`.\n"
            "Leave the label out to count all particles."
        )
    return [str(key) for key in labels.vocabulary]


def selected(state: Any, label: str | None) -> AllParticles:
    """The particles of a state in their systems, with only those of a label there."""
    everyone = AllParticles.of(state.particles, state.systems)
    system = everyone.system.apply_mask(labelled(everyone, label))
    return dataclasses.replace(everyone, system=system)


def require_known(what: str, *values: Any) -> None:
    """Refuse traced values where something of fixed size is made or read."""
    if is_traced(values):
        raise TypeError(f"{what} works on the host: its values must be known, not traced.")
