"""`Grid`: images sorted into bins, so that a row of bins is a range of rows.

Each system has a grid of its own over the fractional coordinates of its images. Bins are
``subdivision`` to a reach across (a ball of the reach then touches 2·subdivision + 1 of them
along x and y), and finer along z, which runs fastest: what a particle can see of one column of
bins is one range of rows.

Systems and owners of images are bare numbers of rows here and below, not an `Index`: images are
sorted, cut and looked up by their place in an array, at every rebuild.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from instar.core.data import Index
from instar.core.typing import SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell
from instar.neighbors.images import Expanded, Images, Wrapped, images_of

__all__ = ["MARGIN", "Grid", "fractional_reach", "grid_of", "table_length"]

FINER_ALONG_Z = 4
"""Bins along z for each one across; more make ranges tighter and the table of bins larger."""

BINS_PER_IMAGE = 2
"""Bins of a system for each of its images, at most: sparse systems get coarser bins."""

MARGIN = 8
"""Rounding errors, in units of the last digit, by which ranges are made wider."""


@dataclass
class Grid:
    """Sorted images and the bins they are in. Row 0 of the images is nowhere."""

    images: Images
    points: tuple[Array, ...]  # x, y, z of each row
    first: Array  # (bins + 1,) the first row of each bin
    bins: Array  # (systems, 3) int32
    before: Array  # (systems,) bins of the systems before
    low: Array  # (systems, 3) fractional coordinate where bins begin
    width: Array  # (systems, 3) of one bin, fractional
    span: Array  # (systems, 3) the reach, fractional, rounded up
    fuzz: Array  # (systems, 3) rounding errors of fractional coordinates
    home: Array  # (particles,) row of each particle itself; 0 for absent ones
    needed: Array  # () rows needed, beside row 0
    left_out: Array | None  # (particles, room) rows that each does not see; 0 for none


def fractional_reach(reach: Array, cell: Cell) -> Array:
    """The reach (systems,) as a part of each height, rounded up."""
    eps = MARGIN * jnp.finfo(reach.dtype).eps
    return reach[:, None] / cell.heights * (1 + eps) + eps


def table_length(rows: int, systems: int, subdivision: int) -> int:
    """The length of the table of first rows: of all bins that there may be, and their end."""
    return 1 + (systems if subdivision == 0 else BINS_PER_IMAGE * rows + 8 * systems)


def grid_of(
    wrapped: Wrapped,
    positions: Array,
    cell: Cell,
    span: Array,
    unseen: Array | None,
    *,
    rows: int,
    subdivision: int,
) -> Grid:
    """Sort the images of all particles into bins; ``subdivision`` 0 makes one bin of a system.

    ``span`` (systems, 3) is the `fractional_reach`, ``unseen`` names images that particles do not
    see: see `exclusion.unseen_images`.
    """
    eps = MARGIN * jnp.finfo(span.dtype).eps
    expanded = _expanded(wrapped, span, cell.periodic, rows - 1, subdivision)
    particles, systems = positions.shape[0], span.shape[0]
    there = expanded.owner < particles
    at = jnp.where(there, expanded.owner, 0)
    system = wrapped.system[at]
    low, high = _ends(wrapped, span, cell.periodic)
    fuzz = eps * jnp.maximum(1, jnp.maximum(jnp.abs(low), jnp.abs(high)))
    span = span + 2 * fuzz
    owners = Index.integer(jnp.where(there, system, systems), n=systems, label=SystemId)
    bins = _bin_counts(high - low, span, owners.sum_over(there).data, subdivision)
    width = (high - low) / bins.astype(span.dtype)
    width = jnp.where(width > 0, width, 1)
    total = jnp.prod(bins, axis=1, dtype=jnp.int32)
    before = jnp.cumsum(total, dtype=jnp.int32) - total
    table = table_length(rows, systems, subdivision) - 1
    if subdivision == 0:  # in the order of systems already
        number = jnp.where(there, system, systems)
        order = jnp.arange(rows - 1, dtype=jnp.int32)
    else:
        place = wrapped.inside[at] + expanded.step.astype(span.dtype)
        coordinates = jnp.floor((place - low[system]) / width[system]).astype(jnp.int32)
        number = jnp.where(there, _number(coordinates, bins[system], before[system]), table)
        order = lax.sort((number, jnp.arange(rows - 1, dtype=jnp.int32)), num_keys=1)[1]
    in_bins = jnp.zeros(table + 1, jnp.int32).at[number].add(1, mode="drop")
    first = 1 + jnp.cumsum(in_bins, dtype=jnp.int32) - in_bins
    images = _sorted(expanded, wrapped, order)
    points = images.positions(positions, wrapped.system, cell)
    return Grid(
        images=images,
        points=points,
        first=first,
        bins=bins,
        before=before,
        low=low,
        width=width,
        span=span,
        fuzz=fuzz,
        home=_homes(expanded, order, particles),
        needed=expanded.needed,
        left_out=None if unseen is None else _rows_of(expanded, order, unseen),
    )


def _rows_of(expanded: Expanded, order: Array, images: Array) -> Array:
    """The rows of images, each a particle (−1 for none) and steps from it; 0 where none is."""
    there, particle = images[..., 0] >= 0, jnp.maximum(images[..., 0], 0)
    at = images[..., 1:] - expanded.lowest[particle]
    widths = expanded.widths[particle]
    inside = jnp.all((at >= 0) & (at < widths), axis=-1)
    place = (at[..., 0] * widths[..., 1] + at[..., 1]) * widths[..., 2] + at[..., 2]
    number = jnp.arange(1, order.shape[0] + 1, dtype=jnp.int32)
    row = jnp.zeros_like(number).at[order].set(number, unique_indices=True)
    found = row.at[expanded.start[particle] + place].get(mode="clip")
    return jnp.where(there & inside, found, 0)


def _expanded(
    wrapped: Wrapped, span: Array, periodic: Array, rows: int, subdivision: int
) -> Expanded:
    """All images, particle after particle; with one bin a system, system after system."""
    if subdivision > 0:
        return images_of(wrapped, span, periodic, rows)
    particles = wrapped.system.shape[0]
    number = jnp.arange(particles, dtype=jnp.int32)
    key = jnp.where(wrapped.there, wrapped.system, span.shape[0])
    order = lax.sort((key, number), num_keys=1)[1]
    found = images_of(Wrapped(*(column[order] for column in wrapped)), span, periodic, rows)
    there = found.owner < particles
    owner = jnp.where(there, order[jnp.where(there, found.owner, 0)], found.owner)
    blocks = (jnp.zeros_like(a).at[order].set(a) for a in found[3:])
    return Expanded(owner, found.step, found.needed, *blocks)


def _ends(wrapped: Wrapped, span: Array, periodic: Array) -> tuple[Array, Array]:
    """Where images begin and end: known along periodic axes, else where particles are."""
    big = jnp.asarray(jnp.finfo(span.dtype).max, span.dtype)
    there = wrapped.there[:, None]
    systems = span.shape[0]
    low = jnp.full((systems, 3), big).at[wrapped.system].min(jnp.where(there, wrapped.inside, big))
    high = (
        jnp.full((systems, 3), -big).at[wrapped.system].max(jnp.where(there, wrapped.inside, -big))
    )
    empty = low > high
    low, high = jnp.where(empty, 0, low), jnp.where(empty, 0, high)
    return jnp.where(periodic, -span, low), jnp.where(periodic, 1 + span, high)


def _bin_counts(extent: Array, span: Array, images: Array, subdivision: int) -> Array:
    """Bins along each axis: as many as the width allows, fewer where there are few images."""
    if subdivision == 0:
        return jnp.ones(extent.shape, jnp.int32)
    finer = np.array([[1, 1, FINER_ALONG_Z]], extent.dtype) * subdivision
    wanted = extent / jnp.where(span > 0, span, 1) * finer
    wanted = jnp.floor(jnp.where(wanted > 1, jnp.minimum(wanted, 2.0**20), 1))
    limit = (BINS_PER_IMAGE * images + 8).astype(extent.dtype)[:, None]
    product = (wanted[:, 0] * wanted[:, 1] * wanted[:, 2])[:, None]
    most = jnp.where(product > limit, _fewer(wanted, product, limit), wanted)
    most = jnp.maximum(1, most.astype(jnp.int32))
    room = BINS_PER_IMAGE * images + 8
    x = jnp.minimum(most[:, 0], room)
    y = jnp.minimum(most[:, 1], room // x)
    z = jnp.minimum(most[:, 2], room // (x * y))
    return jnp.stack([x, y, z], axis=1)


def _fewer(wanted: Array, product: Array, limit: Array) -> Array:
    """The most bins n with n³ · product ≤ wanted³ · limit: all axes get fewer by one factor.

    Only products decide, so that it is the same number whatever rounds a cube root.
    """
    most = wanted * wanted * wanted * limit

    def fits(n: Array) -> Array:
        return n * n * n * product <= most

    about = jnp.floor(wanted / jnp.maximum(1, jnp.cbrt(product / limit)))
    return jnp.where(fits(about + 1), about + 1, jnp.where(fits(about), about, about - 1))


def _number(coordinates: Array, bins: Array, before: Array) -> Array:
    """The number of a bin among those of all systems; places beyond the end are in the last."""
    inside = jnp.clip(coordinates, 0, bins - 1)
    x, y, z = (inside[:, k] for k in range(3))
    return before + (x * bins[:, 1] + y) * bins[:, 2] + z


def _sorted(expanded: Expanded, wrapped: Wrapped, order: Array) -> Images:
    """Images in the order of their bins, behind the row that is nowhere."""
    particles = wrapped.system.shape[0]
    owner = expanded.owner[order]
    cells = wrapped.cells[jnp.where(owner < particles, owner, 0)]
    shift = expanded.step[order] - jnp.where(owner[:, None] < particles, cells, 0)
    nowhere = jnp.full(1, particles, jnp.int32)
    return Images(
        jnp.concatenate([nowhere, owner]),
        jnp.concatenate([jnp.zeros((1, 3), jnp.int32), shift]),
    )


def _homes(expanded: Expanded, order: Array, particles: int) -> Array:
    """The row of the image of each particle that lies in the cell."""
    itself = (expanded.step == 0).all(axis=1) & (expanded.owner < particles)
    owner = jnp.where(itself, expanded.owner, particles)[order]
    rows = jnp.arange(1, order.shape[0] + 1, dtype=jnp.int32)
    return jnp.zeros(particles, jnp.int32).at[owner].set(rows, mode="drop")
