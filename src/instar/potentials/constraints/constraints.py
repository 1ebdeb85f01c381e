"""`Constraints`: all constraints of a potential, as integrators use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.utils.jax import dataclass, is_traced
from instar.geometry import AllParticles
from instar.potentials.constraints.clusters import laid_out
from instar.potentials.constraints.group import Group, Ready, solve
from instar.potentials.constraints.newton import by_newton
from instar.potentials.constraints.settle import by_settle
from instar.potentials.constraints.tables import Constraint
from instar.potentials.potential import Potential, PotentialError

__all__ = [
    "Constraints",
    "Projected",
    "ProjectedVelocities",
    "Reaction",
    "constraint_virial",
    "constraints_of",
]


@dataclass
class Projected:
    """Positions that meet the constraints.

    positions  (particles, 3)   Å
    shift      (particles, 3)   Å, what was added to the positions of the free step
    moment     (systems, 3, 3)  amu Å², Σ r ⊗ m·shift with r from the positions before the step
    """

    positions: Array
    shift: Array
    moment: Array


@dataclass
class ProjectedVelocities:
    """Velocities that leave all constrained distances as they are.

    velocities  (particles, 3)   Å/time
    shift       (particles, 3)   Å/time, what was added
    moment      (systems, 3, 3)  amu Å²/time, Σ r ⊗ m·shift
    """

    velocities: Array
    shift: Array
    moment: Array


@dataclass
class Reaction:
    """Forces of the constraints at one instant: forces (particles, 3) eV/Å, virial (systems, 3, 3).

    The virial is W = Σ r ⊗ G in eV, in the sign of `Evaluation`.
    """

    forces: Array
    virial: Array


@dataclass
class Constraints:
    """What integrators must hold fixed, as clusters of constraints that share atoms.

    ``groups`` are clusters by size, solved by Newton's method; ``waters`` are rigid waters that
    share no atom with another constraint, solved in closed form. Functions take positions and
    velocities (particles, 3), masses (particles,) in amu and `AllParticles`, which says where
    particles are absent and how space repeats. Failures are runtime checks: wrap the caller.
    """

    groups: tuple[Group, ...] = ()
    waters: tuple[Group, ...] = ()

    @staticmethod
    def of(tables: Iterable[Constraint]) -> Constraints:
        """From tables whose values are known; redundant constraints are refused."""
        tables = tuple(tables)
        if is_traced(tables):
            raise PotentialError(
                "Constraints are sorted into clusters on the host, so they must be known.\n"
                "Make them outside of compiled code, and pass them in."
            )
        groups, waters = laid_out(tables) if tables else ([], [])
        return Constraints(
            tuple(Group(*g) for g in groups), tuple(Group(*w, whole=True) for w in waters)
        )

    @property
    def all_groups(self) -> tuple[Group, ...]:
        """All clusters, those of waters as well; empty if nothing is constrained."""
        return (*self.groups, *self.waters)

    def removed_degrees(self, everyone: AllParticles) -> Array:
        """Degrees of freedom that each system has lost (systems,): one a bond, three a water."""
        total = jnp.zeros(everyone.count, jnp.int32)
        for group in self.all_groups:
            ready = group.ready(jnp.ones_like(everyone.positions[:, 0]), everyone)
            total += everyone.system[ready.rows[..., 0]].apply_mask(ready.used).counts.data
        return total

    def violation(self, positions: Array, everyone: AllParticles) -> Array:
        """How far each system is from its constraints (systems,): the worst |r/d − 1|."""
        worst = jnp.zeros(everyone.count, positions.dtype)
        for group in self.all_groups:
            ready = group.ready(jnp.ones_like(positions[:, 0]), everyone)
            off = _errors(ready, ready.separations(positions, everyone))
            own = everyone.system[ready.rows[..., 0]]
            worst = worst.at[own.indices].max(off, mode="drop")
        return worst

    def project_positions(
        self,
        moved: Array,
        before: Array,
        masses: Array,
        everyone: AllParticles,
        *,
        strict: bool = True,
    ) -> Projected:
        """SHAKE: positions after a free step, brought back along the bonds before it.

            r = r' + M⁻¹ Σₖ λₖ ∇σₖ(before),   |r_ij| = d for all constraints

        (J.-P. Ryckaert, G. Ciccotti, H. J. C. Berendsen, J. Comput. Phys. 23, 327, 1977), to
        rounding. ``before`` is taken to meet the constraints. The centre of mass and, about
        ``before``, the angular momentum of the shifts are zero. Distances that can't be met fail a
        check; unless ``strict``, the particles are nowhere then: NaN.
        """
        shift = jnp.zeros_like(moved)
        moment = jnp.zeros((moved.shape[0], 3, 3), moved.dtype)
        solvers = [*((g, by_newton) for g in self.groups), *((w, by_settle) for w in self.waters)]
        for group, solver in solvers:
            ready = group.ready(masses, everyone)
            old, new = ready.separations(before, everyone), ready.separations(moved, everyone)
            correction = solver(ready, new, old, moved.shape[0])
            shift += correction.shift
            if strict:
                _check_met(ready, correction.bonds)
            else:
                met = _met(ready, correction.bonds)[..., None]
                lost = jnp.where(met, moved.shape[0], ready.rows)
                shift = shift.at[lost.reshape(-1)].set(jnp.nan, mode="drop")
            moment += ready.spread(correction.moments, moved.shape[0])
        return Projected(moved + shift, shift, everyone.system.sum_over(moment).data)

    def project_velocities(
        self, velocities: Array, positions: Array, masses: Array, everyone: AllParticles
    ) -> ProjectedVelocities:
        """RATTLE: velocities without their part along the constraints, d|r_ij|²/dt = 0.

        v = v' + M⁻¹ Σₖ μₖ ∇σₖ, where μ solves Aₖₗ sₖ·sₗ μₗ = −sₖ·v'ₖ (H. C. Andersen, J. Comput.
        Phys. 52, 24, 1983).
        """
        shift, moment = self._along_bonds(
            lambda ready, bonds: -jnp.sum(bonds * ready.differences(velocities), axis=-1),
            positions,
            masses,
            everyone,
        )
        return ProjectedVelocities(velocities + shift, shift, moment)

    def reaction(
        self,
        forces: Array,
        velocities: Array,
        positions: Array,
        masses: Array,
        everyone: AllParticles,
    ) -> Reaction:
        """The exact forces of the constraints at this instant, from d²|r_ij|²/dt² = 0.

        G = Σₖ μₖ ∇σₖ with Aₖₗ sₖ·sₗ μₗ = −(|vₖ|² + sₖ·aₖ), where aₖ is the difference of F/m.
        ``velocities`` are taken to meet the constraints.
        """
        there = everyone.there[:, None]
        mass = jnp.where(there, masses[:, None], 1)
        accelerations = jnp.where(there, forces, 0) / mass

        def right(ready: Ready, bonds: Array) -> Array:
            squares = jnp.sum(ready.differences(velocities) ** 2, axis=-1)
            return -squares - jnp.sum(bonds * ready.differences(accelerations), axis=-1)

        shift, moment = self._along_bonds(right, positions, masses, everyone)
        return Reaction(jnp.where(there, shift * mass, 0), moment)

    def _along_bonds(
        self, right: Any, positions: Array, masses: Array, everyone: AllParticles
    ) -> tuple[Array, Array]:
        """Shifts and moments of the impulses μ that solve Aₖₗ sₖ·sₗ μₗ = rightₖ."""
        shift = jnp.zeros_like(positions)
        moment = jnp.zeros((positions.shape[0], 3, 3), positions.dtype)
        for group in self.all_groups:
            ready = group.ready(masses, everyone)
            bonds = ready.separations(positions, everyone)
            multipliers = solve(ready.matrix(bonds, bonds), right(ready, bonds))
            shift += ready.shifts(multipliers, bonds, positions.shape[0])
            moment += ready.spread(ready.moments(multipliers, bonds), positions.shape[0])
        return shift, everyone.system.sum_over(moment).data


def constraints_of(potential: Potential) -> Constraints:
    """All constraints among the parts of a potential, ready for an integrator; on the host.

    Parameters
    ----------
    potential
        An object of `instar.potentials`.

    Returns
    -------
    Constraints
        Without groups if the potential has no constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import DistanceConstraint, constraints_of
    >>> atoms = Index.integer([[0, 1]], n=2, label=ParticleId)
    >>> rigid = DistanceConstraint(atoms, r0=np.array([1.1]))
    >>> len(constraints_of(rigid).all_groups)
    1
    """
    return Constraints.of(part for part in potential.parts() if isinstance(part, Constraint))


def constraint_virial(projected: Projected, time_step: Any) -> Array:
    """W = Σ r ⊗ G (systems, 3, 3) in eV, of the constraint forces in a step of velocity Verlet.

    G are the forces that act with F(t) over the first half of the step: in r(t + Δt) = r(t) +
    Δt v + ½ Δt² (F + G)/m they shift positions by ½ Δt² G/m, so that G = 2 m·shift/Δt², and the
    half kick must take them up, v += shift/Δt. r are the positions at t. ``time_step`` (one, or one
    a system) is in Å·√(amu/eV). G is that of t to the order of Δt; to have it exactly at one
    instant use `Constraints.reaction`.
    """
    step = jnp.broadcast_to(
        jnp.asarray(time_step, projected.moment.dtype), projected.moment.shape[:1]
    )
    return 2 * projected.moment / step[:, None, None] ** 2


def _errors(ready: Ready, bonds: Array) -> Array:
    """|r/d − 1| of each bond; zero where there is none."""
    squared = jnp.where(ready.used, jnp.sum(bonds**2, axis=-1), ready.length**2)
    return jnp.abs(jnp.sqrt(squared) / ready.length - 1)


def _met(ready: Ready, bonds: Array) -> Array:
    errors = _errors(ready, bonds)
    return errors <= max(1e-12, 64 * float(jnp.finfo(errors.dtype).eps))


def _check_met(ready: Ready, bonds: Array) -> None:
    errors, met = _errors(ready, bonds).reshape(-1), _met(ready, bonds).reshape(-1)
    worst = jnp.argmin(met)
    pair = ready.rows.reshape(-1, 2)[worst]
    runtime_assert(
        jnp.all(met),
        "The distance between the particles {first} and {second} can't be brought back to {length} "
        "Å: it is off by a factor of 1 ± {error}.\n"
        "Make the time step smaller, or start from a structure that meets the constraints.",
        fmt_args={
            "first": pair[0],
            "second": pair[1],
            "length": ready.length.reshape(-1)[worst],
            "error": errors[worst],
        },
    )
