"""Potentials of single particles in a field: trap, uniform field, wall.

Each is one formula of the position. Along a periodic axis a place is not a number, so a field that
depends on it is refused there.
"""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass
from instar.geometry import AllParticles
from instar.potentials.entry import configured
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.formula import Parameter
from instar.potentials.pair import column, without_charges
from instar.potentials.parameter_checks import direction
from instar.potentials.potential import Potential
from instar.potentials.structures import Problem, Structures

__all__ = ["External", "HarmonicTrap", "UniformField", "Wall"]


Vector = tuple[float, float, float]


def _for_each_axis(value: Any) -> Any:
    """One value for all three axes, or one each."""
    return value if isinstance(value, list | tuple) else (value,) * 3


@dataclass
class External(Potential):
    """A field u(r) that acts on each particle; abstract."""

    @property
    def has_known_cost(self) -> bool:
        """A few numbers per particle."""
        return True

    @property
    def moves_centre(self) -> bool:
        """A field pulls on systems as wholes."""
        return True

    def check(self, structures: Structures) -> list[Problem]:
        """No field changes along an axis that repeats, where a place has no number."""
        changes = _changes_along(np.asarray(self.directions()), structures.vectors, np)
        bad = (changes & structures.periodic[:, :, None]).any(axis=(1, 2))
        text = f"{type(self).__name__} changes along an axis that repeats"
        advice = "Make that axis not periodic, or let the field be constant along it."
        occupied = structures.counts > 0
        return [Problem(int(n), text, advice) for n in np.flatnonzero(bad & occupied)]

    def energy(self, positions: Array, strength: Array) -> Array:
        """u (eV) of each particle; positions (particles, 3) in Å."""
        raise NotImplementedError(f"{type(self).__name__} has no formula.")

    def directions(self) -> Array | np.ndarray:
        """Unit vectors or others (n, 3), along which the field changes."""
        raise NotImplementedError(f"{type(self).__name__} has no directions.")

    def strength_of(self, everyone: AllParticles) -> Array:
        """A factor for each particle; one, unless the field says otherwise."""
        return jnp.ones_like(everyone.positions[:, 0])

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """Energies, forces and the virial −Σ ∇u ⊗ r."""
        _refuse_periodic(self, everyone)
        strength = self.strength_of(everyone)
        positions = jnp.where(everyone.there[:, None], everyone.positions, 1)
        energies, pull = jax.vjp(lambda r: self.energy(r, strength), positions)
        energies = jnp.where(everyone.there, energies, 0)
        forces = jnp.where(everyone.there[:, None], -pull(jnp.ones_like(energies))[0], 0)
        outer = positions[:, :, None] * forces[:, None, :]
        return Evaluation(
            energy=everyone.system.sum_over(energies).data if request.energy else None,
            forces=forces if request.forces else None,
            virial=everyone.system.sum_over(outer).data if request.virial else None,
            particle_energies=energies if request.per_particle else None,
        )


@configured("harmonic_trap")
@dataclass
class HarmonicTrap(External):
    """A harmonic trap: u(r) = ½ Σ_k k_k (r_k − c_k)², with k in eV/Å² and the centre c in Å.

    Parameters
    ----------
    stiffness
        (3,) in eV/Å², one per axis; zero along axes that repeat.
    centre
        (3,) in Å.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import HarmonicTrap
    >>> trap = HarmonicTrap(stiffness=jnp.array([0.2, 0.2, 0.2]), centre=jnp.zeros(3))
    >>> print(trap.energy(jnp.array([[1.0, 0.0, 2.0]]), jnp.ones(1)))
    [0.5]
    """

    stiffness: Parameter = option(
        "stiffness, one for all axes or one each",
        unit="eV/angstrom^2",
        kind=Vector,
        convert=_for_each_axis,
        example=(0.2, 0.3, 0.4),
    )
    centre: Parameter = option("where it is", unit="angstrom", kind=Vector, default=(0.0, 0.0, 0.0))

    @property
    def is_general(self) -> bool:
        """The same for all particles."""
        return True

    def energy(self, positions: Array, strength: Array) -> Array:
        """½ k·(r − c)²."""
        away = positions - self.centre[None]
        stiffness = jnp.broadcast_to(self.stiffness, (3,))
        return strength * jnp.sum(stiffness[None] * away**2, axis=1) / 2

    def directions(self) -> Array | np.ndarray:
        """The axes along which the trap is stiff."""
        return jnp.diag(jnp.broadcast_to(self.stiffness, (3,)))


@configured("uniform_field")
@dataclass
class UniformField(External):
    """A uniform field: u(r) = −w f·r, with a force f in eV/Å on every particle, times a column w.

    Parameters
    ----------
    force
        f (3,) in eV/Å; with ``strength="charges"`` it is an electric field in V/Å, with masses an
        acceleration.
    strength
        The name of the column w of particles; None for w = 1.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import UniformField
    >>> field = UniformField(force=jnp.array([0.0, 0.0, 0.1]))
    >>> print(field.energy(jnp.array([[5.0, 5.0, 2.0]]), jnp.ones(1)))
    [-0.2]
    """

    force: Parameter = option(
        "force on a particle", unit="eV/angstrom", kind=Vector, example=(0.1, -0.2, 0.3)
    )
    strength: str | None = option(
        "a column that the force is multiplied with",
        kind=Literal["charges"] | None,
        default=None,
        static=True,
    )

    def check(self, structures: Structures) -> list[Problem]:
        """Charges, where it acts on them; and no axis that repeats along the force."""
        own = without_charges(structures) if self.strength == "charges" else []
        return own + External.check(self, structures)

    @property
    def is_general(self) -> bool:
        """The same for all particles."""
        return True

    def strength_of(self, everyone: AllParticles) -> Array:
        """The named column."""
        if self.strength is None:
            return jnp.ones_like(everyone.positions[:, 0])
        return column(everyone, self.strength)

    def energy(self, positions: Array, strength: Array) -> Array:
        """−w f·r."""
        return -strength * jnp.sum(positions * self.force[None], axis=1)

    def directions(self) -> Array | np.ndarray:
        """The direction of the force."""
        return self.force[None]


@configured("wall")
@dataclass
class Wall(External):
    """A wall that repels: u(r) = ε (σ/d)⁹, with d = (r − p)·n the distance from a plane.

    Behind the plane the energy is infinite, which is reported as an error.

    Parameters
    ----------
    epsilon
        ε in eV, the energy at the distance σ.
    sigma
        σ in Å.
    point
        p (3,) in Å, a point of the plane.
    normal
        (3,): the direction from the plane to the particles; n is this vector with the length 1.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from instar.potentials import Wall
    >>> up = jnp.array([0.0, 0.0, 1.0])
    >>> wall = Wall(epsilon=0.5, sigma=3.0, point=jnp.zeros(3), normal=up)
    >>> print(wall.energy(jnp.array([[1.0, 2.0, 3.0]]), jnp.ones(1)))
    [0.5]
    """

    epsilon: Parameter = option("energy ε at the distance σ", unit="eV", example=0.5)
    sigma: Parameter = option("range σ", unit="angstrom", above=0, example=3.0)
    point: Parameter = option(
        "a point of the plane",
        unit="angstrom",
        kind=Vector,
        default=(0.0, 0.0, 0.0),
        example=(-30.0, -30.0, -30.0),
    )
    normal: Parameter = option(
        "the direction that particles are in",
        kind=Vector,
        check=direction,
        example=(1.0, 2.0, 2.0),
    )

    @property
    def is_general(self) -> bool:
        """The same for all particles."""
        return True

    def energy(self, positions: Array, strength: Array) -> Array:
        """ε (σ/d)⁹, infinite for d ≤ 0."""
        unit = _unit(self.normal)
        distance = jnp.sum((positions - self.point[None]) * unit[None], axis=1)
        safe = jnp.where(distance > 0, distance, 1)
        energy = self.epsilon * (self.sigma / safe) ** 9
        return strength * jnp.where(distance > 0, energy, jnp.inf)

    def directions(self) -> Array | np.ndarray:
        """Across the plane."""
        return _unit(self.normal)[None]


def _unit(direction: Any) -> Any:
    """A vector of length 1; its square may be too small for a number, so it is scaled first."""
    scaled = direction / jnp.max(jnp.abs(direction))
    return scaled / jnp.linalg.norm(scaled)


def _changes_along(directions: Any, vectors: Any, xp: Any) -> Any:
    """Whether a field changes along each cell vector (systems, 3, directions)."""
    along = xp.einsum("skx,nx->skn", vectors, directions)
    size = xp.sqrt(xp.sum(vectors**2, axis=-1))[:, :, None]
    size = size * xp.sqrt(xp.sum(directions**2, axis=-1))[None, None]
    return xp.abs(along) > 64 * xp.finfo(along.dtype).eps * size


def _refuse_periodic(external: External, everyone: AllParticles) -> None:
    changes = _changes_along(external.directions(), everyone.cell.vectors, jnp)
    occupied = everyone.system.counts.data > 0
    runtime_assert(
        ~jnp.any(changes & everyone.cell.periodic[:, :, None] & occupied[:, None, None]),
        f"{type(external).__name__} changes along an axis that repeats, where places have no "
        "number.\nMake that axis not periodic, or let the field be constant along it.",
    )
