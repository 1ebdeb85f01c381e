"""ASE calculators as potentials: the calculator's own numbers, in batches, sums and derivatives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.calculators.morse import MorsePotential
from support import raises

import instar
from instar.app.ase.potential import CalculatorError
from instar.app.ase.structures import StructureError, structures_of, tables
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.core.lens import bind
from instar.core.result import as_result_function
from instar.potentials import PotentialError
from instar.potentials import evaluate as evaluate_typed

evaluate: Any = evaluate_typed

pytestmark = pytest.mark.usefixtures("quickly_compiled")

ARGON = {
    "type": "lennard_jones",
    "cutoff": "8.5 angstrom",
    "parameters": {"Cu": {"epsilon": "0.0104 eV", "sigma": "2.40 angstrom"}},
}
CALCULATORS = {
    "emt": EMT,
    "lj": lambda: LennardJones(sigma=2.3, epsilon=0.1, rc=6.0),
    "morse": lambda: MorsePotential(epsilon=0.3, r0=2.6, rho0=4.0),
}


class Energies(Calculator):
    """A spring from the origin, without a stress; counts its calls."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012
    calls = 0

    def calculate(self, atoms=None, properties=None, system_changes=()):
        super().calculate(atoms, properties, system_changes)
        assert atoms is not None
        if len(atoms) == 3:
            raise RuntimeError("three is too many")
        self.calls += 1
        self.charges = atoms.get_initial_charges()
        self.results = {"energy": (atoms.positions**2).sum(), "forces": -2 * atoms.positions}


def copper():
    atoms = bulk("Cu", cubic=True)
    atoms.rattle(0.1, seed=1)
    return atoms


def slab():
    atoms = fcc111("Cu", (2, 2, 2), vacuum=6.0)
    atoms.rattle(0.05, seed=2)
    return atoms


def cluster():
    return Atoms("Cu3", [[0, 0, 0], [2.4, 0.1, 0], [0.3, 2.5, 0.2]])


@pytest.mark.parametrize("name", CALCULATORS)
def test_a_mixed_batch_gives_what_the_calculator_gives(name):
    structures = [copper(), cluster(), Atoms(), slab()]
    found = instar.single_point(structures, instar.ase_potential(CALCULATORS[name]()))
    for number in (0, 1, 3):
        atoms = structures[number]
        atoms.calc = CALCULATORS[name]()
        np.testing.assert_allclose(found.energies[number], atoms.get_potential_energy(), rtol=1e-14)
        np.testing.assert_allclose(found.forces[number], atoms.get_forces(), atol=1e-14)
        if atoms.cell.rank == 3:
            stress = atoms.get_stress(voigt=False)
            np.testing.assert_allclose(found.stresses[number], stress, atol=1e-15)
    assert found.energies[2] == 0
    assert np.isnan(found.stresses[1:3]).all()


def test_single_precision_is_the_same_number_rounded():
    potential = instar.ase_potential(EMT())
    single = instar.single_point(copper(), potential, precision="float32")
    assert single.forces[0].dtype == np.float32
    expected = instar.single_point(copper(), potential)
    np.testing.assert_allclose(single.forces[0], expected.forces[0], atol=1e-5)


def test_many_atoms_keep_their_digits():
    # Large arrays are handed over in another thread, where JAX may be in single precision.
    positions = np.random.default_rng(0).normal(size=(100_000, 3))
    found = instar.single_point(
        [Atoms("Ar100000", positions)] * 2, instar.ase_potential(Energies())
    )
    np.testing.assert_allclose(found.energies, (positions**2).sum(), rtol=1e-14)
    np.testing.assert_array_equal(found.forces[1], -2 * positions)


def test_a_sum_with_another_potential_adds_up():
    other = recipe_of(ARGON).potential(structures_of([copper()]))
    both = instar.ase_potential(EMT()) + other
    parts = [instar.single_point(copper(), p) for p in (instar.ase_potential(EMT()), other, both)]
    for name in ("energies", "stresses"):
        one, two, total = (getattr(part, name) for part in parts)
        np.testing.assert_allclose(total, one + two, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts[2].forces[0], parts[0].forces[0] + parts[1].forces[0])


def test_a_calculator_of_a_calculator_keeps_energies_of_atoms():
    atoms, same = copper(), copper()
    atoms.calc = instar.calculator(instar.ase_potential(EMT()))
    same.calc = EMT()
    np.testing.assert_allclose(atoms.get_potential_energies(), same.get_potential_energies())
    np.testing.assert_allclose(atoms.get_stress(), same.get_stress(), atol=1e-15)


def test_what_does_not_repeat_has_the_virial_of_its_forces():
    atoms = cluster()
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([atoms]), np.float64)
        found = evaluate(instar.ase_potential(EMT()), particles, systems, virial=True)
    atoms.calc = EMT()
    expected = np.einsum("ni,nj->ij", atoms.positions, atoms.get_forces())
    np.testing.assert_allclose(found.virial[0], expected, atol=1e-14)


def energy_of(potential, structures, **asked):
    particles, systems = tables(structures_of(structures), np.float64)

    def energy(positions):
        moved = bind(particles, lambda t: t.data.positions).set(positions)
        return evaluate(potential, moved, systems, **asked).energy.sum()

    return energy, particles.data.positions


@pytest.mark.parametrize("forces", [False, True])
def test_the_gradient_of_the_energy_is_minus_the_forces(forces):
    structures = [copper(), cluster()]
    potential = instar.ase_potential(EMT())
    expected = np.concatenate(instar.single_point(structures, potential).forces)
    with jax.enable_x64(True):
        energy, positions = energy_of(potential, structures, forces=forces)
        np.testing.assert_allclose(jax.grad(energy)(positions), -expected, atol=1e-14)
        direction = jnp.asarray(np.random.default_rng(0).normal(size=positions.shape))
        slope = jax.jit(lambda r: jax.jvp(energy, (r,), (direction,))[1])(positions)
        np.testing.assert_allclose(slope, -np.sum(expected * direction), rtol=1e-12)


def test_second_derivatives_and_those_by_the_cell_are_errors():
    potential = instar.ase_potential(EMT())
    with jax.enable_x64(True):
        energy, positions = energy_of(potential, [cluster()], forces=False)
        with raises(PotentialError, "An ASE calculator has no second derivatives."):
            jax.hessian(energy)(positions)
        particles, systems = tables(structures_of([copper()]), np.float64)

        def by_cell(vectors):
            cell = systems.data.cell.with_vectors(vectors)
            strained = bind(systems, lambda t: t.data.cell).set(cell)
            return evaluate(potential, particles, strained, forces=False).energy.sum()

        with pytest.raises(PotentialError, match="by vectors, only by positions"):
            jax.grad(by_cell)(systems.data.cell.vectors)


def test_forces_have_no_derivative():
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([cluster()]), np.float64)

        def force(positions):
            moved = bind(particles, lambda t: t.data.positions).set(positions)
            return evaluate(instar.ase_potential(EMT()), moved, systems).forces[0, 0]

        with pytest.raises(ValueError, match="callbacks"):
            jax.grad(force)(particles.data.positions)


def test_a_loop_of_many_calls_runs_inside_of_one_program():
    potential = instar.ase_potential(EMT())
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([cluster()]), np.float64)

        @jax.jit
        @as_result_function
        def relaxed(positions):
            def step(positions, _):
                moved = bind(particles, lambda t: t.data.positions).set(positions)
                found = evaluate(potential, moved, systems)
                return positions + 0.02 * found.forces, found.energy[0]

            return jax.lax.scan(step, positions, length=20)

        result = relaxed(particles.data.positions)
        result.raise_assertion()
        energies = np.asarray(result.value[1])
    assert (np.diff(energies) < 0).all()


def test_absent_particles_are_skipped_and_charges_are_handed_over():
    calculator = Energies()
    atoms = Atoms("NaClAr", [[0, 0, 1.0], [0, 2.0, 0], [9, 9, 9]])
    atoms.set_initial_charges([1, -1, 0])
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([atoms]), np.float64)
        absent = instar.Index.integer([0, 0, 1], n=1, label=instar.SystemId)
        particles = bind(particles, lambda t: t.data.system).set(absent)
        nowhere = particles.data.positions.at[2].set(jnp.nan)
        particles = bind(particles, lambda t: t.data.positions).set(nowhere)
        found = evaluate(instar.ase_potential(calculator), particles, systems)
    assert float(found.energy[0]) == 5
    np.testing.assert_array_equal(found.forces, [[0, 0, -2], [0, -4, 0], [0, 0, 0]])
    np.testing.assert_array_equal(calculator.charges, [1, -1])
    assert calculator.calls == 1


def test_an_error_in_the_calculator_names_the_system_and_the_cause():
    structures = [Atoms("Ar"), Atoms("Ar2", [[0, 0, 0], [1, 1, 1]]), Atoms("Ar3")]
    potential = instar.ase_potential(Energies())
    line = "The ASE calculator Energies failed for system 2: RuntimeError: three is too many"
    with raises(CalculatorError, line):
        instar.single_point(structures, potential)
    assert instar.single_point(structures[:2], potential).energies.tolist() == [0, 3]


def test_a_missing_stress_is_an_error_only_where_it_is_needed():
    potential = instar.ase_potential(Energies())
    assert instar.single_point(Atoms("Ar", cell=[5, 5, 5]), potential).energies[0] == 0
    with pytest.raises(CalculatorError, match="has no stress, which the virial"):
        instar.single_point(Atoms("Ar", cell=[5, 5, 5], pbc=True), potential)
    with jax.enable_x64(True):
        particles, systems = tables(
            structures_of([Atoms("Ar", [[1, 0, 0]], cell=[5, 5, 5], pbc=True)]), np.float64
        )
        assert evaluate(potential, particles, systems).energy[0] == 1


def test_an_unchecked_call_raises_as_well():
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([Atoms("Ar3")]), np.float64)
        with pytest.raises(jax.errors.JaxRuntimeError, match="three is too many"):
            evaluate(instar.ase_potential(Energies()), particles, systems)


def test_labels_are_elements_or_are_named():
    water = molecule("H2O")
    water.set_array("labels", np.array(["OW", "H", "H"]))
    with pytest.raises(StructureError, match="the label 'OW' is not a chemical element"):
        instar.single_point(water, instar.ase_potential(EMT()))
    named = instar.ase_potential(EMT(), elements={"OW": "O"})
    expected = instar.single_point(molecule("H2O"), instar.ase_potential(EMT()))
    assert instar.single_point(water, named).energies == expected.energies
    with pytest.raises(PotentialError, match="'Ow', which is not an element"):
        instar.ase_potential(EMT(), elements={"OW": "Ow"})


@pytest.mark.parametrize("thing", [EMT, "emt", None])
def test_what_is_no_calculator_is_refused(thing):
    with pytest.raises(PotentialError, match="An ASE calculator is needed"):
        instar.ase_potential(thing)


def test_the_own_calculator_is_refused():
    with pytest.raises(PotentialError, match="use that potential itself"):
        instar.ase_potential(instar.calculator(ARGON))


def test_energies_of_atoms_that_are_not_known_are_an_error():
    atoms = Atoms("Ar")
    atoms.calc = instar.calculator(instar.ase_potential(Energies()))
    with pytest.raises(PotentialError, match="Energies has no energies of single particles"):
        atoms.get_potential_energies()


def test_a_calculator_by_name():
    config = {"type": "ase", "calculator": "lj", "arguments": {"sigma": 2.3, "epsilon": 0.1}}
    found = instar.single_point(cluster(), config)
    atoms = cluster()
    atoms.calc = LennardJones(sigma=2.3, epsilon=0.1)
    np.testing.assert_allclose(found.energies[0], atoms.get_potential_energy(), rtol=1e-14)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"calculator": "emtt"}, "ASE has no calculator 'emtt'; did you mean 'emt'?"),
        ({"calculator": "zzzzzz"}, "ASE has no calculator 'zzzzzz'; known are abinit"),
        ({"calculator": "eam", "arguments": {"potential": 1}}, "ase: the calculator 'eam' can't"),
        ({"calculator": "emt", "argument": {}}, "did you mean 'arguments'?"),
    ],
)
def test_mistakes_in_the_configuration_are_named(config, message):
    with pytest.raises(ConfigurationError) as caught:
        recipe_of({"type": "ase", **config})
    assert message in str(caught.value)


def test_magnetic_moments_are_refused_rather_than_forgotten():
    iron = Atoms("Cu2", [[0, 0, 0], [0, 0, 2.2]], magmoms=[2, 2])
    with pytest.raises(StructureError, match="Structure 0: there are magnetic moments"):
        instar.single_point(iron, instar.ase_potential(EMT()))
