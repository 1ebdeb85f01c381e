"""Distances that never change: as terms of a potential, without an energy of their own."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.core.utils.jax import dataclass, is_traced
from instar.potentials.formula import Parameter
from instar.potentials.potential import Potential, PotentialError

__all__ = ["Constraint", "DistanceConstraint", "RigidWater"]


@dataclass
class Constraint(Potential):
    """Geometry that integrators hold fixed; abstract.

    It adds no energy and no forces: what it does is done by `Constraints`, which integrators get
    from `constraints_of`. A row in which an index is out of bounds, or names a particle that is
    absent, constrains nothing.
    """

    atoms: Index[ParticleId]

    def bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows of particles (n, bonds, 2) and distances (n, bonds) in Å; on the host."""
        raise NotImplementedError(f"{type(self).__name__} has no bonds.")


@dataclass
class DistanceConstraint(Constraint):
    """|r_j − r_i| = length: atoms (n, 2), length (n,) in Å."""

    length: Parameter

    def __post_init__(self) -> None:
        """Refuse what is no table of distances."""
        _check_table("DistanceConstraint", self.atoms, 2, {"length": self.length})

    def bonds(self) -> tuple[np.ndarray, np.ndarray]:
        """One bond a row."""
        return np.asarray(self.atoms.indices)[:, None, :], np.asarray(self.length)[:, None]


@dataclass
class RigidWater(Constraint):
    """Rigid triangles: atoms (n, 3) in the order O, H, H; oh and hh (n,) in Å.

    Both hydrogens must have the same mass.
    """

    oh: Parameter
    hh: Parameter

    def __post_init__(self) -> None:
        """Refuse what is no table of triangles."""
        _check_table("RigidWater", self.atoms, 3, {"oh": self.oh, "hh": self.hh})
        if _is_known((self.oh, self.hh)):
            flat = ~(np.asarray(self.hh) < 2 * np.asarray(self.oh))
            if flat.any():
                row = int(np.argmax(flat))
                raise PotentialError(
                    f"Row {row} of RigidWater is no triangle: hh = {np.asarray(self.hh)[row]} Å is "
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
            f"{kind} has {columns} atoms a row, an index (n, {columns}), not {atoms.indices.shape}."
        )
    for name, given in lengths.items():
        values = np.asarray(given)
        if values.shape != atoms.indices.shape[:1]:
            raise PotentialError(
                f"{kind} has {atoms.indices.shape[0]} rows of atoms, but {name} of shape "
                f"{values.shape}; one length (Å) a row is needed."
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
