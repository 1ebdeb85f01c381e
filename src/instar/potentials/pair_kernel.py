"""The pass over the neighbors on a CPU: by a compiled kernel, where it knows all formulas.

`pair_sum` has the same pass in JAX, and `kernels.choice` decides which of them runs.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar import kernels
from instar.geometry import AllParticles
from instar.kernels.image_points import image_points
from instar.kernels.pair_pass import MOST_TERMS, KernelTerm, pair_pass
from instar.potentials.evaluation import Request
from instar.potentials.truncation import base_and_ending

__all__ = ["by_kernel", "has_kernel", "has_kernels", "points_by_kernel"]


def has_kernel(pair_terms: tuple[Any, ...], dtype: Any) -> bool:
    """Whether the kernel is there, and knows all of these formulas with such parameters."""
    known = dtype in (jnp.float32, jnp.float64) and 0 < len(pair_terms) <= MOST_TERMS
    return known and kernels.in_use() and all(map(_is_known, pair_terms))


def has_kernels(potential: Any, everyone: AllParticles) -> bool:
    """Whether all that a potential does with neighbors is done by the kernel; on the host."""
    found = False

    def look(potential: Any, everyone: AllParticles) -> None:  # traced: nothing is computed
        nonlocal found
        near = [part.pair_term(everyone) for part in potential.parts() if part.reach is not None]
        found = None not in near and has_kernel(tuple(near), everyone.positions.dtype)

    jax.eval_shape(look, potential, everyone)
    return found


def _is_known(pair_term: Any) -> bool:
    base, _, ending = base_and_ending(pair_term.formula)
    # Not inherited: who changes the equation of a formula must not get that of its parent.
    if vars(type(base)).get("KERNEL") is None:
        return False
    ranks = {jnp.ndim(p) for p in (*_fields(base), *ending, pair_term.cutoff)}
    if pair_term.system is not None:
        return ranks <= {0, 1}
    return ranks <= {0} if pair_term.species is None else ranks <= {0, 2}


def _fields(formula: Any) -> list[Any]:
    return [getattr(formula, f.name) for f in dataclasses.fields(formula)]


def points_by_kernel(operands: Any) -> Array:
    """Where images are (images, 4), from positions, systems, cells and images; only on a CPU."""
    positions, system, cell, images = operands
    return image_points(positions, system, cell.vectors, images.owner, images.shift)


def by_kernel(request: Request, operands: Any) -> tuple[Array, ...]:
    """The sums of each row, from terms, points, columns, rows, slots; only on a CPU."""
    pair_terms, points, columns, rows, slots = operands
    terms = [_kernel_term(t, c, points.dtype) for t, c in zip(pair_terms, columns, strict=True)]
    return pair_pass(
        terms,
        points,
        rows,
        slots,
        forces=request.forces,
        energy=request.energy or request.per_particle,
        virial=request.virial,
    )


def _kernel_term(pair_term: Any, column: Any, dtype: Any) -> KernelTerm:
    base, ending, own = base_and_ending(pair_term.formula)
    parameters = [*_fields(base), *own, pair_term.cutoff]
    shape = np.broadcast_shapes(*map(jnp.shape, parameters), (1,))
    if shape == (1,):
        lookup, index = "one", None
    elif len(shape) == 1:
        lookup, index = "system", column.system
    else:
        lookup, index = "species", column.species
    rows = jnp.stack([jnp.broadcast_to(jnp.asarray(p, dtype), shape) for p in parameters])
    return KernelTerm(type(base).KERNEL, ending, lookup, rows, index, column.strength)
