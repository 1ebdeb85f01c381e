"""Distances that never change: as parts of a potential, without an energy of their own."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.core.utils.declaration import option
from instar.core.utils.jax import dataclass, is_traced
from instar.geometry import AllParticles
from instar.potentials.entry import Entry, configured
from instar.potentials.evaluation import Evaluation, Request
from instar.potentials.formula import Parameter
from instar.potentials.potential import Potential, PotentialError
from instar.potentials.terms_entry import terms_entry

__all__ = ["Constraint", "DistanceConstraint", "RigidWater"]


@dataclass
class Constraint(Potential):
    """Geometry that integrators hold fixed; abstract.

    It adds no energy and no forces: what it does is done by `Constraints`, which integrators get
    from `constraints_of`. A row in which an index is out of bounds, or names a particle that is
    absent, constrains nothing.
    """

    atoms: Index[ParticleId]

    BONDS: ClassVar[tuple[tuple[int, int], ...]] = ((0, 1),)
    """The columns of ``atoms`` whose distance is held."""

    @classmethod
    def entry_class(cls) -> type[Entry]:
        """How it stands in configurations: a list of terms."""
        return terms_entry(cls, 1 + max(map(max, cls.BONDS)), cls.BONDS)

    @property
    def has_known_cost(self) -> bool:
        """It adds nothing to an evaluation."""
        return True

    def apart_from_pairs(self, everyone: AllParticles, request: Request) -> Evaluation:
        """Nothing."""
        return Evaluation.zero(everyone, request)

    def bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of particles (n, bonds, 2) and distances (n, bonds) in Å; on the host."""
        raise NotImplementedError(f"{type(self).__name__} has no bonds.")


@configured("distance_constraint")
@dataclass
class DistanceConstraint(Constraint):
    """Distances that never change: |r_j − r_i| = r0, with r0 in Å.

    A part of a potential without energy and forces; all methods of `instar.md` hold it.

    Parameters
    ----------
    atoms
        `Index` (n, 2): the particles of each distance.
    r0
        (n,) in Å.

    Raises
    ------
    PotentialError
        If a length is not above zero, or a row names a particle twice.

    Examples
    --------
    >>> import numpy as np
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import DistanceConstraint
    >>> atoms = Index.integer([[0, 1]], n=2, label=ParticleId)
    >>> rigid = DistanceConstraint(atoms, r0=np.array([1.1]))
    >>> print(rigid.bonds()[1])
    [[1.1]]
    """

    r0: Parameter = option("distance that is held", unit="angstrom", above=0, example=1.0)

    def __post_init__(self) -> None:
        """Refuse what is not a table of distances."""
        _check_table("DistanceConstraint", self.atoms, 2, {"r0": self.r0})

    def bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """One bond per row."""
        return np.asarray(self.atoms.indices)[:, None, :], np.asarray(self.r0)[:, None]


@configured("rigid_water")
@dataclass
class RigidWater(Constraint):
    """Rigid triangles of water: both O–H distances and the H–H distance never change.

    A part of a potential without energy and forces; all methods of `instar.md` hold it. Both
    hydrogens must have the same mass.

    Parameters
    ----------
    atoms
        `Index` (n, 3): the particles of each molecule in the order O, H, H.
    oh
        (n,) in Å.
    hh
        (n,) in Å, below twice ``oh``.

    Raises
    ------
    PotentialError
        If a row is not a triangle, or names a particle twice.

    Examples
    --------
    >>> import numpy as np
    >>> from instar import Index, ParticleId
    >>> from instar.potentials import RigidWater
    >>> atoms = Index.integer([[0, 1, 2]], n=3, label=ParticleId)
    >>> spce = RigidWater(atoms, oh=np.array([1.0]), hh=np.array([1.633]))
    >>> print(spce.bonds()[1])
    [[1.    1.    1.633]]
    """

    oh: Parameter = option("distance of O and H", unit="angstrom", above=0, example=1.0)
    hh: Parameter = option("distance of H and H", unit="angstrom", above=0, example=1.633)

    BONDS: ClassVar[tuple[tuple[int, int], ...]] = ((0, 1), (0, 2), (1, 2))

    def check_term(self) -> None:
        """Refuse what is not a triangle; ``self`` is one term."""
        if self.hh >= 2 * self.oh:
            raise ValueError(
                f"there is no triangle with oh = {self.oh} Å and hh = {self.hh} Å; "
                "hh must be below twice oh"
            )

    def __post_init__(self) -> None:
        """Refuse what is not a table of triangles."""
        _check_table("RigidWater", self.atoms, 3, {"oh": self.oh, "hh": self.hh})
        if _is_known((self.oh, self.hh)):
            flat = ~(np.asarray(self.hh) < 2 * np.asarray(self.oh))
            if flat.any():
                row = int(np.argmax(flat))
                raise PotentialError(
                    f"Row {row} of RigidWater is not a triangle: "
                    f"hh = {np.asarray(self.hh)[row]} Å is "
                    f"not below twice oh = {np.asarray(self.oh)[row]} Å."
                )

    def bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """O–H, O–H and H–H."""
        rows = np.asarray(self.atoms.indices)[:, [[0, 1], [0, 2], [1, 2]]]
        return rows, np.stack([np.asarray(d) for d in (self.oh, self.oh, self.hh)], axis=1)


def _is_known(values: Any) -> bool:
    """Whether all are arrays with values: not traced, nor the axes of a jax.vmap."""
    leaves = jax.tree.leaves(values)
    arrays = all(isinstance(leaf, np.ndarray | np.generic | jax.Array) for leaf in leaves)
    return arrays and not is_traced(leaves)


def _check_table(kind: str, atoms: Any, columns: int, lengths: dict[str, Any]) -> None:
    if not isinstance(atoms, Index) or not _is_known((atoms.indices, lengths)):
        return
    if atoms.indices.ndim != 2 or atoms.indices.shape[1] != columns:
        raise PotentialError(
            f"{kind} has {columns} atoms per row, an index (n, {columns}), "
            f"not {atoms.indices.shape}."
        )
    for name, given in lengths.items():
        values = np.asarray(given)
        if values.shape != atoms.indices.shape[:1]:
            raise PotentialError(
                f"{kind} has {atoms.indices.shape[0]} rows of atoms, but {name} of shape "
                f"{values.shape}; one length (Å) per row is needed."
            )
        bad = ~(np.isfinite(values) & (values > 0))
        if bad.any():
            row = int(np.argmax(bad))
            raise PotentialError(
                f"Row {row} of {kind} has {name} = {values[row]}; a length (Å) is above zero."
            )
    rows = np.sort(np.asarray(atoms.indices), axis=1)
    inside = ((rows >= 0) & (rows < len(atoms.vocabulary))).all(axis=1)
    same = inside & (rows[:, 1:] == rows[:, :-1]).any(axis=1)
    if same.any():
        row = int(np.argmax(same))
        raise PotentialError(f"Row {row} of {kind} names a particle twice: {rows[row].tolist()}.")
