"""`Cell`: the box of a system, and how it repeats.

A cell is three vectors a₁, a₂, a₃, the rows of a matrix A (Å). A point has the fractional
coordinates s with r = s·A. Along a periodic axis k a particle at r stands for all r + n·aₖ.

A `Cell` may hold one cell or, along leading axes, one per system: it is a column of the table
of systems, so ``systems[particles.system].cell`` has one cell per particle.
"""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.typing import ArrayLike
from instar.core.utils.jax import dataclass, field, is_traced
from instar.core.utils.on_device import on_device

__all__ = ["Cell", "CellError"]

_SMALLEST_ANGLE = 1e-8
"""Volume over the product of the edges, below which three vectors span no volume."""


class CellError(ValueError):
    """Three vectors that are not a cell."""


@dataclass
class Cell:
    """Three vectors, and the axes along which they repeat.

        vectors   (..., 3, 3)  Å, one vector per row; left-handed triples are fine
        periodic  (..., 3)     whether the system repeats along each vector
        bounded   (...,)       False where the volume is infinite: a vector was not given

    ``orthorhombic`` says that every vector lies on its axis; formulas are shorter then.
    Make cells with `Cell.of`, which checks them. Vectors are differentiable values.
    """

    vectors: Array
    periodic: Array
    bounded: Array
    orthorhombic: bool = field(static=True, default=False)

    # Making -------------------------------------------------------------------------------

    @staticmethod
    def of(vectors: ArrayLike, periodic: ArrayLike = True) -> Cell:
        """A cell from its three vectors, checked.

            r = s·A        the rows of A are the vectors, s fractional coordinates

        Parameters
        ----------
        vectors
            (..., 3, 3) in Å, one vector per row; values must be known, not traced. A vector of
            zeros, allowed along an axis that does not repeat, means that the system has no end
            there.
        periodic
            Whether the system repeats: one bool for all axes, one per axis, or (..., 3).

        Returns
        -------
        Cell
            One cell, or one per leading index.

        Raises
        ------
        CellError
            If the vectors are not finite numbers, or do not span a volume.
        TypeError
            If the vectors are traced.

        Examples
        --------
        >>> from instar.geometry import Cell
        >>> fcc = Cell.of([[0.0, 2.7, 2.7], [2.7, 0.0, 2.7], [2.7, 2.7, 0.0]])
        >>> print(fcc.volume.round(3))
        39.366
        """
        if is_traced((vectors, periodic)):
            raise TypeError(
                "Cell.of checks its vectors, so they must be known.\n"
                "Inside compiled code change a cell with Cell.strained or Cell.with_vectors."
            )
        given = _as_vectors(vectors)
        axes = np.broadcast_to(np.asarray(periodic, bool), given.shape[:-1])
        missing = ~given.any(axis=-1)
        _check(given, axes, missing)
        complete = _completed(given, missing)
        off_axis = complete[..., ~np.eye(3, dtype=bool)]
        columns = on_device((complete, axes, ~missing.any(axis=-1)))
        return Cell(*columns, orthorhombic=not off_axis.any())

    @staticmethod
    def box(edges: ArrayLike, periodic: ArrayLike = True) -> Cell:
        """A cell with right angles from its edges.

        Parameters
        ----------
        edges
            (..., 3) in Å, or one number for a cube.
        periodic
            As for `Cell.of`.

        Returns
        -------
        Cell
            One cell, or one per leading index.

        Raises
        ------
        CellError
            As `Cell.of` does.

        Examples
        --------
        >>> from instar.geometry import Cell
        >>> print(Cell.box([2.0, 3.0, 4.0]).volume, Cell.box(2.0).volume)
        24.0 8.0
        """
        given = np.asarray(edges)
        given = np.broadcast_to(given, (3,)) if given.ndim == 0 else given
        return Cell.of(given[..., None] * np.eye(3, dtype=given.dtype), periodic)

    @staticmethod
    def open(*systems: int, dtype: Any = None) -> Cell:
        """No cell: open space in all directions.

        Parameters
        ----------
        *systems
            How many systems there are; left out, one cell without a leading index.
        dtype
            The precision; left out, that of JAX.

        Returns
        -------
        Cell
            Not periodic, with an infinite volume.

        Examples
        --------
        >>> from instar.geometry import Cell
        >>> print(Cell.open(2).volume)
        [inf inf]
        """
        return Cell.of(np.zeros((*systems, 3, 3), dtype or jnp.zeros(()).dtype), False)

    def with_vectors(self, vectors: Array) -> Cell:
        """Other vectors, along the same periodic axes; they may be traced, and are not checked."""
        return Cell(vectors, self.periodic, self.bounded)

    def strained(self, strain: Array) -> Cell:
        """The cell after a deformation.

            A → A·(1 + ε)

        Parameters
        ----------
        strain
            ε (..., 3, 3), without a unit; it may be traced.

        Returns
        -------
        Cell
            With the same periodic axes.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> from instar.geometry import Cell
        >>> print(Cell.box(2.0).strained(0.5 * jnp.eye(3)).volume)
        27.0
        """
        return self.with_vectors(self.vectors + _times(self.vectors, strain))

    # Sizes --------------------------------------------------------------------------------

    @property
    def volume(self) -> Array:
        """|det A| (Å³); infinite for a system without an end."""
        return jnp.where(self.bounded, jnp.abs(self.determinant), jnp.inf)

    @property
    def determinant(self) -> Array:
        """det A: negative for a left-handed cell."""
        a, b, c = self._rows()
        if self.orthorhombic:
            return a[..., 0] * b[..., 1] * c[..., 2]
        return jnp.sum(a * jnp.cross(b, c), axis=-1)

    @property
    def inverse(self) -> Array:
        """A⁻¹: its columns are the reciprocal vectors."""
        if self.orthorhombic:
            return jnp.where(np.eye(3, dtype=bool), 1 / self.vectors, 0)
        a, b, c = self._rows()
        columns = jnp.stack([jnp.cross(b, c), jnp.cross(c, a), jnp.cross(a, b)], axis=-1)
        return columns / self.determinant[..., None, None]

    @property
    def heights(self) -> Array:
        """Distances between opposite faces (Å), (..., 3)."""
        if self.orthorhombic:
            return jnp.abs(self._edges())
        return 1 / jnp.sqrt(jnp.sum(self.inverse**2, axis=-2))

    @property
    def exact_within(self) -> Array:
        """The distance (Å) up to which rounding finds the nearest image.

        The cell around a point holds each particle once and contains the ball of half the
        smallest height, so an image inside that ball is the one that rounding gives.
        """
        return jnp.min(jnp.where(self.periodic, self.heights, jnp.inf), axis=-1) / 2

    def images_within(self, reach: ArrayLike) -> Array:
        """How many cells away along each axis a ball of radius ``reach`` (Å) can reach.

        Counted for a ball around any point of the cell: image n touches it only if
        |nₖ| ≤ ⌈reach / heightₖ⌉. Zero along axes that do not repeat.
        """
        reach = jnp.asarray(reach, self.vectors.dtype)[..., None]
        count = jnp.ceil(reach / self.heights).astype(jnp.int32)
        return jnp.where(self.periodic, count, 0)

    # Points -------------------------------------------------------------------------------

    def fractional(self, positions: Array) -> Array:
        """Fractional coordinates s of positions, with r = s·A.

        Parameters
        ----------
        positions
            (..., 3) in Å, for one cell or one cell per position.

        Returns
        -------
        array
            (..., 3) without a unit.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> from instar.geometry import Cell
        >>> print(Cell.box(4.0).fractional(jnp.array([1.0, 2.0, 6.0])))
        [0.25 0.5  1.5 ]
        """
        if self.orthorhombic:
            return positions / _aligned(self._edges(), positions)
        return _times_vector(positions, self.inverse)

    def cartesian(self, fractional: Array) -> Array:
        """Positions r = s·A from fractional coordinates.

        Parameters
        ----------
        fractional
            s (..., 3) without a unit, for one cell or one cell per point.

        Returns
        -------
        array
            (..., 3) in Å.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> from instar.geometry import Cell
        >>> print(Cell.box(4.0).cartesian(jnp.array([0.25, 0.5, 1.5])))
        [1. 2. 6.]
        """
        if self.orthorhombic:
            return fractional * _aligned(self._edges(), fractional)
        return _times_vector(fractional, self.vectors)

    def wrapped(self, positions: Array) -> tuple[Array, Array]:
        """Positions moved into the cell, and by how many cells along each vector.

            r = inside + n·A

        Axes that do not repeat are left alone. The numbers of cells are not differentiated.

        Parameters
        ----------
        positions
            (..., 3) in Å.

        Returns
        -------
        inside, cells
            (..., 3) in Å, and n (..., 3) int.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> from instar.geometry import Cell
        >>> inside, cells = Cell.box(4.0).wrapped(jnp.array([1.0, 5.0, -1.0]))
        >>> print(inside, cells)
        [1. 1. 3.] [ 0  1 -1]
        """
        cells = jnp.floor(self.fractional(jax.lax.stop_gradient(positions)))
        cells = jnp.where(_aligned(self.periodic, cells), cells, 0)
        cells = jax.lax.stop_gradient(cells)
        return positions - self.cartesian(cells), cells.astype(jnp.int32)

    def minimum_image(self, difference: Array, search: tuple[int, int, int] = (0, 0, 0)) -> Array:
        """The shortest image of a difference of positions.

            d − n·A        n whole numbers, zero along axes that do not repeat

        Rounding finds it in every orthorhombic cell, and in a skewed one if it is not longer than
        `exact_within`.

        Parameters
        ----------
        difference
            d (..., 3) in Å.
        search
            Cells that are tried beyond the rounded one, along each axis; with `image_search` the
            result is exact for any difference.

        Returns
        -------
        array
            (..., 3) in Å.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> from instar.geometry import Cell
        >>> print(Cell.box(4.0).minimum_image(jnp.array([3.0, 1.0, -3.0])))
        [-1.  1.  1.]
        """
        cells = jnp.round(self.fractional(jax.lax.stop_gradient(difference)))
        cells = jax.lax.stop_gradient(jnp.where(_aligned(self.periodic, cells), cells, 0))
        nearest = difference - self.cartesian(cells)
        offsets = list(itertools.product(*(range(-n, n + 1) for n in search)))
        if len(offsets) == 1:
            return nearest

        def shorter(best: Array, offset: Array) -> tuple[Array, None]:
            whole = jnp.broadcast_to(offset, self.periodic.shape)
            step = self.cartesian(jnp.where(self.periodic, whole, 0))
            other = nearest + _aligned(step, nearest)
            better = jnp.sum(other**2, -1) < jnp.sum(best**2, -1)
            return jnp.where(better[..., None], other, best), None

        return jax.lax.scan(shorter, nearest, jnp.array(offsets, self.vectors.dtype))[0]

    @property
    def image_search(self) -> tuple[int, int, int]:
        """The ``search`` with which `minimum_image` is exact for any difference.

        Neither the rounded difference nor the shortest one is longer than half the sum of the
        edges, R. The shortest one so has |sₖ| ≤ R / heightₖ, the rounded one |sₖ| ≤ ½.
        """
        if self.orthorhombic:
            return 0, 0, 0
        across = jnp.einsum("...ik,...jk->...ij", self.vectors, self.vectors)
        mixed = self.periodic[..., :, None] & ~self.periodic[..., None, :]
        if bool(jnp.any(mixed & (jnp.abs(across) > 1e-9))):
            raise CellError(
                "A vector that does not repeat is not orthogonal to those that do.\n"
                "Make it so (that changes neither the system nor its volume)."
            )
        edges = jnp.where(self.periodic, jnp.linalg.norm(self.vectors, axis=-1), 0)
        longest = edges.sum(-1)[..., None] / 2
        cells = jnp.where(self.periodic, jnp.floor(longest / self.heights + 0.5), 0)
        x, y, z = np.asarray(cells).reshape(-1, 3).max(0).astype(int).tolist()
        return x, y, z

    # Inside -------------------------------------------------------------------------------

    def _rows(self) -> tuple[Array, Array, Array]:
        return self.vectors[..., 0, :], self.vectors[..., 1, :], self.vectors[..., 2, :]

    def _edges(self) -> Array:
        return jnp.stack([self.vectors[..., k, k] for k in range(3)], axis=-1)


def _as_vectors(vectors: ArrayLike) -> np.ndarray:
    given = np.asarray(vectors)
    if given.dtype.kind not in "fiu":
        raise CellError(f"The vectors of a cell are numbers (Å), not {given.dtype}.")
    if given.dtype.kind != "f":
        given = given.astype(jnp.zeros(()).dtype)
    if given.shape[-2:] == (3, 3):
        return given
    raise CellError(
        f"A cell is three vectors, an array (..., 3, 3), not {given.shape}.\n"
        "From edges alone it is made by Cell.box."
    )


def _check(vectors: np.ndarray, periodic: np.ndarray, missing: np.ndarray) -> None:
    """Refuse what spans no volume, naming the first such cell."""

    def refuse(bad: np.ndarray | np.bool, why: str) -> None:
        if bad.any():
            first = np.argwhere(bad)[0][: vectors.ndim - 2]
            which = f" (system {', '.join(map(str, first))})" if first.size else ""
            raise CellError(f"{why}{which}:\n{vectors[tuple(first)]}")

    refuse(~np.isfinite(vectors), "A cell has vectors that are not finite")
    refuse(
        missing & periodic,
        "A cell repeats along a vector of length zero; give the vector, or periodic=False",
    )
    complete = _completed(vectors, missing).astype(np.float64)
    edges = np.linalg.norm(complete, axis=-1).prod(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = ~(np.abs(np.linalg.det(complete)) > _SMALLEST_ANGLE * edges)
    refuse(flat, "The vectors of a cell lie in one plane, so that it has no volume")


def _completed(vectors: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Vectors of zeros replaced by unit vectors that are orthogonal to the others."""
    complete = vectors.copy()
    for place in np.argwhere(missing.any(-1)):
        rows = complete[tuple(place)]
        absent = missing[tuple(place)]
        known = rows[~absent].astype(np.float64)
        on_axes = (known[:, ~np.eye(3, dtype=bool)[~absent].any(0)] == 0).all()
        axes = np.eye(3)[absent] if on_axes and _is_diagonal(rows) else _complement(known)
        rows[absent] = axes
    return complete


def _is_diagonal(rows: np.ndarray) -> bool:
    return not rows[~np.eye(3, dtype=bool)].any()


def _complement(known: np.ndarray) -> np.ndarray:
    """Unit vectors that span what the known vectors leave open."""
    _, sizes, basis = np.linalg.svd(known.reshape(-1, 3), full_matrices=True)
    return basis[len(sizes) :]


def _aligned(per_cell: Array, points: Array) -> Array:
    """One cell's values beside many points, or one cell per point."""
    return jnp.reshape(per_cell, (1,) * (points.ndim - per_cell.ndim) + per_cell.shape)


def _times_vector(rows: Array, matrix: Array) -> Array:
    """rows·matrix summed term by term: one matrix, or one per row."""
    matrix = jnp.reshape(matrix, (1,) * (rows.ndim - matrix.ndim + 1) + matrix.shape)
    return sum(
        (rows[..., k, None] * matrix[..., k, :] for k in range(1, 3)),
        rows[..., 0, None] * matrix[..., 0, :],
    )


def _times(vectors: Array, strain: Array) -> Array:
    strain = jnp.broadcast_to(strain, vectors.shape)
    return jnp.einsum("...ij,...jk->...ik", vectors, strain)
