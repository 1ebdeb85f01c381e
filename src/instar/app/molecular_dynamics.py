"""`md_state`: structures as a state of molecular dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from ase import Atoms
from ase.constraints import FixAtoms

from instar.app.point import tabled
from instar.app.potentials import build
from instar.app.structures import StructureError
from instar.dynamics.md import State, draw_velocities, start

__all__ = ["md_state"]


def md_state(
    structures: Atoms | Sequence[Atoms],
    potential: Any,
    *,
    temperature: Any = None,
    seed: int = 0,
    skin: Any = 1.0,
    precision: str = "float64",
    **options: Any,
) -> State:
    """ASE structures, one system each, ready for `instar.dynamics.md`; call under `enable_x64`.

    ``potential`` is as for `instar.single_point`. Velocities are drawn at ``temperature`` (K, one
    for all structures or one each) from the seed; left out, they are those of the structures.
    Masses are those of the structures, atoms under an ASE constraint `FixAtoms` are fixed (other
    constraints of ASE are refused). ``options`` go to `instar.dynamics.md.start`.
    """
    given = [structures] if isinstance(structures, Atoms) else list(structures)
    if precision == "float64" and not jax.config.read("jax_enable_x64"):
        raise ValueError("Double precision must be on: with jax.enable_x64(True): ...")
    point = tabled(given, build(potential), precision)
    fixed = np.concatenate([_fixed(number, atoms) for number, atoms in enumerate(given)])
    masses = np.concatenate([atoms.get_masses() for atoms in given])
    momenta = np.concatenate([atoms.get_momenta() for atoms in given])
    velocities = momenta / np.where(masses > 0, masses, 1)[:, None]
    state = start(
        point.particles,
        point.systems,
        point.potential,
        masses,
        velocities=velocities,
        fixed=fixed,
        skin=skin,
        **options,
    )
    if temperature is None:
        return state
    return draw_velocities(jax.random.fold_in(jax.random.key(seed), 2**32 - 1), state, temperature)


def _fixed(number: int, atoms: Atoms) -> np.ndarray:
    fixed = np.zeros(len(atoms), bool)
    for constraint in atoms.constraints:
        if not isinstance(constraint, FixAtoms):
            raise StructureError(
                f"Structure {number} has a constraint {type(constraint).__name__}; FixAtoms is "
                "the one known.\nDistances are held by distance_constraint in the potential."
            )
        fixed[constraint.index] = True
    return fixed
