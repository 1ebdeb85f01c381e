"""Potentials of single particles in a field: trap, uniform field, wall.

Each is one formula of the position. Along a periodic axis a place is no number, so a field that
depends on it is refused there.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass, field
from instar.geometry import System, per_system
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.formula import Parameter
from instar.potentials.pair import column
from instar.potentials.potential import Potential

__all__ = ["External", "HarmonicTrap", "UniformField", "Wall"]


@dataclass
class External(Potential):
    """A field u(r) that acts on each particle; abstract."""

    def energy(self, positions: Array, strength: Array) -> Array:
        """u (eV) of each particle; positions (particles, 3) in Å."""
        raise NotImplementedError(f"{type(self).__name__} has no formula.")

    def directions(self) -> Array:
        """Unit vectors or others (n, 3), along which the field changes."""
        raise NotImplementedError(f"{type(self).__name__} has no directions.")

    def strength_of(self, system: System) -> Array:
        """A factor for each particle; one, unless the field says otherwise."""
        return jnp.ones_like(system.positions[:, 0])

    def apart_from_pairs(self, system: System, request: Request) -> Evaluation:
        """Energies, forces and the virial −Σ ∇u ⊗ r."""
        _refuse_periodic(self, system)
        strength = self.strength_of(system)
        positions = jnp.where(system.there[:, None], system.positions, 1)
        energies, pull = jax.vjp(lambda r: self.energy(r, strength), positions)
        energies = jnp.where(system.there, energies, 0)
        forces = jnp.where(system.there[:, None], -pull(jnp.ones_like(energies))[0], 0)
        outer = positions[:, :, None] * forces[:, None, :]
        return Evaluation(
            energy=per_system(energies, system) if request.energy else None,
            forces=forces if request.forces else None,
            virial=per_system(outer, system) if request.virial else None,
            particle_energies=energies if request.per_particle else None,
        )


@dataclass
class HarmonicTrap(External):
    """u(r) = ½ Σ_k k_k (r_k − c_k)²: stiffness (3,) in eV/Å², centre (3,) in Å."""

    stiffness: Parameter
    centre: Parameter

    def energy(self, positions: Array, strength: Array) -> Array:
        """½ k·(r − c)²."""
        away = positions - self.centre[None]
        stiffness = jnp.broadcast_to(self.stiffness, (3,))
        return strength * jnp.sum(stiffness[None] * away**2, axis=1) / 2

    def directions(self) -> Array:
        """The axes along which the trap is stiff."""
        return jnp.diag(jnp.broadcast_to(self.stiffness, (3,)))


@dataclass
class UniformField(External):
    """u(r) = −w f·r: a force f (3,) in eV/Å on every particle, times a column w if one is named.

    With ``strength="charges"`` f is an electric field in V/Å; with masses an acceleration.
    """

    force: Parameter
    strength: str | None = field(static=True, default=None)

    def strength_of(self, system: System) -> Array:
        """The named column."""
        if self.strength is None:
            return jnp.ones_like(system.positions[:, 0])
        return column(system, self.strength)

    def energy(self, positions: Array, strength: Array) -> Array:
        """−w f·r."""
        return -strength * jnp.sum(positions * self.force[None], axis=1)

    def directions(self) -> Array:
        """The direction of the force."""
        return self.force[None]


@dataclass
class Wall(External):
    """u(r) = ε (σ/d)⁹ with d = (r − p)·n, the distance from a plane (Å); ε in eV, σ in Å.

    The plane goes through ``point`` (3,); particles are on the side that ``normal`` (3,) points
    to. Behind the plane the energy is infinite, which is reported as an error.
    """

    epsilon: Parameter
    sigma: Parameter
    point: Parameter
    normal: Parameter

    def energy(self, positions: Array, strength: Array) -> Array:
        """ε (σ/d)⁹, infinite for d ≤ 0."""
        unit = self.normal / jnp.linalg.norm(self.normal)
        distance = jnp.sum((positions - self.point[None]) * unit[None], axis=1)
        safe = jnp.where(distance > 0, distance, 1)
        energy = self.epsilon * (self.sigma / safe) ** 9
        return strength * jnp.where(distance > 0, energy, jnp.inf)

    def directions(self) -> Array:
        """Across the plane."""
        return self.normal[None]


def _refuse_periodic(external: External, system: System) -> None:
    vectors, directions = system.cell.vectors, external.directions()
    along = jnp.einsum("skx,nx->skn", vectors, directions)
    size = jnp.sqrt(jnp.sum(vectors**2, axis=-1))[:, :, None]
    size *= jnp.sqrt(jnp.sum(directions**2, axis=-1))[None, None]
    changes = jnp.abs(along) > 64 * jnp.finfo(along.dtype).eps * size
    occupied = jnp.zeros(system.count, bool).at[system.system].max(system.there)
    runtime_assert(
        ~jnp.any(changes & system.cell.periodic[:, :, None] & occupied[:, None, None]),
        f"{type(external).__name__} changes along an axis that repeats, where places have no "
        "number.\nMake that axis not periodic, or let the field be constant along it.",
    )
