"""Where images are: the points of a pass, side by side; `source/image_points.cpp`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array

from instar.kernels.library import target

__all__ = ["image_points"]


def image_points(
    positions: Array, system: Array, vectors: Array, owner: Array, shift: Array
) -> Array:
    """x, y, z and 0 of each image (images, 4); only where `in_use`, on a CPU.

    ``positions`` (particles, 3), ``system`` (particles,) the row of ``vectors`` (systems, 3, 3) of
    each; ``owner`` (images,) and ``shift`` (images, 3) as in `Images`.
    """
    call: Any = jax.ffi.ffi_call(
        target(f"instar_image_points_{np.dtype(positions.dtype).name}"),
        jax.ShapeDtypeStruct((*owner.shape, 4), positions.dtype),
        vmap_method="sequential",
    )
    return call(positions, system, vectors, owner, shift)
