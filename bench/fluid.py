"""Lennard-Jones fluids for the benches: systems at ρ* = 0.8442, and velocity Verlet on them."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh
from record import figure, timed

from instar.core.data import Index, Table
from instar.core.lens import lens
from instar.core.propagator import advance, propagate_and_fix
from instar.core.result import as_result_function
from instar.core.typing import ParticleId, SystemId
from instar.core.utils.jax import dataclass
from instar.geometry import Cell
from instar.neighbors import NeighborList
from instar.potentials import LennardJones, Pair, evaluate

DENSITY, CUTOFF, TEMPERATURE, TIME_STEP = 0.8442, 2.5, 1.44, 0.005
POTENTIAL = Pair(LennardJones(np.float64(1), np.float64(1)), np.float64(CUTOFF))


@dataclass
class Particles:
    positions: Array
    system: Index[SystemId]


@dataclass
class Systems:
    cell: Cell


@dataclass
class Fluid:
    """A state in reduced units, masses one."""

    particles: Table[ParticleId, Particles]
    systems: Table[SystemId, Systems]
    neighbors: NeighborList
    velocities: Array
    forces: Array
    rebuilds: Array


NEIGHBORS = lens(lambda s: s.neighbors, cls=Fluid)


def both_cores() -> Mesh:
    """Rows spread over all devices; `bench/forces.py` makes two of the processor."""
    return Mesh(np.array(jax.devices()), ("rows",))


def lattice(atoms: int) -> tuple[np.ndarray, float]:
    """Atoms on an fcc lattice, or on some of its sites, slightly displaced; edge of the box."""
    cells = next(n for n in itertools.count(1) if 4 * n**3 >= atoms)
    edge = (atoms / DENSITY) ** (1 / 3)
    corners = np.array(list(itertools.product(range(cells), repeat=3)), float)
    basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    sites = (corners[:, None] + basis).reshape(-1, 3)
    rng = np.random.default_rng(atoms)
    chosen = np.sort(rng.permutation(len(sites))[:atoms])
    return sites[chosen] * edge / cells + rng.normal(0, 0.01, (atoms, 3)), edge


def fluid(
    sizes: list[int], skin: float, mesh: Mesh | None = None, subdivision: int | None = None
) -> Fluid:
    """One system of each size, at rest, with an up-to-date list."""
    state = at_rest(sizes, skin)
    neighbors = NeighborList.of(
        state.particles, state.systems, CUTOFF, skin, mesh=mesh, subdivision=subdivision
    )
    return up_to_date(NEIGHBORS.set(state, neighbors))


def at_rest(sizes: list[int], skin: float, rows: int | None = None) -> Fluid:
    """One system of each size, with an empty list; with room for ``rows`` particles."""
    parts = [lattice(atoms) for atoms in sizes]
    absent = (rows or sum(sizes)) - sum(sizes)
    positions = np.concatenate([*(x for x, _ in parts), np.zeros((absent, 3))])
    numbers = [*np.repeat(np.arange(len(sizes)), sizes), *[len(sizes)] * absent]
    system = np.array(numbers, np.int32)
    edges = np.array([[edge] * 3 for _, edge in parts])
    particles = Table.arange(
        Particles(jnp.asarray(positions), Index.integer(system, n=len(sizes), label=SystemId)),
        label=ParticleId,
    )
    systems = Table.arange(Systems(Cell.box(edges)), label=SystemId)
    neighbors = NeighborList.of(particles, systems, CUTOFF, skin)
    zeros = jnp.zeros_like(particles.data.positions)
    return Fluid(particles, systems, neighbors, zeros, zeros, jnp.zeros((), jnp.int32))


@jax.jit
@as_result_function
def _updated(state: Fluid) -> NeighborList:
    return state.neighbors.updated(state.particles, state.systems, where=NEIGHBORS)


def up_to_date(state: Fluid) -> Fluid:
    """The state with its list made, buffers grown where they must."""
    neighbors, state = propagate_and_fix(_updated, state)
    return NEIGHBORS.set(state, neighbors)


@dataclass
class VelocityVerlet:
    """v += f dt/2; r += v dt; neighbors; f(r); v += f dt/2."""

    potential: Any

    def __call__(self, key: Array, state: Fluid, /) -> Fluid:
        half = TIME_STEP / 2
        velocities = state.velocities + half * state.forces
        moved = state.particles.data.positions + TIME_STEP * velocities
        particles = Table.arange(Particles(moved, state.particles.data.system), label=ParticleId)
        neighbors = state.neighbors.updated(particles, state.systems, where=NEIGHBORS)
        forces = evaluate(self.potential, particles, state.systems, neighbors, energy=False).forces
        assert forces is not None
        made = jnp.any(neighbors.positions != state.neighbors.positions)
        return Fluid(
            particles,
            state.systems,
            neighbors,
            velocities + half * forces,
            forces,
            state.rebuilds + made,
        )


@dataclass
class Descent:
    """r += a f, no component by more than a twentieth of σ."""

    potential: Any

    def __call__(self, key: Array, state: Fluid, /) -> Fluid:
        particles, systems = state.particles, state.systems
        neighbors = state.neighbors.updated(particles, systems, where=NEIGHBORS)
        forces = evaluate(self.potential, particles, systems, neighbors, energy=False).forces
        assert forces is not None
        moved = particles.data.positions + jnp.clip(2e-3 * forces, -0.05, 0.05)
        particles = Table.arange(Particles(moved, particles.data.system), label=ParticleId)
        return Fluid(
            particles, systems, neighbors, state.velocities, jnp.zeros_like(forces), state.rebuilds
        )


def melted(state: Fluid, steps: int = 300) -> Fluid:
    """Overlaps pushed apart, then some steps from LAMMPS's starting temperature."""
    state = up_to_date(advance(Descent(POTENTIAL), jax.random.key(0), state, 100))
    drawn = np.random.default_rng(1).normal(0, TEMPERATURE**0.5, state.velocities.shape)
    velocities = jnp.asarray(drawn - drawn.mean(0), state.velocities.dtype)
    state = lens(lambda s: s.velocities, cls=Fluid).set(state, velocities)
    return run(state, steps)


def run(state: Fluid, steps: int) -> Fluid:
    """That many steps of velocity Verlet; buffers grow by themselves."""
    return advance(VelocityVerlet(POTENTIAL), jax.random.key(0), state, steps)


def peer(name: str, script: str, *arguments: str) -> dict[str, float]:
    """What a script in ``bench/peers`` prints, run in that peer's own environment."""
    folder = Path(__file__).parent
    subprocess.run([folder.parent / "tools" / "peers", name], check=True, cwd=folder.parent)
    python = folder.parent / ".venv-peers" / name / "bin" / "python"
    run = [python, folder / "peers" / script, *arguments]
    return json.loads(subprocess.run(run, check=True, capture_output=True).stdout)


def show(what: str, ratio: float, goal: str, **more: Any) -> None:
    """One row of a bench."""
    print(f"{what:62} {ratio:8.3f}   goal {goal}", flush=True)
    figure(what, ratio, goal, **more)


def best_of(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of a few times (s), compilation left out."""
    jax.block_until_ready(work())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - start)
    timed(times)
    return min(times)


def atom_steps_per_second(state: Fluid, steps: int, repeats: int = 3) -> float:
    """Speed in a steady state: the run goes on from where it was."""
    times = []
    state = run(state, steps)
    for _ in range(repeats):
        start = time.perf_counter()
        state = jax.block_until_ready(run(state, steps))
        times.append(time.perf_counter() - start)
    timed(times)
    return len(state.particles) * steps / min(times)
