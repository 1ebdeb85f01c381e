"""What a potential needs it says itself, and every way in asks it."""

import ase.io
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

import instar
from instar.app.api.md_state import md_blocks, md_state
from instar.app.ase.start_structures import packed, unpacked
from instar.app.ase.structures import StructureError, structures_of, tables
from instar.app.cli.main import main
from instar.app.config import load
from instar.app.config.base import ConfigurationError
from instar.app.config.potentials import recipe_of
from instar.app.config.systems import Wanted
from instar.app.evaluation.point import prepared
from instar.core.data import Index
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.core.typing import SystemId
from instar.dynamics import md
from instar.potentials import (
    Exclusions,
    FunctionPotential,
    Potential,
    PotentialError,
    Problem,
    Structures,
    UniformField,
    cutoff_coulomb,
    evaluate,
    ewald,
)

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SALT = bulk("NaCl", "rocksalt", 5.64, cubic=True)
EWALD = {"type": "coulomb", "accuracy": 1e-4}
CUT = {"type": "cutoff_coulomb", "cutoff": 6.0}
FIELD = {"type": "uniform_field", "force": [0, 0, 0.1], "strength": "charges"}


def configuration(tmp_path, atoms, potential):
    ase.io.write(tmp_path / "salt.extxyz", atoms)
    config = {
        "systems": [{"structure": {"file": "salt.extxyz"}, "temperature": "300 K"}],
        "potential": potential,
        "method": {"type": "md", "ensemble": "nve", "time_step": "1 fs"},
        "run": {"steps": 2},
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(config))
    return tmp_path / "run.yaml"


def with_calculator(atoms, potential):
    atoms = atoms.copy()
    atoms.calc = instar.calculator(potential)
    return atoms.get_potential_energy()


def as_state(atoms, potential):
    with jax.enable_x64(True):
        return md_state(atoms, potential)


def as_blocks(atoms, potential):
    with jax.enable_x64(True):
        return md_blocks([atoms, atoms], potential)


DOORS = {
    "single_point": instar.single_point,
    "calculator": with_calculator,
    "md_state": as_state,
    "md_blocks": as_blocks,
}


@pytest.mark.parametrize("potential", [EWALD, CUT, FIELD], ids=lambda p: p["type"])
@pytest.mark.parametrize("door", DOORS)
def test_missing_charges_are_refused_at_every_door(door, potential):
    slab = SALT.copy()
    slab.pbc = potential is not FIELD
    with pytest.raises(StructureError, match="Structure 0: there are no charges"):
        DOORS[door](slab, potential)


@pytest.mark.parametrize("potential", [EWALD, CUT], ids=lambda p: p["type"])
def test_missing_charges_are_refused_by_runs(tmp_path, potential, capsys):
    path = configuration(tmp_path, SALT, [potential])
    with pytest.raises(ConfigurationError, match=r"systems\[0\].structure: there are no charges"):
        load(path)
    assert main(["run", str(path), "--out", str(tmp_path / "run")]) == 1
    assert "there are no charges, and the potential needs them" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_charges_that_are_zero_but_given_are_charges():
    salt = SALT.copy()
    salt.set_initial_charges(np.zeros(len(salt)))
    assert instar.single_point(salt, CUT).energies[0] == 0


def test_potentials_made_in_python_are_asked_as_well():
    with pytest.raises(StructureError, match="there are no charges"):
        instar.single_point(SALT, cutoff_coulomb(6.0))
    known = structures_of([SALT], {"Na": 1.0, "Cl": -1.0})
    made = ewald(known.charges, known.system, known.vectors, 1e-4)
    with pytest.raises(StructureError, match="there are no charges"):
        instar.single_point(SALT, made)


def test_tables_without_charges_are_refused_by_start():
    particles, systems = tables(structures_of([SALT]), np.float32)
    bare = particles.map_data(lambda data: _Bare(data.positions, data.system, data.labels))
    with pytest.raises(PotentialError, match="there are no charges"):
        md.start(bare, systems, cutoff_coulomb(6.0), 1.0)


def test_tables_of_structures_without_charges_have_none():
    particles, systems = tables(structures_of([SALT, charged(SALT)]), np.float32)
    assert Structures.of_tables(particles, systems).charged.tolist() == [False, True]
    with pytest.raises(PotentialError, match="Structure 0: there are no charges"):
        md.start(particles, systems, cutoff_coulomb(6.0), 1.0)


def test_a_column_without_numbers_is_refused_where_it_is_evaluated():
    particles, systems = tables(structures_of([CLUSTER]), np.float32)
    field = UniformField(force=np.ones(3, np.float32), strength="charges")
    with pytest.raises(AssertionError, match="Particle 0 has no number in the column `charges`"):
        propagate_and_fix(
            as_result_function(lambda tables: evaluate(field, *tables)), (particles, systems)
        )


def test_charges_that_are_no_numbers_make_no_ewald_sum():
    known = structures_of([SALT])
    with pytest.raises(PotentialError, match="The charge of particle 0 is nan"):
        ewald(known.charges, known.system, known.vectors, 1e-4)


def test_files_of_runs_tell_charges_that_are_zero_from_none(tmp_path):
    systems = [Wanted(0, name, 300.0, None) for name in ("none", "zero")]
    (tmp_path / "s.npz").write_bytes(packed(systems, [SALT, charged(SALT)]))
    found = unpacked(tmp_path / "s.npz").structures
    assert [one.has("initial_charges") for one in found] == [False, True]


def test_a_calculator_keeps_its_list_without_charges():
    def serves(first, second):
        with jax.enable_x64(True):
            old = prepared([first], recipe_of(LJ), "float64", 1.0)
            return prepared([second], recipe_of(LJ), "float64", 1.0, old).neighbors is old.neighbors

    assert serves(CLUSTER, CLUSTER.copy())
    assert not serves(CLUSTER, charged(CLUSTER))


def charged(atoms):
    atoms = atoms.copy()
    atoms.set_initial_charges(np.zeros(len(atoms)))
    return atoms


@instar.dataclass
class _Bare:
    positions: object
    system: object
    labels: object


def test_all_structures_that_lack_something_are_named():
    tail = {
        "type": "lennard_jones",
        "cutoff": 6.0,
        "truncation": "tail",
        "parameters": {"Ar": {"epsilon": 0.01, "sigma": 3.4}},
    }
    structures = [bulk("Ar", "fcc", 5.3), Atoms("ArKr"), Atoms("Ne")]
    _, problems = recipe_of([tail]).tried(structures_of(structures))
    assert [
        (p.structure, p.text.split(" for ")[-1]) for p in problems if "LennardJones" in p.text
    ] == [
        (1, "the pair Ar-Kr"),
        (1, "Kr"),
        (2, "Ne"),
    ]
    assert [p.structure for p in problems if "tail" in p.text] == [1, 2]


# A potential of one's own -------------------------------------------------------------------


@instar.dataclass
class Springs(Potential):
    """½ k r² to the origin, for particles that are called Ar; refuses others."""

    k: object
    general: bool = instar.field(static=True, default=True)

    @property
    def is_general(self):
        return self.general

    @property
    def moves_centre(self):
        return True

    def check(self, structures):
        return [
            Problem(n, f"Springs knows Ar, not {label}")
            for n, species in enumerate(structures.species)
            for label in sorted(species - {"Ar"})
        ]

    def apart_from_pairs(self, everyone, request):
        return FunctionPotential(_springs, self.k).apart_from_pairs(everyone, request)


def _springs(k, particles, systems):
    squared = jnp.sum(particles.data.positions**2, axis=1)
    return particles.data.system.sum_over(k * squared / 2).data


CLUSTER = Atoms("Ar3", [[0, 0, 0], [1, 0, 0], [0, 2, 0]])


def test_a_potential_of_ones_own_works_everywhere():
    potential = Springs(np.float64(0.1))
    assert instar.single_point(CLUSTER, potential).energies[0] == pytest.approx(0.25)
    assert with_calculator(CLUSTER, potential) == pytest.approx(0.25)
    with jax.enable_x64(True):
        state = md_state([CLUSTER, CLUSTER[:2]], potential)
        blocks = md_blocks([CLUSTER, CLUSTER[:2]], potential, atoms=2)
    np.testing.assert_allclose(state.systems.data.energy, [0.25, 0.05])
    assert not state.systems.data.held.any()
    assert [len(block.systems) for block in blocks] == [1, 1]


@pytest.mark.parametrize("door", DOORS)
def test_a_potential_of_ones_own_can_refuse_structures(door):
    with pytest.raises(StructureError, match="Structure 0: Springs knows Ar, not Kr"):
        DOORS[door](Atoms("Kr"), Springs(np.float64(0.1)))


def test_a_potential_that_does_not_say_it_is_general_is_not_cut():
    with jax.enable_x64(True), pytest.raises(ValueError, match="its is_general is False"):
        md_blocks([CLUSTER, CLUSTER], Springs(np.float64(0.1), general=False), atoms=2)


# A function that asks for neighbors ------------------------------------------------------------

LJ = {
    "type": "lennard_jones",
    "cutoff": 6.0,
    "truncation": "truncate",
    "parameters": {"Ar": {"epsilon": 0.0104, "sigma": 3.4}},
}


def lennard_jones(parameters, particles, systems, edges):
    """½ Σ u(r) over all edges, by joins and sums alone."""
    epsilon, sigma = parameters
    sixth = (sigma**2 / jnp.sum(edges.data.vector**2, axis=1)) ** 3
    u = 4 * epsilon * (sixth**2 - sixth) / 2
    of_particle = edges.data.receiver.sum_over(u).data
    return particles.data.system.sum_over(of_particle).data


def by_edges(**options):
    return FunctionPotential(lennard_jones, (0.0104, 3.4), cutoff=np.float64(6.0), **options)


@pytest.fixture(scope="module")
def structures():
    crystal, skewed = bulk("Ar", "fcc", 5.3), bulk("Ar", "fcc", 5.4, cubic=True)
    skewed.set_cell(skewed.cell.array + np.array([[0, 0, 0], [1.1, 0, 0], [0.4, -0.7, 0]]))
    skewed.rattle(0.1, seed=1)
    return [crystal, skewed, CLUSTER * (1, 1, 1), Atoms("Ar")]


def spread(structures):
    far = structures[2].copy()
    far.positions *= 3.5
    return [*structures[:2], far, structures[3]]


def test_a_function_of_edges_gets_a_list_like_any_other(structures):
    found = instar.single_point(spread(structures), by_edges())
    right = instar.single_point(spread(structures), LJ)
    np.testing.assert_allclose(found.energies, right.energies, rtol=1e-12)
    np.testing.assert_allclose(found.stresses, right.stresses, atol=1e-14)
    for one, other in zip(found.forces, right.forces, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


@pytest.mark.parametrize("room", [{"skin": 0.3}, pytest.param({}, marks=pytest.mark.long)])
def test_a_function_of_edges_moves_as_the_pair_potential_does_while_its_list_grows(room):
    atoms = bulk("Ar", "fcc", 5.3, cubic=True)
    with jax.enable_x64(True):
        moved = [
            md.simulate(md.nve(0.2), md_state(atoms, potential, temperature=60.0, **options), 20)
            for potential, options in ((LJ, {}), (by_edges(), room))
        ]
    first, other = (np.asarray(state.particles.data.positions) for state in moved)
    np.testing.assert_allclose(other, first, atol=1e-11)


def test_room_for_neighbors_does_not_change_a_function_of_edges():
    atoms = bulk("Ar", "fcc", 5.3, cubic=True)
    atoms.rattle(0.1, seed=2)
    with jax.enable_x64(True):
        state = md_state(atoms, by_edges(), temperature=60.0, skin=0.3)
        assert state.neighbors is not None
        roomy = state.neighbors.resized(neighbors=state.neighbors.sizes.neighbors + 7)
        roomy = instar.bind(state, lambda s: s.neighbors).set(roomy)
        ends = [md.simulate(md.nve(0.2), start, 10) for start in (state, roomy)]
    one, other = (np.asarray(end.particles.data.positions).tobytes() for end in ends)
    assert one == other


def test_functions_of_edges_run_in_blocks_where_they_say_that_they_are_general():
    crystal = bulk("Ar", "fcc", 5.3, cubic=True)
    with jax.enable_x64(True):
        blocks = md_blocks([crystal, crystal], by_edges(general=True), atoms=4)
    energies = [float(block.systems.data.energy[0]) for block in blocks]
    right = instar.single_point(crystal, LJ).energies[0]
    np.testing.assert_allclose(energies, [right, right], rtol=1e-12)


def test_edges_leave_out_what_is_excluded():
    chain = Atoms("Ar3", [[0, 0, 0], [3.5, 0, 0], [7.0, 0, 0]])
    exclusions = Exclusions.from_bonds([[0, 1]], 3)
    found = instar.single_point(chain, by_edges().excluding(exclusions))
    pair = recipe_of(LJ).potential(structures_of([chain])).excluding(exclusions)
    np.testing.assert_allclose(
        found.energies, instar.single_point(chain, pair).energies, rtol=1e-12
    )


# What stays asked ------------------------------------------------------------------------------


def test_a_calculator_asks_again_when_atoms_change():
    atoms = Atoms("Cu2", [[0, 0, 0], [0, 0, 2.4]])
    atoms.calc = instar.calculator(instar.ase_potential(EMT()))
    atoms.get_potential_energy()
    atoms.set_initial_magnetic_moments([1, 1])
    with pytest.raises(StructureError, match="there are magnetic moments"):
        atoms.get_potential_energy()


def test_systems_of_a_state_are_those_of_its_table():
    particles, systems = tables(structures_of([CLUSTER, CLUSTER[:1]]), np.float32)
    few = Index.integer(np.array([0, 0, 0, 1]), n=1, label=SystemId)  # the last one is absent
    alone = instar.bind(particles, lambda t: t.data.system).set(few)
    known = Structures.of_tables(alone, systems)
    assert known.counts.tolist() == [3, 0]
    state = md.start(alone, systems, Springs(np.float32(0.1)), 1.0, velocities=np.ones((4, 3)))
    measured = md.thermo(state)
    np.testing.assert_allclose(measured.kinetic, [4.5, 0.0], rtol=1e-6)


def test_a_wall_says_where_it_is():
    with pytest.raises(ConfigurationError, match=r"potential\[0\].normal: is missing"):
        recipe_of({"type": "wall", "epsilon": 1, "sigma": 2})
    with pytest.raises(ConfigurationError, match=r"^potential\[0\].k_max: "):
        recipe_of({"type": "coulomb", "alpha": 1, "real_cutoff": 5, "k_max": -1})
