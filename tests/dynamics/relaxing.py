"""Small ragged batches to relax, and the methods with their counterparts in ASE."""

import jax
import numpy as np
from ase import Atoms
from ase.build import bulk

from instar.app.config.potentials import recipe_of
from instar.app.evaluation.point import tabled
from instar.dynamics import relax

SMOOTH = {
    "type": "lennard_jones",
    "cutoff": 6.0,
    "truncation": "switch",
    "inner": 5.0,
    "pairs": {"Ar-Ar": {"epsilon": "0.0104 eV", "sigma": "3.4 angstrom"}},
}

FIELDS = ("cell", "pressure", "mask", "force_tolerance", "stress_tolerance", "steps")


def crystals(seed=1, rattle=0.12, strain=0.02):
    """Three crystals off their places: 4, 16 and 8 atoms; the last one is skewed."""
    rng = np.random.default_rng(seed)
    made = []
    for edge, repeat in ((5.3, (1, 1, 1)), (5.2, (2, 2, 1)), (5.35, (2, 1, 1))):
        atoms = bulk("Ar", "fcc", edge, cubic=True).repeat(repeat)
        deformation = np.eye(3) + rng.normal(0, strain, (3, 3))
        atoms.set_cell(atoms.cell.array @ deformation, scale_atoms=True)
        atoms.positions += rng.normal(0, rattle, atoms.positions.shape)
        made.append(atoms)
    return made


def cluster(count=7, seed=2):
    """Atoms at random in a ball, as far apart as they can be put."""
    rng = np.random.default_rng(seed)
    places = [np.zeros(3)]
    while len(places) < count:
        place = rng.uniform(-1, 1, 3) * 3.4 * count ** (1 / 3)
        if min(np.linalg.norm(place - other) for other in places) > 3.2:
            places.append(place)
    return Atoms(f"Ar{count}", places)


def state_of(
    structures, potential=SMOOTH, order=None, skin=1.0, fixed=None, precision="float64", **options
):
    """A batch in that order; each system is named by its number."""
    order = list(range(len(structures))) if order is None else list(order)
    per_system = {
        name: np.asarray(value)[order] if np.ndim(value) == 1 and name != "mask" else value
        for name, value in options.items()
    }
    with jax.enable_x64(precision == "float64"):
        point = tabled([structures[n] for n in order], recipe_of(potential), precision)
        return relax.start(
            point.particles,
            point.systems,
            point.potential,
            skin=skin,
            fixed=fixed,
            streams=np.array(order),
            **per_system,
        )


def by_system(state):
    """Positions and cell of each system, by its name."""
    data, systems = state.particles.data, state.systems.data
    own = np.asarray(data.system.indices)
    return {
        int(name): (
            np.asarray(data.positions)[own == number],
            np.asarray(systems.cell.vectors)[number],
        )
        for number, name in enumerate(systems.stream)
    }


METHODS = {"auto": relax.auto, "fire": relax.fire, "lbfgs": relax.lbfgs}
CELLS = ("fixed", "isotropic", "full", "constant_volume")
