"""Times JAX-MD on one Lennard-Jones fluid: NVE at rho* 0.8442, cutoff 2.5, float64.

    tools/peers jaxmd
    .venv-peers/jaxmd/bin/python bench/peers/jaxmd_nve.py --atoms 4000 --steps 500 --skin 0.5

As in its examples: simulate.nve and the neighbor list's update inside one compiled fori_loop.
An fcc lattice at T* 1.44 melts first and the list is allocated anew; what is timed is the compiled
loop of STEPS steps, best of --repeats. Its Lennard-Jones pair is smoothed from --onset to 2.5.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import json
import time
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax_md import energy, partition, simulate, space

DENSITY = 0.8442
TEMPERATURE = 1.44
CUTOFF = 2.5
TIMESTEP = 0.005
FORMATS = {
    "ordered": partition.OrderedSparse,
    "sparse": partition.Sparse,
    "dense": partition.Dense,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--atoms", type=int, default=4000, help="four times a cube: 4000, 32000")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--skin", type=float, default=0.5, help="dr_threshold")
    parser.add_argument("--format", choices=FORMATS, default="ordered")
    parser.add_argument("--onset", type=float, default=2.0, help="where the smoothing begins")
    parser.add_argument("--capacity", type=float, default=1.25, help="capacity_multiplier")
    parser.add_argument("--melt", type=int, default=300, help="untimed steps before")
    parser.add_argument("--repeats", type=int, default=3)
    return parser.parse_args()


def lattice(atoms: int) -> tuple[jax.Array, float]:
    side = round((atoms / 4) ** (1 / 3))
    if 4 * side**3 != atoms:
        raise SystemExit(f"--atoms {atoms} is not 4 n³: use 4000 or 32000.")
    length = (atoms / DENSITY) ** (1 / 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.array(list(product(range(side), repeat=3)))
    return jnp.asarray((corners[:, None] + basis).reshape(-1, 3) * length / side), length


def main() -> None:
    options = arguments()
    jax.config.update("jax_enable_x64", True)
    positions, length = lattice(options.atoms)
    displacement, shift = space.periodic(length)
    neighbors_of, energy_of = energy.lennard_jones_neighbor_list(
        displacement,
        length,
        r_onset=options.onset,
        r_cutoff=CUTOFF,
        dr_threshold=options.skin,
        format=FORMATS[options.format],
        capacity_multiplier=options.capacity,
    )
    initialize, apply = simulate.nve(energy_of, shift, TIMESTEP)

    def step(_: int, carried: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        state, neighbors, rebuilds = carried
        before = neighbors.reference_position[0, 0]
        neighbors = neighbors.update(state.position)
        rebuilds += neighbors.reference_position[0, 0] != before
        return apply(state, neighbor=neighbors), neighbors, rebuilds

    @jax.jit
    def run(state: Any, neighbors: Any, steps: int) -> tuple[Any, Any, Any]:
        return jax.lax.fori_loop(0, steps, step, (state, neighbors, jnp.zeros((), int)))

    def seconds() -> tuple[float, Any, Any, int]:
        begin = time.perf_counter()
        reached, updated, rebuilds = jax.block_until_ready(run(state, neighbors, options.steps))
        return time.perf_counter() - begin, reached, updated, int(rebuilds)

    neighbors = neighbors_of.allocate(positions)
    state = initialize(jax.random.key(0), positions, TEMPERATURE, neighbor=neighbors)
    for part in range(3):
        state, neighbors, _ = run(state, neighbors, options.melt // 3)
        overflow = bool(neighbors.did_buffer_overflow)
        if overflow and part:
            raise SystemExit("The neighbor list overflowed while melting: raise --capacity.")
        neighbors = neighbors_of.allocate(state.position)
    jax.block_until_ready(run(state, neighbors, 1))
    best, reached, updated, rebuilds = min(
        (seconds() for _ in range(options.repeats)), key=lambda x: x[0]
    )
    assert reached.position.dtype == reached.momentum.dtype == jnp.float64
    if updated.did_buffer_overflow:
        raise SystemExit("The neighbor list overflowed while timed: raise --capacity.")
    speed = options.atoms * options.steps / best
    assert jnp.isfinite(reached.position).all()
    result = {"atom_steps_per_second": speed, "loop_seconds": best, "rebuilds": rebuilds}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
