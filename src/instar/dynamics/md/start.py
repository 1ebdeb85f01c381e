"""`start`: a state of molecular dynamics from tables of particles and systems."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from instar.core.data import Index, Table
from instar.core.typing import ArrayLike, GroupId, ParticleId, SystemId
from instar.core.utils.on_device import on_device
from instar.dynamics.beginning import charges_of, listed, numbers_within, streams_of
from instar.dynamics.md.forces import computed
from instar.dynamics.md.state import Particles, State, Systems
from instar.geometry import AllParticles
from instar.potentials import Potential, PotentialError
from instar.potentials.constraints import Constraints, constraints_of
from instar.potentials.constraints.group import Group
from instar.potentials.potential import check_leaves
from instar.potentials.structures import Structures

__all__ = ["start"]


def start(  # noqa: PLR0913 (all that a state begins with)
    particles: Table[ParticleId, Any],
    systems: Table[SystemId, Any],
    potential: Potential,
    masses: ArrayLike,
    *,
    velocities: ArrayLike | None = None,
    skin: ArrayLike = 0.0,
    fixed: ArrayLike | None = None,
    molecules: ArrayLike | None = None,
    streams: ArrayLike | None = None,
    hold_centre: ArrayLike | None = None,
    forces: bool = True,
    **neighbor_options: Any,
) -> State:
    """A state of molecular dynamics from tables of particles and systems, with forces; on the host.

    `instar.md_state` makes one from ASE structures; this function is for tables of your own.

    Parameters
    ----------
    particles
        A table with the columns ``positions`` (particles, 3) in Å, ``system``, ``labels`` and, if
        there are charges, ``charges`` (particles,) in e, NaN where there are none. A row whose
        system is out of bounds is not a particle.
    systems
        A table with the column ``cell``, a `Cell` with one cell per system.
    potential
        An object of `instar.potentials`.
    masses
        In amu, one for all particles or one per particle.
    velocities
        (particles, 3) in Å per unit of time, Å·√(amu/eV). Left out, they are zero;
        `draw_velocities` draws them at a temperature.
    skin
        In Å: neighbors are listed up to this distance beyond the cutoff, one for all systems or one
        per system.
    fixed
        (particles,) bool: particles that never move.
    molecules
        (particles,) int: the molecule of each particle. A barostat moves molecules as wholes, and
        their positions are not cut by a periodic boundary. Left out, particles that constraints
        join are one molecule and are brought together.
    streams
        (systems,) int: the number of the random stream of each system; left out, its row number.
    hold_centre
        One bool for all systems or one per system: whether the centre of mass does not move. Left
        out, it is held where no particle is fixed and no external field acts.
    forces
        False leaves forces, energy and virial to a later call of `computed`.
    **neighbor_options
        Go to `NeighborList.of`.

    Returns
    -------
    State
        What `simulate` and `thermo` take.

    Raises
    ------
    PotentialError
        If the particles lack what the potential needs.
    ValueError
        If masses, velocities, molecules, streams or fixed particles do not fit together.

    Examples
    --------
    >>> from ase import Atoms
    >>> import jax
    >>> import instar
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> light = instar.md_state(Atoms("Ar"), trap)
    >>> with jax.enable_x64(True):
    ...     heavy = instar.md.start(light.particles, light.systems, light.potential, masses=400.0)
    >>> print(heavy.particles.data.masses)
    [400.]
    """
    check_leaves(potential)
    if problems := potential.check(Structures.of_tables(particles, systems)):
        raise PotentialError(str(problems[0]))
    data, cell = particles.data, systems.data.cell
    dtype, everyone = data.positions.dtype, AllParticles.of(particles, systems)
    system = np.asarray(everyone.system.indices)
    there = (system >= 0) & (system < everyone.count)
    stay = np.zeros(len(there), bool) if fixed is None else np.asarray(fixed, bool)
    constraints = _without_fixed(constraints_of(potential), stay)
    fixed_of, free_of = (
        np.bincount(system[there & some], minlength=everyone.count) for some in (stay, ~stay)
    )
    held = _held(potential, fixed_of, hold_centre)
    molecule = _molecules(molecules, constraints, system, there)
    columns = {
        "velocities": _velocities(velocities, data.positions, stay),
        "forces": np.zeros(data.positions.shape, dtype),
        "masses": _masses(masses, there).astype(dtype),
        "charges": charges_of(data),
        "system": everyone.system,
        "labels": data.labels,
        "molecule": molecule,
        "number": numbers_within(system, there),
        "fixed": stay,
        "suspect": np.zeros(len(there), bool),
    }
    table = Particles(
        positions=data.positions if molecules is not None else _whole(molecule, everyone),
        **on_device(columns),
    )
    state = State(
        particles=dataclasses.replace(particles, data=table),
        systems=dataclasses.replace(
            systems, data=_systems(cell, held, streams_of(streams, everyone.count), dtype)
        ),
        potential=potential,
        constraints=constraints,
        neighbors=listed(particles, systems, potential, skin, neighbor_options),
        step=on_device(np.zeros((), np.uint32)),
    )
    state = _on_constraints(state)
    state = state.with_systems(degrees=on_device(_degrees(state, free_of)))
    return computed(state) if forces else state


def _systems(cell: Any, held: np.ndarray, streams: np.ndarray, dtype: Any) -> Systems:
    count = len(held)
    columns = dict.fromkeys(("degrees", "heat", "energy", "stored"), np.zeros(count, dtype)) | {
        "stream": streams,
        "held": held,
        "virial": np.zeros((count, 3, 3), dtype),
        "frozen": np.zeros(count, bool),
        "frozen_at": np.zeros(count, np.uint32),
    }
    return Systems(cell=cell, **on_device(columns))


def _degrees(state: State, free: np.ndarray) -> np.ndarray:
    """3 for each particle that can move, less constraints and, where it is held, the centre."""
    count = 3 * free - 3 * np.asarray(state.systems.data.held)
    if state.constraints.all_groups:
        count = count - np.asarray(state.constraints.removed_degrees(state.everyone))
    return np.maximum(count, 0).astype(state.dtype)


def _velocities(given: ArrayLike | None, positions: Array, stay: np.ndarray) -> Any:
    if given is None:
        return np.zeros(positions.shape, positions.dtype)
    known = np.asarray(given)
    if known.shape != positions.shape or not np.isfinite(known).all():
        raise ValueError(
            f"Velocities are finite numbers, {positions.shape}, not an array {known.shape} with "
            f"{int((~np.isfinite(known)).sum())} that are not finite."
        )
    return np.where(stay[:, None], 0, known).astype(positions.dtype)


def _masses(given: ArrayLike, there: np.ndarray) -> np.ndarray:
    known = np.broadcast_to(np.asarray(given, float), there.shape)
    bad = there & ~(np.isfinite(known) & (known > 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"Particle {first} has the mass {known[first]} amu; it must be above zero."
        )
    return np.where(there, known, 1)


def _held(potential: Potential, fixed: np.ndarray, given: ArrayLike | None) -> np.ndarray:
    """Whether centres of mass are held, of systems with that many fixed particles."""
    pinned = fixed > 0
    if given is None:
        return np.zeros_like(pinned) if potential.moves_centre else ~pinned
    held = np.broadcast_to(np.asarray(given, bool), pinned.shape)
    if (held & pinned).any():
        raise ValueError(
            f"The centre of mass of system {int(np.argmax(held & pinned))} can't be held: it has "
            "fixed atoms."
        )
    return held


def _without_fixed(constraints: Constraints, stay: np.ndarray) -> Constraints:
    """Without distances between fixed particles; one end alone can't be fixed."""

    def freed(group: Group) -> Group | None:
        atoms = np.asarray(group.atoms)
        both = (atoms >= 0) & stay[np.maximum(atoms, 0)]
        torn = both.any(axis=-1) & ~both.all(axis=-1)
        if torn.any():
            first, second = atoms[torn][0]
            raise ValueError(
                f"The particles {first} and {second} are held at a distance, but one of them is "
                "fixed.\nFix both, or none."
            )
        kept = ~both.all(axis=(1, 2)) if group.whole else np.ones(len(atoms), bool)
        atoms = np.where(both.all(axis=-1)[..., None], -1, atoms)[kept]
        if not (atoms >= 0).any():
            return None
        return Group(atoms, np.asarray(group.length)[kept], group.whole)

    if not stay.any():
        return constraints
    groups, waters = (
        tuple(g for group in part if (g := freed(group)) is not None)
        for part in (constraints.groups, constraints.waters)
    )
    return Constraints(groups, waters)


def _molecules(
    given: ArrayLike | None, constraints: Constraints, system: np.ndarray, there: np.ndarray
) -> Index[GroupId]:
    """Particles by molecule; those that constraints join are in one."""
    count = len(system)
    label = np.arange(count) if given is None else _known_molecules(given, count)
    for group in constraints.all_groups:
        atoms = np.asarray(group.atoms).reshape(len(group.atoms), -1)
        here = atoms >= 0
        root = np.where(here, label[np.maximum(atoms, 0)], count).min(axis=1, keepdims=True)
        root = np.broadcast_to(root, atoms.shape)
        torn = here & (label[np.maximum(atoms, 0)] != root)
        if given is not None and torn.any():
            raise ValueError(
                f"Particle {atoms[torn][0]} is held at a distance from a particle of another "
                "molecule.\nThey must be in one."
            )
        label[atoms[here]] = root[here]
    _check_one_system(label, system, there)
    different, index = np.unique(label, return_inverse=True)
    return Index.integer(index.astype(np.int32), n=len(different), label=GroupId)


def _whole(molecule: Index[GroupId], everyone: AllParticles) -> Array:
    """Positions with each molecule at the image that is nearest to its first particle."""
    labels = np.asarray(molecule.indices)
    _, first = np.unique(labels, return_index=True)
    home = first[labels]
    if (home == np.arange(len(labels))).all():
        return everyone.positions
    apart = everyone.positions - everyone.positions[home]
    cell = everyone.systems.set_data(everyone.cell)[everyone.system]
    nearest = cell.minimum_image(apart, search=(1, 1, 1))
    moved = jnp.abs(nearest - apart) > 1e-6
    return jnp.where(moved, everyone.positions[home] + nearest, everyone.positions)


def _known_molecules(given: ArrayLike, count: int) -> np.ndarray:
    known = np.asarray(given)
    if known.shape != (count,) or known.dtype.kind not in "iu":
        raise ValueError(f"Molecules are {count} whole numbers, one per particle, not {given!r}.")
    return known.astype(np.int64)


def _check_one_system(label: np.ndarray, system: np.ndarray, there: np.ndarray) -> None:
    home = np.full(label.max(initial=-1) + 1, -1)
    home[label[there]] = system[there]
    torn = there & (home[label] != system)
    if torn.any():
        raise ValueError(f"The molecule of particle {int(np.argmax(torn))} is in two systems.")


_ROUNDED = 0.01
"""A relative error of a constrained distance that comes from a file with few digits."""


def _on_constraints(state: State) -> State:
    """The state with distances as they are to be; more than rounding is refused."""
    if not state.constraints.all_groups:
        return state
    everyone = state.everyone
    violation = np.asarray(state.constraints.violation(everyone.positions, everyone))
    if not (violation < _ROUNDED).all():
        worst = int(np.argmax(violation))
        raise ValueError(
            f"System {worst} does not meet its constraints: a distance is off by a factor of 1 ± "
            f"{violation[worst]:.2g}.\nStart from a structure that does."
        )
    if (violation < 1e-6).all():
        return state
    positions = everyone.positions
    for _ in range(2):  # a projection takes the bonds it starts from to be right
        masses = state.particles.data.masses
        positions = _projected(state.constraints, positions, masses, everyone)
    return state.with_particles(positions=positions)


@jax.jit
def _projected(
    constraints: Constraints, positions: Array, masses: Array, everyone: AllParticles
) -> Array:
    found = constraints.project_positions(positions, positions, masses, everyone, strict=False)
    return found.positions
