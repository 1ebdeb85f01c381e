"""The pair pass: all sums over the neighbors of each row, for several formulas at once.

`source/pair_pass.cpp` has the equations, `source/pair_formulas.hpp` the formulas by these names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import Array

from instar.core.utils.jax import dataclass, field
from instar.kernels.library import target

__all__ = ["ENDINGS", "FORMULAS", "MOST_TERMS", "KernelTerm", "columns", "pair_pass"]

# Numbered as the enumerations of source/pair_pass.hpp are.
FORMULAS = (
    "lennard_jones",
    "weeks_chandler_andersen",
    "buckingham",
    "morse",
    "soft_sphere",
    "screened_coulomb",
)
ENDINGS = ("plain", "shift", "force_shift", "switch")
LOOKUPS = ("one", "species", "system")
VIRIALS = {False: 0, "trace": 1, True: 2}

MOST_TERMS = 4
"""Formulas in one pass."""


@dataclass
class KernelTerm:
    """A formula with its parameters: its own, those of its ending, and the cutoff, row by row.

    ``lookup`` says what chooses among the entries of a row: nothing, (rows, 1); the species of
    both particles, (rows, species, species); or the system of the one that looks, (rows, systems).
    """

    formula: str = field(static=True)
    ending: str = field(static=True)
    lookup: str = field(static=True)
    parameters: Array
    index: Array | None  # (images,) int32: species, or system
    strength: Array | None  # (images,) factors of each particle


def columns(forces: bool, energy: bool, virial: Any) -> int:
    """How many sums a row has: three forces, an energy, a trace or xx, yy, zz, yz, xz, xy."""
    return 3 * forces + energy + (0, 1, 6)[VIRIALS[virial]]


def pair_pass(
    terms: Sequence[KernelTerm],
    points: Array,
    rows: Array,
    slots: Array,
    *,
    forces: bool,
    energy: bool,
    virial: Any,
) -> tuple[Array, ...]:
    """The sums of each row (blocks, width), one array a column; only where `in_use`, on a CPU.

    ``points`` (images, 4) are x, y, z of all images and a number that is not read, ``rows``
    (blocks, width) the images that look, ``slots`` (blocks, room, width) those that they see; 0 is
    none.
    """
    count = columns(forces, energy, virial)
    call = jax.ffi.ffi_call(
        target(f"instar_pair_pass_{np.dtype(points.dtype).name}"),
        jax.ShapeDtypeStruct((*rows.shape, count), points.dtype),
        vmap_method="sequential",
    )
    told = [
        (
            FORMULAS.index(term.formula),
            ENDINGS.index(term.ending),
            LOOKUPS.index(term.lookup),
            int(term.strength is not None),
        )
        for term in terms
    ]
    arrays = [a for t in terms for a in (t.parameters, t.index, t.strength) if a is not None]
    sums = call(
        points,
        rows,
        slots,
        *arrays,
        terms=np.array(told, np.int64).reshape(-1),
        forces=int(forces),
        energy=int(energy),
        virial=VIRIALS[virial],
    )
    return tuple(sums[..., k] for k in range(count))
