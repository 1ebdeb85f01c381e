"""`Ewald`: the Coulomb interaction of periodic systems, all images of all charges.

    U = ½ kₑ Σ q q' erfc(αr)/r                    pairs up to the real-space cutoff
      + (4πkₑ/V) Σ'_k e^(−k²/4α²)/k² |S(k)|²      waves, summed one by one or on a mesh
      − kₑ α/√π Σ q²                              each charge and its own cloud
      − kₑ π (Σq)²/2Vα²                           a background that neutralises a net charge

Surroundings are conducting (tin foil). The result does not depend on α, up to the errors of both
cutoffs; see `accuracy`. Every system has settings of its own.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh as Devices

from instar.core.assertion import runtime_assert
from instar.core.data import Table
from instar.core.utils.jax import dataclass, field
from instar.core.utils.on_device import on_device
from instar.geometry import AllParticles, Cell
from instar.geometry.constants import COULOMB_CONSTANT
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.ewald.accuracy import Content, mesh_error, real_error, skewness, wave_error
from instar.potentials.ewald.mesh import Mesh
from instar.potentials.ewald.settings import Setting, choose, waves_within
from instar.potentials.ewald.waves import Reciprocal, Waves, index_of
from instar.potentials.excluded import ExcludedCharges
from instar.potentials.exclusions import Exclusions
from instar.potentials.pair import column, without_charges
from instar.potentials.pair_sum import PairTerm
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.structures import Problem, Structures

__all__ = ["Ewald", "not_periodic"]

_LOG = logging.getLogger("instar")

COARSEST_FOR_FLOAT32 = 1e-5
"""The smallest error (kₑe²/Å²) that can be promised in single precision."""


def not_periodic(structures: Structures) -> list[Problem]:
    """Structures that have charges, but no Ewald sum."""
    count = len(structures)
    charges = np.nan_to_num(structures.charges)
    charged = np.bincount(structures.system, charges != 0, minlength=count) > 0
    return [
        Problem(
            int(number),
            "there are charges, but no Ewald sum, as it does not repeat along all three axes",
            "Give it a periodic cell, or use cutoff_coulomb.",
        )
        for number in np.flatnonzero(charged & ~structures.periodic.all(axis=1))
    ]


@dataclass
class Ewald(Potential):
    """The Coulomb interaction of the column ``charges`` (e) under periodic boundaries.

    Make one with `ewald`, for an accuracy, or `ewald_with`, for given settings. The waves are
    whole numbers n, so they follow a cell that changes and energies do not jump. When the error
    would exceed the promise a check fails, whose repair chooses waves again, and logs it; the
    potential must be a part of the state for that.
    """

    alpha: Any  # (systems,) 1/Å
    real_cutoff: Any  # (systems,) Å
    limit: Any  # (systems,) 1/Å: the shortest wave left out, in the cell chosen for
    vectors: Any  # (systems, 3, 3) Å: the cell chosen for
    home: Array  # (particles,) int32: the system of each charge; -1 for none
    waves: Waves | None
    meshes: tuple[Mesh, ...]
    accuracy: float | None = field(static=True, default=None)
    devices: Devices | None = field(static=True, default=None)
    excluded: Exclusions | None = None

    @property
    def exclusions(self) -> Exclusions | None:
        """Pairs that the real-space sum leaves out."""
        return self.excluded

    def excluding(self, exclusions: Exclusions) -> Ewald:
        """Without the interaction of these pairs, but for its factors; their images stay."""
        return dataclasses.replace(self, excluded=exclusions)

    @property
    def reach(self) -> Any:
        """The real-space cutoffs (Å)."""
        return self.real_cutoff

    @property
    def has_known_cost(self) -> bool:
        """Pairs, and waves or a mesh in proportion."""
        return True

    def check(self, structures: Structures) -> list[Problem]:
        """Charges, in cells that repeat."""
        return without_charges(structures) + not_periodic(structures)

    def pair_term(self, everyone: AllParticles) -> PairTerm:
        """The sum over pairs."""
        charges = column(everyone, "charges")
        formula = ScreenedCoulomb(self.alpha)
        return PairTerm(formula, self.real_cutoff, strength=charges, system=everyone.system.indices)

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """Waves, each charge with itself, and the background."""
        self._check(everyone)
        charges = column(everyone, "charges")
        waves = self.reciprocal(everyone.positions, charges, everyone)
        net = everyone.system.sum_over(charges).data
        volume = jnp.where(everyone.cell.bounded, everyone.cell.volume, 1)
        background = -COULOMB_CONSTANT * math.pi / (2 * volume * self.alpha**2)  # per e²
        cloud = -COULOMB_CONSTANT / math.sqrt(math.pi) * self.alpha
        own, others = everyone.systems.set_data((cloud, background * net))[everyone.system]
        each = charges * (own * charges + others)
        spread = (background * net**2)[:, None, None] * jnp.eye(3, dtype=net.dtype)[None]
        energies = everyone.system.sum_over(each).data
        result = Evaluation(
            energy=waves.energy + energies if request.energy else None,
            forces=waves.forces if request.forces else None,
            virial=waves.virial + spread if request.virial else None,
            particle_energies=waves.potential / 2 + each if request.per_particle else None,
        )
        if self.excluded is not None:
            between = self._between(self.excluded, everyone, charges)
            result = result + between.apart_from_pairs(everyone, request)
        return result

    def _between(
        self, excluded: Exclusions, everyone: AllParticles, charges: Array
    ) -> ExcludedCharges:
        """The excluded pairs as terms: waves act between them, too."""
        first, second = excluded.rows(everyone)
        product = COULOMB_CONSTANT * charges[first] * charges[second]
        zero = jnp.zeros_like(product)
        alpha = everyone.systems.set_data(self.alpha)[everyone.system[first]]
        endless = jnp.full_like(product, jnp.inf)
        return ExcludedCharges(
            excluded.pairs, product, excluded.coulomb_factor, alpha, zero, zero, endless
        )

    def reciprocal(self, positions: Array, charges: Array, everyone: AllParticles) -> Reciprocal:
        """What waves and meshes say."""
        positions = jnp.where(everyone.there[:, None], positions, 0)
        count, systems = positions.shape[0], everyone.count
        dtype = positions.dtype
        total = Reciprocal(
            jnp.zeros(systems, dtype),
            jnp.zeros(count, dtype),
            jnp.zeros((count, 3), dtype),
            jnp.zeros((systems, 3, 3), dtype),
        )
        for part in (self.waves, *self.meshes):
            if part is not None:
                found = part.reciprocal(positions, charges, everyone.cell, self.alpha)
                total = Reciprocal(*(a + b for a, b in zip(total, found, strict=True)))
        return total

    # Checks -------------------------------------------------------------------------------

    def _check(self, everyone: AllParticles) -> None:
        systems = self.alpha.shape[0]
        if systems != everyone.count:
            raise PotentialError(
                f"An Ewald sum made for {systems} systems can't serve {everyone.count}."
            )
        coarse = everyone.positions.dtype == jnp.float32
        if coarse and self.accuracy is not None and self.accuracy < COARSEST_FOR_FLOAT32:
            raise PotentialError(
                f"Single precision can't keep forces accurate to {self.accuracy:g} kₑe²/Å².\n"
                f"Ask for {COARSEST_FOR_FLOAT32:g} at best, or compute in float64."
            )
        charges = column(everyone, "charges")
        charged = everyone.there & (charges != 0)
        home = _resized(self.home, charges.shape[0])
        strange = charged & (home != everyone.system.indices)
        runtime_assert(
            ~jnp.any(strange),
            "The Ewald sum was not made for particle {particle} with a charge in its system.\n"
            "Make a new one for these particles.",
            fmt_args={"particle": jnp.argmax(strange)},
        )
        occupied = everyone.system.apply_mask(charged).counts.data > 0
        open_ = occupied & ~(everyone.cell.periodic.all(axis=1) & everyone.cell.bounded)
        runtime_assert(
            ~jnp.any(open_),
            "System {system} has charges, but does not repeat along all axes: no Ewald sum.",
            fmt_args={"system": jnp.argmax(open_)},
        )
        if self.accuracy is not None:
            self._check_accuracy(everyone, charges, charged, self.accuracy)

    def _check_accuracy(
        self, everyone: AllParticles, charges: Array, charged: Array, accuracy: float
    ) -> None:
        cell = jax.lax.stop_gradient(everyone.cell)
        each = (charged.astype(charges.dtype), jax.lax.stop_gradient(charges) ** 2)
        volume = jnp.where(cell.bounded, cell.volume, 1)
        content = Content(*everyone.system.sum_over(each).data, volume)
        error = jax.lax.stop_gradient(self).error(content, cell)
        bad = ~(error <= accuracy)
        worst = jnp.argmax(jnp.where(bad, error, 0))
        runtime_assert(
            ~jnp.any(bad),
            "The Ewald sum of system {system} has an rms force error of {error} kₑe²/Å², more "
            f"than the {accuracy:g} that " + "were asked for: its cell or its charges changed.",
            fmt_args={"system": worst, "error": error[worst]},
            fix_fn=_choose_again,
            fix_args=(self.alpha, cell.vectors, content.count, content.squares),
        )

    def error(self, content: Content, cell: Cell) -> Array:
        """The rms force error (kₑe²/Å²) of each system in this cell, as it is estimated."""
        real = real_error(content, self.alpha, self.real_cutoff, jnp)
        inverse = Cell(self.vectors, cell.periodic, cell.bounded).inverse
        stretched = jnp.einsum("sij,sjk->sik", inverse, cell.vectors)
        left_out = self.limit / _largest_stretch(stretched)
        far = wave_error(content, self.alpha, left_out, jnp) ** 2
        for mesh in self.meshes:
            of_systems = Table(mesh.systems.vocabulary, (cell.vectors, content, self.alpha))
            vectors, own, alpha = of_systems[mesh.systems]
            edges = jnp.sqrt(jnp.sum(vectors**2, axis=-1))
            spacing = jnp.max(edges / np.array([mesh.shape], edges.dtype), axis=-1)
            aliased = mesh_error(own, alpha, spacing, mesh.order, jnp) * skewness(vectors, jnp)
            far += mesh.systems.sum_over(aliased**2).data
        return jnp.sqrt(real**2 + far)


def made(
    settings: list[Setting],
    vectors: np.ndarray,
    members: list[np.ndarray],
    home: np.ndarray,
    accuracy: float | None,
    numbers: list[np.ndarray] | None = None,
    devices: Devices | None = None,
) -> Ewald:
    """The sum with these settings; ``numbers`` are given waves n of each system."""
    if numbers is None:
        numbers = [
            waves_within(a, s.limit) if s.mesh is None and len(m) else _NO_WAVES
            for s, a, m in zip(settings, vectors, members, strict=True)
        ]
    groups: dict[Any, list[int]] = {}
    for system, setting in enumerate(settings):
        if setting.mesh is not None and len(members[system]):
            groups.setdefault((setting.mesh, setting.order), []).append(system)
    meshes = tuple(
        Mesh.of(index_of(own, len(settings)), [members[s] for s in own], shape, order, devices)
        for (shape, order), own in groups.items()
    )
    return Ewald(
        alpha=np.array([s.alpha for s in settings]),
        real_cutoff=np.array([s.real_cutoff for s in settings]),
        limit=np.array([s.limit for s in settings]),
        vectors=np.array(vectors, float),
        home=on_device(np.array(home, np.int32)),
        waves=Waves.of(numbers, members, devices),
        meshes=meshes,
        accuracy=accuracy,
        devices=devices,
    )


_NO_WAVES = np.zeros((0, 3), np.int32)


def _choose_again(state: Any, found: Any) -> Any:
    """The state with the settings of the Ewald sum that has this α chosen for these cells."""
    alpha, *cells_and_charges = (np.asarray(a, float) for a in found)

    def renewed(part: Any) -> Any:
        if not isinstance(part, Ewald) or part.accuracy is None:
            return part
        mine = np.asarray(part.alpha, np.asarray(found[0]).dtype).astype(float)
        return _renewed(part, *cells_and_charges) if np.array_equal(mine, alpha) else part

    return jax.tree.map(renewed, state, is_leaf=lambda part: isinstance(part, Ewald))


def _renewed(present: Ewald, vectors: np.ndarray, count: np.ndarray, squares: np.ndarray) -> Ewald:
    """For other cells and charges, with the same real-space cutoffs."""
    assert present.accuracy is not None
    content = Content(count, squares, np.abs(np.linalg.det(vectors)))
    radii = np.asarray(present.real_cutoff, float)
    on_mesh = {int(s) for mesh in present.meshes for s in np.asarray(mesh.systems.indices)}
    choices = {
        method: choose(content, vectors, present.accuracy, cutoff=radii, method=method)
        for method in ("ewald", "pme")
    }
    settings = [
        choices["pme" if system in on_mesh else "ewald"][system] for system in range(len(count))
    ]
    home = np.asarray(present.home)
    members = [np.flatnonzero(home == system) for system in range(len(count))]
    _LOG.info(
        "The waves of %d Ewald sums are chosen again: cells or charges have changed so much that "
        "the accuracy of %g kₑe²/Å² would not hold.",
        sum(len(m) > 0 for m in members),
        present.accuracy,
    )
    new = made(settings, vectors, members, home, present.accuracy, devices=present.devices)
    return new if present.excluded is None else new.excluding(present.excluded)


def _largest_stretch(matrix: Array) -> Array:
    """The largest singular value of each 3×3 matrix, in closed form.

    Eigenvalues of the symmetric MᵀM by the trigonometric solution of the cubic.
    """
    c = jnp.einsum("sji,sjk->sik", matrix, matrix)
    mean = jnp.trace(c, axis1=1, axis2=2) / 3
    rest = c - mean[:, None, None] * jnp.eye(3, dtype=c.dtype)[None]
    size = jnp.sqrt(jnp.sum(rest**2, axis=(1, 2)) / 6)
    safe = jnp.where(size > 0, size, 1)
    scaled = rest / safe[:, None, None]
    determinant = jnp.sum(scaled[:, 0] * jnp.cross(scaled[:, 1], scaled[:, 2]), axis=-1)
    angle = jnp.arccos(jnp.clip(determinant / 2, -1, 1)) / 3
    return jnp.sqrt(mean + 2 * size * jnp.cos(angle))


def _resized(home: Array, rows: int) -> Array:
    """For as many particles; those beyond belong nowhere."""
    more = rows - home.shape[0]
    return home[:rows] if more <= 0 else jnp.pad(home, (0, more), constant_values=-1)
