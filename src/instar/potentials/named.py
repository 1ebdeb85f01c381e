"""Particles that a potential names, as rows of the table; and the error of all potentials."""

from __future__ import annotations

from jax import Array

from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.geometry import AllParticles

__all__ = ["PotentialError", "rows_of"]


class PotentialError(ValueError):
    """A potential that can't be made, or not for these particles."""


def rows_of(named: Index[ParticleId], everyone: AllParticles, who: str) -> Array:
    """Rows of named particles; keys that no particle has are an error that says whose they are."""
    known = everyone.particles.vocabulary
    try:
        return named.indices_in(known)
    except ValueError as error:
        raise PotentialError(
            f"{who} names other particles than there are: its index is over {named.vocabulary!r}, "
            f"and the particles are {known!r}.\nMake it for these particles: Index.integer(rows, "
            f"n={len(known)}, label={known.cls.__name__})."
        ) from error
