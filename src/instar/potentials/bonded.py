"""`Bonded`: interactions of two, three or four named particles, the terms of a force field.

A term is a function of displacements d_e = r_b − r_a along a few edges between its particles, each
to the nearest image. With g_e = ∂U/∂d_e an edge pulls f_a = g_e, f_b = −g_e, and adds −d_e ⊗ g_e
to the virial.

A kind of term is one formula of a distance, an angle or a dihedral angle: it derives from `Bond`,
`Angle` or `Dihedral` and writes `energy`. Its parameters are arrays with one row per term.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.assertion import runtime_assert
from instar.core.data import Index
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import AllParticles
from instar.potentials import internal_coordinates
from instar.potentials.displacement import displacements
from instar.potentials.entry import Entry
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.named import rows_of
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.terms_entry import terms_entry

__all__ = ["Angle", "Bond", "Bonded", "Dihedral"]


@dataclass
class Bonded(Potential):
    """Terms between the particles of each row of ``atoms`` (terms, 2, 3 or 4); abstract.

    A row with an entry out of bounds, or with a particle that is absent, is free: it adds nothing.
    Parameters have one row per term and are differentiable. Made on the host they are kept in
    float64; `evaluate` takes them in the precision of the positions.
    """

    atoms: Index[ParticleId]

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = ()
    """The edges a → b, by columns of ``atoms``."""

    BONDS: ClassVar[tuple[tuple[int, int], ...]] = ()
    """The columns of ``atoms`` between which there is a bond."""

    @classmethod
    def entry_class(cls) -> type[Entry]:
        """How it stands in configurations: a list of terms."""
        return terms_entry(cls, 1 + max(map(max, cls.EDGES)), cls.BONDS)

    @property
    def has_known_cost(self) -> bool:
        """A few numbers per term."""
        return True

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """What the energy is a formula of (terms,), from the displacements along the edges."""
        raise NotImplementedError(f"{type(self).__name__} has no coordinate.")

    def energy(self, coordinate: Array) -> Array:
        """u (eV) of each term."""
        raise NotImplementedError(f"{type(self).__name__} has no formula.")

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """Energies, forces and the virial of all terms."""
        terms = self._checked()
        if terms == 0 or everyone.positions.shape[0] == 0:
            return Evaluation.zero(everyone, request)
        rows, used, owner = self._rows(everyone)
        edges = _edges(rows, used, everyone, self.EDGES)
        _check_apart(edges, used, type(self).__name__)
        formula = self._only(used)

        def energies_of(edges: Array) -> Array:
            return formula.energy(formula.coordinate(tuple(edges)))

        if not (request.forces or request.virial):
            energies, pulls = jnp.where(used, energies_of(edges), 0), None
        else:
            energies, backward = jax.vjp(energies_of, edges)
            pulls = jnp.where(used[None, :, None], backward(jnp.ones_like(energies))[0], 0)
            energies = jnp.where(used, energies, 0)
        return Evaluation(
            energy=owner.sum_over(energies).data if request.energy else None,
            forces=None if not request.forces else self._forces(rows, pulls, everyone),
            virial=None if not request.virial else owner.sum_over(_virial(edges, pulls)).data,
            particle_energies=_shares(rows, energies, everyone) if request.per_particle else None,
        )

    # Inside -------------------------------------------------------------------------------

    def _checked(self) -> int:
        """How many terms there are."""
        columns = 1 + max(max(edge) for edge in self.EDGES)
        name = type(self).__name__
        if self.atoms.ndim != 2 or self.atoms.shape[1] != columns:
            raise PotentialError(
                f"{name} is between {columns} particles: atoms has the shape (terms, {columns}), "
                f"not {self.atoms.shape}."
            )
        for field in dataclasses.fields(self):
            leaves = jax.tree.leaves(getattr(self, field.name)) if field.name != "atoms" else []
            for shape in map(jnp.shape, leaves):
                if shape[:1] != self.atoms.shape[:1]:
                    raise PotentialError(
                        f"{name} has {self.atoms.shape[0]} terms, but {field.name} is of the "
                        f"shape {shape}; it needs one row per term."
                    )
        return self.atoms.shape[0]

    def _rows(self, everyone: AllParticles) -> tuple[Array, Array, Index[SystemId]]:
        """Rows of particles (terms, columns), which terms count, and the system of each."""
        count = everyone.positions.shape[0]
        given = rows_of(self.atoms, everyone, type(self).__name__)
        inside = (given >= 0) & (given < count)
        rows = jnp.clip(given, 0, count - 1)
        owners = everyone.system[rows]
        used = jnp.all(inside & owners.valid_mask, axis=1)
        torn = used & jnp.any(owners != owners[:, :1], axis=1)
        runtime_assert(
            ~jnp.any(torn),
            f"{type(self).__name__}: the particles of term " + "{term} are not in one system.\n"
            "Name particles of one system in each row of atoms.",
            fmt_args={"term": jnp.argmax(torn)},
        )
        return jnp.where(used[:, None], rows, count), used, owners[:, 0].apply_mask(used)

    def _only(self, used: Array) -> Bonded:
        """Ones as the parameters of free terms, lest NaN · 0 reach derivatives by them."""

        def kept(leaf: Array) -> Array:
            return jnp.where(used.reshape(-1, *(1,) * (leaf.ndim - 1)), leaf, 1)

        names = [field.name for field in dataclasses.fields(self) if field.name != "atoms"]
        values = {name: jax.tree.map(kept, getattr(self, name)) for name in names}
        return dataclasses.replace(self, **values)

    def _forces(self, rows: Array, pulls: Array | None, everyone: AllParticles) -> Array:
        """f_a += g_e, f_b −= g_e, in one pass."""
        assert pulls is not None
        ends = jnp.concatenate([rows[:, end] for edge in self.EDGES for end in edge])
        forces = jnp.concatenate([sign for pull in pulls for sign in (pull, -pull)])
        return jnp.zeros_like(everyone.positions).at[ends].add(forces, mode="drop")


@dataclass
class Bond(Bonded):
    """Terms of two particles, a formula of their distance r (Å); abstract."""

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = ((0, 1),)
    BONDS: ClassVar[tuple[tuple[int, int], ...]] = EDGES

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """r."""
        return internal_coordinates.length(*edges)


@dataclass
class Angle(Bonded):
    """Terms of three particles, a formula of the angle θ at the middle one (rad); abstract."""

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = ((1, 0), (1, 2))

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """θ, 0 … π."""
        return internal_coordinates.angle(*edges)


@dataclass
class Dihedral(Bonded):
    """Terms of four particles, a formula of their dihedral angle φ (rad); abstract.

    φ is the angle between the planes of the first and the last three: 0 for cis, π for trans,
    positive if, looking along the middle bond, the front bond turns clockwise onto the rear one.
    """

    EDGES: ClassVar[tuple[tuple[int, int], ...]] = ((0, 1), (1, 2), (2, 3))

    def coordinate(self, edges: tuple[Array, ...]) -> Array:
        """φ, −π … π."""
        return internal_coordinates.dihedral(*edges)


def _edges(
    rows: Array, used: Array, everyone: AllParticles, edges: tuple[tuple[int, int], ...]
) -> Array:
    """Displacements (edges, terms, 3); those of free terms are unit vectors along the axes."""
    rows = jnp.minimum(rows, everyone.positions.shape[0] - 1)
    harmless = np.eye(3)[: len(edges)]
    found = [
        jnp.where(
            used[:, None],
            displacements(rows[:, a], rows[:, b], everyone, used),
            jnp.asarray(unit, everyone.positions.dtype)[None],
        )
        for (a, b), unit in zip(edges, harmless, strict=True)
    ]
    return jnp.stack(found)


def _check_apart(edges: Array, used: Array, name: str) -> None:
    """Angles have no value where two of their particles are at the same place."""
    if edges.shape[0] == 1:
        return
    empty = used & jnp.any(jnp.all(edges == 0, axis=-1), axis=0)
    runtime_assert(
        ~jnp.any(empty),
        f"{name}: two particles of term " + "{term} are at the same place, so it has no angle.",
        fmt_args={"term": jnp.argmax(empty)},
    )


def _virial(edges: Array, pulls: Array | None) -> Array:
    """−Σ d_e ⊗ g_e of each term (terms, 3, 3)."""
    assert pulls is not None
    return -jnp.sum(edges[..., :, None] * pulls[..., None, :], axis=0)


def _shares(rows: Array, energies: Array, everyone: AllParticles) -> Array:
    """Energies of the particles: each term in equal parts."""
    columns = rows.shape[1]
    shares = jnp.broadcast_to((energies / columns)[:, None], rows.shape)
    return jnp.zeros_like(everyone.positions[:, 0]).at[rows].add(shares, mode="drop")
