"""`md_state`: structures as a state of molecular dynamics."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from ase import Atoms

from instar.app.ase.fixed import fixed_in, wrong_constraint
from instar.app.ase.structures import (
    StructureError,
    coincidence,
    distinct,
    naming_coincidences,
    structures_of,
)
from instar.app.config.potentials import PotentialLike, Recipe, Trust, recipe_of, require
from instar.app.evaluation.point import tabled
from instar.core.utils.on_device import on_device
from instar.core.utils.random import folded, key_of
from instar.dynamics.knobs import Numbers
from instar.dynamics.md import State, draw_velocities, start
from instar.potentials import Potential

__all__ = ["fixed_atoms", "md_blocks", "md_state", "state_of"]


def md_state(
    structures: Atoms | Sequence[Atoms],
    potential: PotentialLike,
    *,
    temperature: Numbers | None = None,
    seed: int = 0,
    skin: Numbers = 1.0,
    precision: str = "float64",
    trusted: bool = False,
    **options: Any,
) -> State:
    """Structures as one state of molecular dynamics, with velocities and forces.

    Velocities are drawn from the Maxwell–Boltzmann distribution and scaled to exactly the
    temperature: 2K = N_f k_B T. Masses are those of the structures; atoms under an ASE constraint
    `FixAtoms` are fixed. Double precision needs no switch of JAX: the state has it, and `instar.md`
    keeps it.

    Parameters
    ----------
    structures
        One `ase.Atoms` or several; each becomes a system. Positions are in Å, momenta in ASE's
        units.
    potential
        An object of `instar.potentials`, or the mapping (or list of mappings) that stands in
        configuration files.
    temperature
        In K, one for all structures or one each. None keeps the velocities of the structures.
    seed
        Of the velocities that are drawn.
    skin
        In Å: neighbors are listed up to so far beyond the cutoff.
    precision
        "float64" or "float32".
    trusted
        Whether a mapping may start programs and load code, as for `instar.single_point`.
    **options
        Go to `instar.md.start`: ``molecules``, ``streams``, ``hold_centre``, ``forces``, …

    Returns
    -------
    State
        What `instar.md.simulate` takes.

    Raises
    ------
    StructureError
        If the structures lack what the potential needs, have constraints other than `FixAtoms`, or
        have two atoms at the same place, where forces are not finite.
    ConfigurationError
        If a mapping is not a potential.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> state = instar.md_state(Atoms("Ar"), trap, temperature=40.0)
    >>> print(state.particles.data.positions.dtype, state.systems.data.degrees)
    float64 [3.]
    """
    given = [structures] if isinstance(structures, Atoms) else list(structures)
    recipe = recipe_of(potential, trust=Trust.of(trusted))
    with jax.enable_x64(precision == "float64"), naming_coincidences(given):
        state = state_of(given, recipe, temperature, seed, precision, {"skin": skin, **options})
    _refuse_coincidences(given, [state])
    return state


def md_blocks(
    structures: Sequence[Atoms],
    potential: PotentialLike,
    *,
    atoms: int = 4000,
    temperature: Numbers | None = None,
    seed: int = 0,
    skin: Numbers = 1.0,
    precision: str = "float64",
    trusted: bool = False,
    **options: Any,
) -> list[State]:
    """Many structures as states of a few systems each, for `instar.md.simulate_blocks`.

    Structures stay in their order, and each draws the random numbers of its place. Blocks have the
    same number of rows, so that they share a compiled program; not where a potential excludes
    pairs, or bonds differ in number.

    Parameters
    ----------
    atoms
        About how many atoms are in a block.
    structures, potential, temperature, seed, skin, precision, trusted, **options
        As for `md_state`.

    Returns
    -------
    list of State
        The blocks.

    Raises
    ------
    ValueError
        If the potential is an object whose ``is_general`` is False.
    StructureError, ConfigurationError
        As for `md_state`.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> blocks = instar.md_blocks([Atoms("Ar")] * 6, trap, atoms=2, temperature=40.0)
    >>> [len(block.systems) for block in blocks]
    [2, 2, 2]
    """
    given, recipe = list(structures), recipe_of(potential, trust=Trust.of(trusted))
    if not recipe.may_be_cut:
        raise ValueError(
            "The potential is an object that may hold for these structures only (its is_general is "
            "False), so it can't be used for blocks of them.\nPass it as a configuration, or as an "
            "object whose is_general is True."
        )
    require(recipe.tried(structures_of(given, recipe.charges))[1])
    blocks = _cut([len(one) for one in given], atoms)
    rows = max((sum(len(given[n]) for n in block) for block in blocks), default=0)
    hot = None if temperature is None else np.broadcast_to(temperature, len(given))
    with jax.enable_x64(precision == "float64"), naming_coincidences(given):
        states = [
            state_of(
                [given[n] for n in block],
                recipe.among(block),
                None if hot is None else hot[list(block)],
                seed,
                precision,
                {"skin": skin, "streams": np.array(block), **options},
                rows,
            )
            for block in blocks
        ]
    _refuse_coincidences(given, states)
    return states


def _refuse_coincidences(given: Sequence[Atoms], states: Sequence[State]) -> None:
    """Atoms may be at the same place where all forces are finite, as for `single_point`."""
    if all(np.isfinite(np.asarray(state.particles.data.forces)).all() for state in states):
        return
    if (named := coincidence(given)) is not None:
        raise named


def _cut(sizes: Sequence[int], atoms: int) -> list[range]:
    """Ranges of structures, as equal in number as can be, of about as many atoms."""
    count = len(sizes)
    wanted = max(1, round(sum(sizes) / atoms))
    even = [n for n in range(wanted, min(2 * wanted, count) + 1) if count % n == 0]
    blocks = even[0] if even else min(wanted, count)
    bounds = np.linspace(0, count, blocks + 1).round().astype(int).tolist() if count else [0]
    return [range(a, b) for a, b in itertools.pairwise(bounds)]


def state_of(
    given: list[Atoms],
    recipe: Recipe,
    temperature: Any,
    seed: int,
    precision: str,
    options: dict[str, Any],
    rows: int | None = None,
    potential: Potential | None = None,
) -> State:
    """As `md_state`, from a potential that is validated, or made, already; in that many rows.

    Call under ``jax.enable_x64`` for double precision.

    A temperature may be None for some of the structures: they keep their velocities.
    """
    point = tabled(given, recipe, precision, rows=rows, potential=potential)
    free = len(point.particles) - sum(map(len, given))
    one_each, which = distinct(given)
    firsts = np.unique(which, return_index=True)[1].tolist()
    fixed = _stacked(map(fixed_atoms, firsts, one_each), which, np.zeros(free, bool))
    masses = _stacked((atoms.get_masses() for atoms in one_each), which, np.ones(free))
    momenta = _stacked((atoms.get_momenta() for atoms in one_each), which, np.zeros((free, 3)))
    velocities = momenta / np.where(masses > 0, masses, 1)[:, None]
    state = start(
        point.particles,
        point.systems,
        point.potential,
        masses,
        velocities=velocities,
        fixed=fixed,
        **options,
    )
    if temperature is None:
        return state
    key = folded(key_of(seed), 2**32 - 1)
    own = np.array([t is None for t in np.ravel(np.asarray(temperature, object))])
    if not own.any():
        return draw_velocities(key, state, temperature)
    drawn = draw_velocities(key, state, [0.0 if t is None else t for t in temperature])
    data = state.particles.data
    system = np.minimum(np.asarray(data.system.indices), len(own) - 1)
    before, after = (np.asarray(one) for one in (data.velocities, drawn.particles.data.velocities))
    return drawn.with_particles(velocities=on_device(np.where(own[system][:, None], before, after)))


def _stacked(columns: Iterable[np.ndarray], which: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Rows of all structures, of each the column that it has, and then those that are free."""
    parts = list(columns)
    return np.concatenate([*(parts[number] for number in which.tolist()), free])


def fixed_atoms(number: int, atoms: Atoms) -> np.ndarray:
    """Which atoms never move; other constraints of ASE are refused."""
    if (wrong := wrong_constraint(atoms)) is not None:
        raise StructureError(f"Structure {number} {wrong}")
    return fixed_in(atoms)
