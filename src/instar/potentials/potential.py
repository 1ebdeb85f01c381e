"""`Potential`: what every potential can do, sums of them, and how one is evaluated."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.assertion import runtime_assert
from instar.core.data import Table
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass, is_traced
from instar.geometry import AllParticles
from instar.neighbors import NeighborList
from instar.potentials.entry import Entry
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.exclusions import Exclusions
from instar.potentials.named import PotentialError
from instar.potentials.pair_sum import PairTerm, pair_sum
from instar.potentials.structures import Problem, Structures

__all__ = ["Potential", "PotentialError", "Sum", "check_leaves", "evaluate"]


@dataclass
class Potential:
    """A pytree of parameters that returns energies of systems; abstract.

    A kind of potential overrides `pair_term`, if it is a sum over pairs, `over_neighbors`, if it
    reads the neighbor list in a way of its own, or `apart_from_pairs`; with the first two it has a
    `reach`. The last two return all that the request asks for. What it needs of the structures it
    says in `check`.
    """

    @classmethod
    def entry_class(cls) -> type[Entry]:
        """How it stands in configurations: with its own options."""
        from instar.potentials.field_entry import field_entry  # which is built on potentials

        return field_entry(cls)

    def check(self, structures: Structures) -> list[Problem]:
        """What it needs and these structures lack; asked before anything is computed."""
        return []

    @property
    def is_general(self) -> bool:
        """Whether it is the same for any structures: it names no particle and no system.

        One that is not can't be used for some of the structures it was made for, as batches and
        blocks would do. A potential of your own says so by overriding this.
        """
        return False

    @property
    def has_known_cost(self) -> bool:
        """Whether particles and neighbors alone tell how much memory it takes, about."""
        return False

    @property
    def moves_centre(self) -> bool:
        """Whether it can set the centre of mass of a system in motion."""
        return False

    @property
    def reach(self) -> Any:
        """The distance (Å) up to which it must know neighbors; None if it needs none."""
        return None

    def parts(self) -> tuple[Potential, ...]:
        """The potentials that this one is a sum of."""
        return (self,)

    def pair_term(self, everyone: AllParticles) -> PairTerm | None:
        """Its part of the pass over the neighbors, if it has one."""
        return None

    def over_neighbors(
        self, everyone: AllParticles, neighbors: NeighborList, request: Request
    ) -> Evaluation:
        """What it works out from the neighbors beside the pass over pairs; with a reach only."""
        return Evaluation()

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """What it adds without looking at neighbors."""
        return Evaluation()

    @property
    def exclusions(self) -> Exclusions | None:
        """Pairs of particles that it treats apart from the neighbors; None if there are none."""
        return None

    def excluding(self, exclusions: Exclusions) -> Potential:
        """The same with these pairs excluded, or scaled; itself if it knows no pairs."""
        return self

    def __add__(self, other: Potential) -> Sum:
        return Sum((*self.parts(), *other.parts()))


@dataclass
class Sum(Potential):
    """Potentials added up: U = Σ U_i; those between pairs share one pass over the neighbors.

    ``a + b`` is the same as ``Sum((a, b))``.

    Parameters
    ----------
    potentials
        The potentials.

    Examples
    --------
    >>> from instar.potentials import LennardJones, Pair, cutoff_coulomb
    >>> argon = Pair.of(LennardJones, {"Ar": {"epsilon": 0.0104, "sigma": 3.4}}, cutoff=8.5)
    >>> total = argon + cutoff_coulomb(10.0)
    >>> len(total.parts()), float(total.reach)
    (2, 10.0)
    """

    potentials: tuple[Potential, ...]

    @property
    def reach(self) -> Any:
        """The longest reach of all parts."""
        reaches = [p.reach for p in self.potentials if p.reach is not None]
        larger = jnp.maximum if is_traced(reaches) else np.maximum
        return functools.reduce(larger, reaches) if reaches else None

    def check(self, structures: Structures) -> list[Problem]:
        """What any part lacks."""
        return [problem for part in self.potentials for problem in part.check(structures)]

    @property
    def is_general(self) -> bool:
        """Whether all parts are."""
        return all(part.is_general for part in self.potentials)

    @property
    def has_known_cost(self) -> bool:
        """Whether all parts have."""
        return all(part.has_known_cost for part in self.potentials)

    @property
    def moves_centre(self) -> bool:
        """Whether one part does."""
        return any(part.moves_centre for part in self.potentials)

    def parts(self) -> tuple[Potential, ...]:
        """All parts, those of nested sums as well."""
        return tuple(part for potential in self.potentials for part in potential.parts())

    @property
    def exclusions(self) -> Exclusions | None:
        """Those of its parts, which must agree; `evaluate` checks that they do."""
        found = (part.exclusions for part in self.potentials)
        return next((exclusions for exclusions in found if exclusions is not None), None)

    def excluding(self, exclusions: Exclusions) -> Sum:
        """With these pairs excluded from every part."""
        return Sum(tuple(part.excluding(exclusions) for part in self.potentials))


def evaluate(  # noqa: PLR0913 (what is asked for)
    potential: Potential,
    particles: Table[ParticleId, Any],
    systems: Table[SystemId, Any],
    neighbors: NeighborList | None = None,
    *,
    energy: bool = True,
    forces: bool = True,
    virial: bool | Literal["trace"] = False,
    per_particle: bool = False,
    finite: bool = True,
) -> Evaluation:
    """Energies, forces and virials of all systems; only what is asked for is computed.

        F = −∂U/∂r        W = Σ r ⊗ f = −∂U/∂ε        under the strain r → r·(1 + ε)

    Checks (a list that is too short or out of date, numbers that are not finite, species without
    parameters) are runtime checks: wrap the caller (`as_result_function`) to see them.
    `instar.single_point` does all of that for ASE structures.

    Parameters
    ----------
    potential
        An object of `instar.potentials`.
    particles
        A table with the columns ``positions`` (particles, 3) in Å and ``system``, and ``labels`` or
        ``charges`` where the potential needs them.
    systems
        A table with the column ``cell``.
    neighbors
        For potentials between pairs: an up-to-date list (`NeighborList.updated`) for a cutoff of
        ``potential.reach`` or more.
    energy, forces
        Whether to compute them.
    virial
        True, False, or "trace": then only the trace of the virial is right.
    per_particle
        Whether to compute energies of particles, which add up to that of their system.
    finite
        Whether numbers that are not finite are a failed check.

    Returns
    -------
    Evaluation
        ``energy`` (systems,) in eV, ``forces`` (particles, 3) in eV/Å, ``virial`` (systems, 3, 3)
        in eV, ``particle_energies`` (particles,) in eV; None where not asked for.

    Raises
    ------
    PotentialError
        If the potential needs neighbors and there are none, or they leave out other pairs than the
        potential excludes.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax.numpy as jnp
    >>> import instar
    >>> from instar.potentials import HarmonicTrap, evaluate
    >>> trap = HarmonicTrap(stiffness=jnp.full(3, 0.2), centre=jnp.zeros(3))
    >>> state = instar.md_state(Atoms("Ar", [[1, 0, 2]]), trap, precision="float32")
    >>> found = evaluate(trap, state.particles, state.systems)
    >>> print(found.energy.round(6), found.forces.round(6) + 0)
    [0.5] [[-0.2  0.  -0.4]]
    """
    check_leaves(potential)
    request = Request(energy, forces, virial, per_particle)
    everyone = AllParticles.of(particles, systems)
    dtype = everyone.positions.dtype
    parts = jax.tree.map(lambda leaf: _in_precision(leaf, dtype), potential).parts()
    result = Evaluation()
    of_pairs = [part for part in parts if part.reach is not None]
    terms = [part.pair_term(everyone) for part in parts]
    if of_pairs:
        if neighbors is None:
            raise PotentialError(
                "A potential between pairs needs neighbors: NeighborList.of(particles, systems, "
                "cutoff=potential.reach).updated(particles, systems)."
            )
        _check_reach(of_pairs, neighbors)
        _check_exclusions(of_pairs, neighbors)
        runtime_assert(
            ~neighbors.is_stale(everyone.positions, everyone.system, everyone.cell),
            "The neighbor list is out of date: bring it up to date with NeighborList.updated.",
        )
        if ready := tuple(term for term in terms if term is not None):
            result = pair_sum(ready, everyone, neighbors, request)
    for part, term in zip(parts, terms, strict=True):
        result = result + _returned(part, term, everyone, neighbors, request)
    result = result.only(request) if parts else Evaluation.zero(everyone, request)
    if finite:
        _check_finite(result)
    return result


def check_leaves(potential: Potential) -> None:
    """Refuse a potential whose parts or parameters JAX can't take."""
    for path, leaf in jax.tree_util.tree_leaves_with_path(potential):
        kind = type(leaf).__name__
        if dataclasses.is_dataclass(leaf) or isinstance(leaf, Potential):
            raise PotentialError(
                f"{kind} is not a pytree: write @instar.dataclass above the class, so that JAX "
                "knows its fields as parameters."
            )
        if not hasattr(leaf, "dtype") and not isinstance(leaf, bool | int | float | complex):
            raise PotentialError(
                f"{type(potential).__name__}{jax.tree_util.keystr(path)} is {leaf!r}, which is "
                "neither a number nor an array.\nDeclare the field as instar.field(static=True)."
            )


def _in_precision(leaf: Any, dtype: Any) -> Any:
    kind = jnp.result_type(leaf)
    number = jnp.issubdtype(kind, jnp.floating) or isinstance(leaf, int)
    return jnp.asarray(leaf, dtype) if number else leaf


def _check_reach(parts: list[Potential], neighbors: NeighborList) -> None:
    for cutoff in (jnp.asarray(part.reach) for part in parts):
        shortest = jnp.min(neighbors.cutoff, initial=jnp.inf)
        runtime_assert(
            jnp.all(neighbors.cutoff >= cutoff * (1 - 4 * jnp.finfo(cutoff.dtype).eps)),
            "A neighbor list up to {list} Å is too short for a potential up to {cutoff} Å.",
            fmt_args={"list": shortest, "cutoff": jnp.max(cutoff, initial=0)},
        )


def _check_exclusions(parts: list[Potential], neighbors: NeighborList) -> None:
    """The list leaves out what each potential excludes, no more and no less."""
    for part in parts:
        excluded = None if part.exclusions is None else part.exclusions.partners
        listed = neighbors.excluded
        if getattr(excluded, "shape", None) != getattr(listed, "shape", None):
            raise PotentialError(
                "A neighbor list leaves out other pairs than the potential excludes.\n"
                "Make it with NeighborList.of(..., excluded=potential.exclusions.partners), and "
                "exclude the same pairs from all parts of a sum: potential.excluding(...)."
            )
        if excluded is not None and excluded is not listed:
            runtime_assert(
                jnp.all(excluded == listed),
                "A neighbor list leaves out other pairs than the potential excludes.",
            )


def _returned(
    part: Potential,
    term: PairTerm | None,
    everyone: AllParticles,
    neighbors: NeighborList | None,
    request: Request,
) -> Evaluation:
    """What a part returns beside its pair term; without one it must be all that is asked for."""
    name, reaches = type(part).__name__, part.reach is not None
    if term is not None and not reaches:
        raise PotentialError(f"{name} has a pair_term, but no reach: override reach, in Å.")
    found = _shaped(name, part.apart_from_pairs(everyone, request), everyone)
    if reaches and neighbors is not None:
        near = part.over_neighbors(everyone, neighbors, request)
        found = _shaped(name, near, everyone) + found
    if term is None and (lacking := found.lacking(request)):
        blind = "" if reaches else " Without a reach over_neighbors is not called."
        raise PotentialError(
            f"{name} returns no {', '.join(lacking)}{_NEEDED.get(lacking[0], '')}.\nIts "
            "apart_from_pairs, or over_neighbors, must return an Evaluation with all that the "
            f"request asks for; a FunctionPotential derives them from the energy.{blind}"
        )
    return found


_NEEDED = {"forces": ", without which nothing moves", "virial": ", which pressure and stress need"}


def _shaped(name: str, found: Any, everyone: AllParticles) -> Evaluation:
    """What a part returns, in the shapes that it must have."""
    if not isinstance(found, Evaluation):
        raise PotentialError(f"{name} returns {type(found).__name__}, not an Evaluation.")
    for what, shape, needed in found.misshapen(everyone):
        raise PotentialError(
            f"{name} returns {what} of the shape {shape}; {needed} is needed, a row per "
            f"{'system' if what in ('energy', 'virial') else 'particle'}."
        )
    return found


def _check_finite(result: Evaluation) -> None:
    if result.energy is not None:
        bad = ~jnp.isfinite(result.energy)
        runtime_assert(
            ~jnp.any(bad),
            "The energy of system {system} is not a finite number.\n"
            "Are two particles at the same place, or a parameter out of range?",
            fmt_args={"system": jnp.argmax(bad)},
        )
    if result.virial is not None:
        bad = ~jnp.all(jnp.isfinite(result.virial), axis=(1, 2))
        runtime_assert(
            ~jnp.any(bad),
            "The virial of system {system} is not a finite number.",
            fmt_args={"system": jnp.argmax(bad)},
        )
    if result.forces is not None:
        bad = ~jnp.all(jnp.isfinite(result.forces), axis=1)
        runtime_assert(
            ~jnp.any(bad),
            "The force on particle {particle} is not a finite number.\n"
            "Are two particles at the same place, or a parameter out of range?",
            fmt_args={"particle": jnp.argmax(bad)},
        )
