"""A many-body potential of one's own: copper in the second-moment approximation of tight binding.

    .venv/bin/python examples/methods/custom_potential.py

Atoms of a metal repel each other in pairs, and are bound by a band whose width grows with the
square root of the number of neighbors; so bonds are stronger where there are fewer of them:

    E = Σᵢ { Σⱼ A e^(−p(rᵢⱼ/r₀ − 1)) − [Σⱼ ξ² e^(−2q(rᵢⱼ/r₀ − 1))]^½ }

F. Cleri and V. Rosato, Phys. Rev. B 48, 22 (1993). The energy is all that is written. Forces and
stresses follow from it; they are compared with differences of energies, the crystal with the
published cohesive energy and bulk modulus. Then a crystal and a cluster move at constant energy, as
one batch.
"""

import jax
import jax.numpy as jnp
import numpy as np
from ase.build import bulk
from ase.cluster import Icosahedron

import instar
from instar import md, md_state
from instar.observables import Series
from instar.potentials import FunctionPotential
from instar.units import GPa, fs

LATTICE = 3.615  # Å
COHESIVE_ENERGY, BULK_MODULUS = 3.544, 142.0  # eV, GPa: what the coefficients were fitted to


@instar.dataclass
class Metal:
    """Coefficients of the potential; as leaves of a pytree they can be fitted by gradients."""

    A: float  # eV
    xi: float  # eV
    p: float
    q: float
    r0: float  # Å
    inner: float  # Å, where the interaction begins to be switched off
    cutoff: float  # Å


# Fitted for five shells of neighbors. The switch lies between the fifth and the sixth, so that it
# changes nothing in the crystal, and forces have no jump elsewhere.
COPPER = Metal(0.0855, 1.224, 10.960, 2.278, LATTICE / 2**0.5, 1.60 * LATTICE, 1.72 * LATTICE)


def distances(particles, systems, far):
    """rᵢⱼ (Å) of all particles; ``far`` for those that are further apart, or no pair at all.

    Each particle is seen once, so a periodic cell must be wider than twice that distance.
    """
    positions, system = particles.data.positions, particles.data.system
    cells = systems[system].cell
    apart = jax.vmap(lambda x, cell: cell.minimum_image(positions - x))(positions, cells)
    squared = jnp.sum(apart**2, axis=-1)
    pairs = system[:, None] == system[None]
    pairs &= ~np.eye(len(squared), dtype=bool) & (squared < far**2)
    # Before the root, not after it: the slope of √0 would make all forces NaN.
    return jnp.sqrt(jnp.where(pairs, squared, far**2))


def second_moment(metal, particles, systems):
    """E of each system (eV)."""
    r = distances(particles, systems, metal.cutoff)
    x = jnp.clip((r - metal.inner) / (metal.cutoff - metal.inner), 0, 1)
    switch = 1 - x**3 * (10 - x * (15 - 6 * x))
    stretch = r / metal.r0 - 1
    repulsion = jnp.sum(switch * metal.A * jnp.exp(-metal.p * stretch), axis=1)
    width = jnp.sum(switch * metal.xi**2 * jnp.exp(-2 * metal.q * stretch), axis=1)
    bond = jnp.sqrt(width + 1e-30)  # an atom that has left the others feels no force
    return particles.data.system.sum_over(repulsion - bond).data


def crystal(lattice=LATTICE):
    """256 atoms: four cells, the fewest that are wider than twice the cutoff."""
    return bulk("Cu", "fcc", lattice, cubic=True).repeat(4)


def cluster(displacement=0.0):
    """55 atoms: an icosahedron, a little distorted."""
    atoms = Icosahedron("Cu", 3, LATTICE)
    atoms.rattle(0.1, seed=0)
    atoms.positions += displacement
    return atoms


def at_rest(potential, step=1e-3):
    """The crystal's energy and bulk modulus; the error of forces, in parts of their length.

    B = −V dP/dV, with P from the stress, and P = −dE/dV from energies. Forces are compared with
    −dE/dx along random directions.
    """
    sizes = LATTICE * np.array([0.998, 1.0, 1.002])
    along = np.random.default_rng(0).normal(size=(3, 55, 3))
    along /= np.linalg.norm(along, axis=(1, 2), keepdims=True)
    displacements = step * np.concatenate([np.zeros((1, 55, 3)), along, -along])
    structures = [*map(crystal, sizes), *map(cluster, displacements)]
    found = instar.single_point(structures, potential)

    volumes, energies = (4 * sizes) ** 3, found.energies[:3]
    pressures = -np.trace(found.stresses[:3], axis1=1, axis2=2) / 3
    halfway = -np.diff(energies) / np.diff(volumes)
    forward, backward = np.split(found.energies[4:], 2)
    expected = -(forward - backward) / (2 * step)
    forces = np.sum(found.forces[3] * along, axis=(1, 2))
    return {
        "cohesive_energy": -energies[1] / 256,
        "bulk_modulus": bulk_modulus(pressures[[0, 2]], volumes[[0, 2]]),
        "bulk_modulus_by_energies": bulk_modulus(halfway, (volumes[1:] + volumes[:-1]) / 2),
        "force_error": np.abs(forces - expected).max() / np.linalg.norm(found.forces[3]),
    }


def bulk_modulus(pressures, volumes):
    """−V dP/dV (GPa) from two pressures (eV/Å³) and their volumes."""
    return -np.diff(pressures)[0] / np.diff(np.log(volumes))[0] / GPa


def total_energy(state):
    """K + U of each system (eV)."""
    return md.thermo(state).total


def constant_energy(potential, steps, time_step=2.0, every=4):
    """Root mean square error (meV/atom) and drift (meV/atom/ps) of K + U, crystal and cluster."""
    structures = [crystal(), cluster()]
    state = md_state(structures, potential, temperature=600.0)
    series = Series.of(total_energy, state, room=steps // every)
    moved = md.simulate(md.nve(time_step * fs), state, steps, observers={"E": series}, every=every)
    energies = 1000 * moved.observed["E"].result() / [len(atoms) for atoms in structures]
    slopes = np.polyfit(np.arange(len(energies)), energies, 1)[0]
    return energies.std(axis=0), 1000 * slopes / (every * time_step)


def main(steps=1000):
    """Print what was found, and give it back."""
    potential = FunctionPotential(second_moment, COPPER)
    with jax.enable_x64(True):
        found = at_rest(potential)
        found["energy_error"], found["drift"] = constant_energy(potential, steps)
    print(f"cohesive energy  {found['cohesive_energy']:.3f} eV, published {COHESIVE_ENERGY}")
    print(
        f"bulk modulus     {found['bulk_modulus']:.1f} GPa by stresses, "
        f"{found['bulk_modulus_by_energies']:.1f} by energies, published {BULK_MODULUS:.0f}"
    )
    print(f"forces           differ from slopes of the energy by {found['force_error']:.0e}")
    print(f"constant energy  {steps} steps of 2 fs, K + U per atom")
    rows = zip(("crystal", "cluster"), found["energy_error"], found["drift"], strict=True)
    for name, error, drift in rows:
        print(f"  {name}        within {error:.4f} meV, drift {drift:+.4f} meV/ps")
    return found


if __name__ == "__main__":
    main()
