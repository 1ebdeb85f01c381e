"""`start`: a state of relaxation from tables of particles and systems, and `relaxed`: its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from instar.core.data import Table
from instar.core.propagator import Repair, advance
from instar.core.typing import ArrayLike, ParticleId, SystemId
from instar.core.utils.precision import precision_of
from instar.dynamics.beginning import charges_of, listed, numbers_within, streams_of
from instar.dynamics.relax.cell import mask_of
from instar.dynamics.relax.checks import check_all, check_mask
from instar.dynamics.relax.optimizer import Relaxation
from instar.dynamics.relax.outcomes import EMPTY, GOING
from instar.dynamics.relax.state import Particles, State, Systems
from instar.geometry import AllParticles
from instar.potentials import Potential

__all__ = ["relaxed", "start"]


def start(  # noqa: PLR0913 (all that a state begins with)
    particles: Table[ParticleId, Any],
    systems: Table[SystemId, Any],
    potential: Potential,
    *,
    cell: str = "fixed",
    pressure: ArrayLike = 0.0,
    mask: Any = None,
    force_tolerance: ArrayLike = 0.01,
    stress_tolerance: ArrayLike = 3.1e-4,
    steps: ArrayLike = 2000,
    fixed: ArrayLike | None = None,
    skin: ArrayLike = 0.0,
    stresses: bool = False,
    streams: ArrayLike | None = None,
    **neighbor_options: Any,
) -> State:
    """A state of relaxation from tables of particles and systems; on the host.

    Nothing is computed: the first step of a system is its first evaluation.

    Parameters
    ----------
    particles, systems, potential
        As for `instar.md.start`. A system without particles has nothing to do.
    cell
        What moves beside the particles: "fixed", "isotropic", "full" or "constant_volume".
    pressure
        In eV/Å³, one for all systems or one per system: E + pV is minimized.
    mask
        Which components of the strain may change: six bools (xx, yy, zz, yz, xz, xy) or a matrix.
    force_tolerance
        In eV/Å: a system has converged when no force on an atom is longer, …
    stress_tolerance
        In eV/Å³: … and no component of σ + p that moves the cell is larger.
    steps
        How many steps a system may make.
    fixed
        (particles,) bool: particles that never move.
    skin
        In Å: neighbors are listed up to this distance beyond the cutoff.
    stresses
        Whether the virial is kept up to date where the cell is fixed.
    streams
        (systems,) int: what names a system, its row if left out.
    **neighbor_options
        Go to `NeighborList.of`.

    Returns
    -------
    State
        What `relaxed` takes.

    Raises
    ------
    PotentialError
        If the particles lack what the potential needs, or relaxation can't do with it.
    ValueError
        If tolerances, pressures or cells are not as they must be.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> from instar.dynamics import relax
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> known = instar.md_state(Atoms("Ar", [[1, 0, 0]]), trap)
    >>> relax.start(known.particles, known.systems, known.potential)
    State of relaxation
      systems: 1, of which 1 go on
      particles: 1, float64
      cell: fixed
    """
    data, box = particles.data, systems.data.cell
    with precision_of((data.positions, box)):
        everyone = AllParticles.of(particles, systems)
        dtype, there = data.positions.dtype, np.asarray(everyone.there)
        stay = np.zeros(len(there), bool) if fixed is None else np.asarray(fixed, bool)
        check_all(
            particles,
            systems,
            potential,
            stay,
            cell=cell,
            pressure=pressure,
            force_tolerance=force_tolerance,
            stress_tolerance=stress_tolerance,
            steps=steps,
        )
        check_mask(mask, cell)
        rows = Particles(
            positions=data.positions,
            forces=jnp.zeros_like(data.positions),
            charges=jnp.asarray(charges_of(data)),
            system=everyone.system,
            labels=data.labels,
            number=jnp.asarray(numbers_within(np.asarray(everyone.system.indices), there)),
            fixed=jnp.asarray(stay),
            suspect=jnp.zeros(len(there), bool),
        )
        count = everyone.count
        atoms = np.asarray(everyone.system.counts.data)

        def column(given: Any) -> Any:
            return jnp.asarray(np.broadcast_to(np.asarray(given, float), count), dtype)

        known = Systems(
            cell=box if cell == "fixed" else dataclasses.replace(box, orthorhombic=False),
            reference=box.vectors,
            atoms=column(np.maximum(atoms, 1)),
            pressure=column(pressure),
            mask=jnp.asarray(mask_of(mask, count)),
            force_tolerance=column(force_tolerance),
            stress_tolerance=column(stress_tolerance),
            most=jnp.asarray(np.broadcast_to(np.asarray(steps, np.uint32), count)),
            stream=jnp.asarray(streams_of(streams, count)),
            energy=column(0),
            virial=jnp.zeros((count, 3, 3), dtype),
            steps=jnp.zeros(count, jnp.uint32),
            evaluations=jnp.zeros(count, jnp.uint32),
            outcome=jnp.asarray(np.where(atoms > 0, GOING, EMPTY), jnp.int32),
            frozen=jnp.zeros(count, bool),
            frozen_at=jnp.zeros(count, jnp.uint32),
        )
        return State(
            particles=dataclasses.replace(particles, data=rows),
            systems=dataclasses.replace(systems, data=known),
            potential=potential,
            neighbors=listed(particles, systems, potential, skin, neighbor_options),
            step=jnp.zeros((), jnp.uint32),
            rest=jnp.asarray(np.inf, dtype),
            cell=cell,
            stresses=stresses,
        )


def relaxed(
    method: Relaxation,
    state: State,
    steps: int | None = None,
    *,
    on_repair: Callable[[Repair], None] | None = None,
) -> State:
    """The state after that many more steps of a method; left out, after all that are needed.

    Systems that have ended stay as they are. Buffers that are too small grow, which does not change
    the result.

    Parameters
    ----------
    method
        Such as `auto` makes.
    state
        As `start` makes it, or this function.
    steps
        How many more; the first step of a system is its first evaluation.
    on_repair
        Called with a `Repair` when something has grown.

    Returns
    -------
    State
        See `outcomes` for what has become of each system.

    Examples
    --------
    >>> from ase import Atoms
    >>> import instar
    >>> from instar.dynamics import relax
    >>> trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    >>> known = instar.md_state(Atoms("Ar", [[1, 0, 0]]), trap)
    >>> state = relax.start(known.particles, known.systems, known.potential)
    >>> relax.relaxed(relax.auto(), state).systems.data.outcome.tolist()
    [1]
    """
    with precision_of(state):
        if not _goes_on(method, state):
            state = method.begin(state)
        if steps is None:
            systems = state.systems.data
            left = np.asarray(systems.most, np.int64) - np.asarray(systems.steps, np.int64)
            steps = 1 + int(np.where(state.going, left, -1).max(initial=-1))
        first = int(state.step)
        key = jax.random.key(0)  # nothing is drawn
        return advance(method, key, state, steps, start=first, on_repair=on_repair)


def _goes_on(method: Relaxation, state: State) -> bool:
    """Whether what is kept in the state was kept by such a method; another one begins afresh."""
    own = jax.eval_shape(method.optimizer.fresh, state)
    return jax.tree.structure(own) == jax.tree.structure(state.optimizer)
