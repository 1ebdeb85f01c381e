"""Ewald sums: reference values, the promise on accuracy, independence of α, changing cells."""

import functools
import logging
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

import instar
from instar.app.ase.structures import StructureError, structures_of, tables
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.core.result import as_result_function
from instar.geometry import AllParticles
from instar.potentials import (
    COULOMB_CONSTANT,
    Exclusions,
    NetChargeWarning,
    PotentialError,
    ewald,
    ewald_with,
)
from instar.potentials.ewald.ewald import _choose_again

pytestmark = pytest.mark.usefixtures("quickly_compiled")

BOTH = pytest.mark.parametrize("method", ["ewald", pytest.param("pme", marks=pytest.mark.long)])


def coulomb(accuracy=1e-10, **settings):
    return {"type": "coulomb", "accuracy": accuracy, **settings}


def charged(symbols, charges, positions, cell):
    atoms = Atoms(symbols, positions, cell=cell, pbc=True)
    atoms.set_initial_charges(charges)
    return atoms


def salt(kind, lattice, distance):
    """A primitive cell of two ions, nearest neighbors at a distance (Å)."""
    atoms = bulk("NaCl", kind, a=lattice * distance)
    atoms.set_initial_charges([1, -1])
    return atoms


def gas(count, skewed, seed, edges=(9, 13)):
    """Random charges anywhere, without a net charge."""
    rng = np.random.default_rng(seed)
    cell = np.diag(rng.uniform(*edges, 3))
    if skewed:
        cell = cell + np.tril(rng.uniform(-5, 5, (3, 3)), -1)
    charges = rng.normal(size=count)
    positions = rng.uniform(-1, 2, (count, 3)) @ cell
    return charged(["X"] * count, charges - charges.mean(), positions, cell)


SALTS = {
    "rocksalt": (2.0, 1.747564594633),
    "cesiumchloride": (2 / math.sqrt(3), 1.762674773071),
    "zincblende": (4 / math.sqrt(3), 1.638055053389),
}
DISTANCES = {1: -14.430252471671, 2: -7.327683122698, 5: -3.947468664029}
PAIRS = [charged("NaCl", [1, -1], [[3, 4, 9], [3 + d, 4, 9]], [10] * 3) for d in DISTANCES]
KNOWN = [*(salt(kind, lattice, 2.82) for kind, (lattice, _) in SALTS.items()), *PAIRS]


@functools.cache
def of_known():
    """Salts and pairs as one batch: all references need one program."""
    return instar.single_point(KNOWN, coulomb(1e-12))


def test_madelung_constants_zero_forces_and_three_p_v_is_u():
    found = of_known()
    expected = [-COULOMB_CONSTANT * madelung / 2.82 for _, madelung in SALTS.values()]
    np.testing.assert_allclose(found.energies[:3], expected, rtol=1e-11)
    np.testing.assert_allclose(found.energies[0], -8.9235144019, atol=1e-10)
    for forces, stress, energy, atoms in zip(
        found.forces[:3], found.stresses[:3], found.energies[:3], KNOWN[:3], strict=True
    ):
        np.testing.assert_allclose(forces, 0, atol=1e-12)
        volume = atoms.get_volume()
        np.testing.assert_allclose(stress, -energy / (3 * volume) * np.eye(3), atol=1e-10)


def test_two_charges_of_the_reference():
    np.testing.assert_allclose(of_known().energies[3:], list(DISTANCES.values()), atol=2e-10)


def very_skewed():
    atoms = gas(60, False, 5)
    cell = np.array([[11.0, 0, 0], [9, 10, 0], [8, 8, 10]])
    atoms.set_cell(cell, scale_atoms=True)
    return atoms


RANDOM = [gas(40, False, 1), gas(150, False, 2), gas(150, True, 4), very_skewed()]


@functools.cache
def converged():
    return instar.single_point(RANDOM, coulomb(1e-12, method="ewald"))


@pytest.mark.parametrize(
    ("accuracy", "method"),
    [
        pytest.param(1e-4, "ewald", marks=pytest.mark.long),
        (1e-6, "ewald"),
        pytest.param(1e-9, "ewald", marks=pytest.mark.long),
        (1e-4, "pme"),
        pytest.param(1e-6, "pme", marks=pytest.mark.long),
        pytest.param(1e-9, "pme", marks=pytest.mark.long),
    ],
)
def test_the_error_is_within_the_promise_and_not_a_tenth_below_it(accuracy, method):
    structures, exact = RANDOM, converged()
    found = instar.single_point(structures, coulomb(accuracy, method=method))
    for forces, right in zip(found.forces, exact.forces, strict=True):
        error = np.sqrt(np.mean(np.sum((forces - right) ** 2, axis=1))) / COULOMB_CONSTANT
        assert 0.1 * accuracy < error <= accuracy
    # 3PV = U holds for the sum itself, whatever its settings, up to the same error
    for stress, energy, atoms in zip(found.stresses, found.energies, structures, strict=True):
        size = 100 * len(atoms) * accuracy * COULOMB_CONSTANT
        assert -np.trace(stress) * atoms.get_volume() == pytest.approx(energy, abs=size)


@pytest.mark.long
def test_nothing_depends_on_alpha():
    structures = [gas(12, True, 5), gas(20, False, 6)]
    results = [
        instar.single_point(
            structures, {"type": "coulomb", "alpha": a, "real_cutoff": r, "k_max": k}
        )
        for a, r, k in ((0.45, "12 angstrom", 12), (0.6, 9, [20, 16, 18]))
    ]
    np.testing.assert_allclose(results[0].energies, results[1].energies, rtol=1e-10)
    np.testing.assert_allclose(results[0].stresses, results[1].stresses, atol=1e-10)
    for one, other in zip(results[0].forces, results[1].forces, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_a_mesh_equals_waves_to_its_error():
    mesh, waves = instar.single_point(RANDOM, coulomb(1e-4, method="pme")), converged()
    np.testing.assert_allclose(mesh.energies, waves.energies, rtol=1e-4)
    np.testing.assert_allclose(mesh.stresses, waves.stresses, atol=1e-4)
    for one, other in zip(mesh.forces, waves.forces, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-2)


@pytest.mark.parametrize(
    ("precision", "outside", "tolerance"), [("float64", -1e-18, 1e-9), ("float32", -1e-9, 2e-4)]
)
def test_a_charge_at_the_very_end_of_the_cell_is_at_its_beginning(precision, outside, tolerance):
    atoms = gas(20, False, 21)
    here, there = atoms.copy(), atoms.copy()
    here.positions[0] = [0.0, 1, 1]
    there.positions[0] = [outside, 1, 1]
    config = coulomb(1e-4, method="pme")
    found = instar.single_point([here, there], config, precision=precision)
    np.testing.assert_allclose(found.forces[0], found.forces[1], atol=tolerance)


def test_a_net_charge_gets_a_background_and_a_warning():
    lone = charged("X", [1.0], [[1, 2, 3]], [10] * 3)
    with pytest.warns(NetChargeWarning, match=r"System 0 has a net charge of \+1 e"):
        found = instar.single_point(lone, coulomb(1e-12))
    # the Wigner lattice: −2.837297479/2 · kₑ/L
    np.testing.assert_allclose(
        found.energies[0], -2.837297479480620 / 2 * COULOMB_CONSTANT / 10, rtol=1e-10
    )
    trace = -np.trace(found.stresses[0]) * 1000
    np.testing.assert_allclose(trace, found.energies[0], rtol=1e-8)


@BOTH
def test_excluded_pairs_lose_their_bare_interaction_and_nothing_else(method):
    atoms = gas(9, True, 9)
    atoms.positions[1] = atoms.positions[0] + [0.5, 0.6, -0.4]
    atoms.positions[2] = atoms.positions[1] + [0.4, -0.6, 0.5]
    atoms.positions[1] += atoms.cell.array[0] - 2 * atoms.cell.array[2]  # anywhere
    pairs, factors = [[0, 1], [2, 1], [0, 2]], [0.0, 0.25, 0.5]
    exclusions = Exclusions.of(pairs, 9, coulomb_factor=factors)
    whole = ewald(
        atoms.get_initial_charges(),
        np.zeros(9, int),
        atoms.cell.array[None],
        1e-9,
        method=method,
    )
    before = instar.single_point(atoms, whole)
    after = instar.single_point(atoms, whole.excluding(exclusions))
    energy, forces, virial = 0.0, np.zeros((9, 3)), np.zeros((3, 3))
    for (i, j), factor in zip(pairs, factors, strict=True):
        d = atoms.get_distance(i, j, mic=True, vector=True)
        r = np.linalg.norm(d)
        q = (1 - factor) * COULOMB_CONSTANT * np.prod(atoms.get_initial_charges()[[i, j]])
        energy -= q / r
        forces[i] += q * d / r**3
        forces[j] -= q * d / r**3
        virial -= q * np.outer(d, d) / r**3
    # Two cutoffs, one for pairs and one for clouds, leave erfc(αR)/R between them.
    np.testing.assert_allclose(after.energies - before.energies, energy, atol=1e-11)
    np.testing.assert_allclose(after.forces[0] - before.forces[0], forces, atol=1e-10)
    stress = (after.stresses[0] - before.stresses[0]) * atoms.get_volume()
    np.testing.assert_allclose(-stress, virial, atol=1e-9)


def test_systems_of_any_mix_are_as_if_alone():
    structures = [gas(30, True, 10), Atoms("Ar", cell=[5] * 3, pbc=True), gas(300, False, 11)]
    structures[1].set_initial_charges([0.0])
    together = instar.single_point(structures, coulomb(1e-6))
    alone = instar.single_point(structures[0], coulomb(1e-6))
    np.testing.assert_allclose(alone.energies[0], together.energies[0], rtol=1e-12)
    np.testing.assert_allclose(alone.forces[0], together.forces[0], atol=1e-11)
    assert together.energies[1] == 0


def test_charges_come_by_label_too():
    bare = [atoms.copy() for atoms in KNOWN]
    for atoms in bare:
        del atoms.arrays["initial_charges"]
    found = instar.single_point(bare, coulomb(1e-12, charges={"Na": "1 e", "Cl": -1}))
    np.testing.assert_allclose(found.energies[0], -8.9235144019, atol=1e-10)


@pytest.mark.parametrize("method", ["pme", pytest.param("ewald", marks=pytest.mark.long)])
def test_single_precision_keeps_what_it_promises_and_refuses_more(method):
    found = instar.single_point(RANDOM, coulomb(1e-5, method=method), precision="float32")
    for forces, exact in zip(found.forces, converged().forces, strict=True):
        difference = (forces - exact) / COULOMB_CONSTANT
        # Relative to the largest forces, which close charges have, it is rounding.
        scale = np.abs(exact).max() / COULOMB_CONSTANT
        assert np.sqrt(np.mean(np.sum(difference**2, axis=1))) <= 1e-5 + 2e-6 * scale
    with pytest.raises(PotentialError, match="Single precision can't keep forces accurate"):
        instar.single_point(RANDOM, coulomb(1e-8), precision="float32")


# Cells that change ----------------------------------------------------------------------------


def expanded(atoms, factor):
    other = atoms.copy()
    other.set_cell(atoms.cell * factor, scale_atoms=True)
    return other


def waves_of(calculator):
    return calculator._point.potential.waves.start.shape


@pytest.mark.long
def test_waves_follow_a_cell_until_the_accuracy_would_be_broken(caplog):
    atoms = gas(60, True, 13)
    atoms.calc = instar.calculator(coulomb(1e-6, method="ewald"))
    atoms.get_potential_energy()
    first = waves_of(atoms.calc)
    with caplog.at_level(logging.INFO, "instar"):
        slightly = expanded(atoms, 1.01)
        slightly.calc = atoms.calc
        slightly.get_potential_energy()
        assert not caplog.records
        assert waves_of(slightly.calc) == first
        much = expanded(atoms, 1.1)
        much.calc = atoms.calc
        energy, forces = much.get_potential_energy(), much.get_forces()
    assert "chosen anew" in caplog.text
    exact = instar.single_point(much, coulomb(1e-11))
    error = np.sqrt(np.mean(np.sum((forces - exact.forces[0]) ** 2, axis=1)))
    assert error / COULOMB_CONSTANT <= 1e-6
    # Waves that are left out all lower the energy, so it errs by more than the forces.
    np.testing.assert_allclose(energy, exact.energies[0], rtol=1e-5)


@BOTH
def test_energies_do_not_jump_while_a_cell_changes(method):
    """The second difference of U along a smooth path has no kinks of the size of a wave's U."""
    atoms = gas(20, True, 14)
    atoms.calc = instar.calculator(coulomb(1e-4, method=method))
    path = [expanded(atoms, 1 + 1e-5 * step) for step in range(9)]
    energies = []
    for frame in path:
        frame.calc = atoms.calc
        energies.append(frame.get_potential_energy())
    assert np.abs(np.diff(energies, 3)).max() < 1e-8
    assert np.abs(np.diff(energies)).max() > 1e-5


def test_a_repair_without_the_potential_in_the_state_changes_nothing():
    found = (np.ones(1), np.eye(3)[None], np.ones(1), np.ones(1))
    assert _choose_again({"a": 1.0}, found) == {"a": 1.0}


# Structure factors ------------------------------------------------------------------------------


def test_structure_factors_follow_a_move_of_few_particles():
    structures = [gas(10, True, 15), gas(24, False, 16)]
    batch = structures_of(structures)
    with jax.enable_x64(True):
        particles, systems = tables(batch, np.float64)
        potential = ewald(batch.charges, batch.system, batch.vectors, 1e-6, method="ewald")
        waves = potential.waves
        assert waves is not None
        alpha = jnp.asarray(potential.alpha)
        cell = systems.data.cell
        positions, charges = particles.data.positions, particles.data.charges
        rows = jnp.array([[0, 3], [12, 30]])  # two particles of each system
        moved = positions.at[rows].add(0.7)
        factors, factors_of = jax.jit(waves.factors), jax.jit(waves.factors_of)
        before, after = (factors(p, charges, cell) for p in (positions, moved))
        old, new = (factors_of(p[rows], charges[rows], cell) for p in (positions, moved))
        np.testing.assert_allclose(before - old + new, after, atol=1e-12)
        everyone = AllParticles.of(particles, systems)
        ready = jax.tree.map(jnp.asarray, potential)
        whole = jax.jit(lambda x: ready.reciprocal(x, charges, everyone).energy)(moved)
        found = jax.jit(waves.energy)(after, cell, alpha)
        np.testing.assert_allclose(found, whole, rtol=1e-12)


@pytest.mark.parametrize("method", ["ewald", "pme"])
def test_work_that_is_divided_among_devices_gives_the_same(method):
    atoms = gas(50, True, 20)
    batch = structures_of([atoms])
    devices = jax.sharding.Mesh(np.array(jax.devices()), ("all",))
    assert devices.size == 2
    with jax.enable_x64(True):
        particles, systems = tables(batch, np.float64)
        state = particles.data.positions, particles.data.charges, systems.data.cell
        found = []
        for chosen in (None, devices):
            potential = ewald(
                batch.charges, batch.system, batch.vectors, 1e-4, method=method, devices=chosen
            )
            part = potential.waves or potential.meshes[0]
            found.append(jax.jit(part.reciprocal)(*state, jnp.asarray(potential.alpha)))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@BOTH
def test_energies_are_differentiable_twice(method):
    batch = structures_of([gas(6, True, 17)])
    with jax.enable_x64(True):
        particles, systems = tables(batch, np.float64)
        cell, charges = systems.data.cell, particles.data.charges
        potential = ewald(batch.charges, batch.system, batch.vectors, 1e-3, method=method)
        part = potential.waves or potential.meshes[0]

        @jax.jit
        def along(step):
            moved = particles.data.positions.at[0, 0].add(step)
            found = part.reciprocal(moved, charges, cell, jnp.asarray(potential.alpha))
            return found.energy[0], found.forces[0, 0]

        slope, curvature = jax.jit(jax.jacrev(along))(0.0)
        np.testing.assert_allclose(slope, -along(0.0)[1], rtol=1e-9)
        difference = (along(1e-5)[1] - along(-1e-5)[1]) / 2e-5
        np.testing.assert_allclose(curvature, difference, rtol=1e-6)


# Errors -----------------------------------------------------------------------------------------


def test_open_structures_are_refused():
    atoms = Atoms("X2", [[0, 0, 0], [0, 0, 2]])
    atoms.set_initial_charges([1, -1])
    with pytest.raises(StructureError, match="Structure 0: there are charges, but no Ewald sum"):
        instar.single_point(atoms, coulomb())


def test_particles_that_it_was_not_made_for_are_refused():
    atoms = gas(8, False, 18)
    charges = atoms.get_initial_charges()
    charges[4] += charges[3]
    charges[3] = 0
    potential = ewald(charges, np.zeros(8, int), atoms.cell.array[None], 1e-4)
    (failed,) = failed_checks(potential, atoms)
    assert "not made for particle 3 with a charge" in str(failed.exception())


def failed_checks(potential, atoms):
    with jax.enable_x64(True):
        particles, systems = tables(structures_of([atoms]), np.float64)
        check = as_result_function(lambda p, s: p._check(s))
        result = check(jax.tree.map(jnp.asarray, potential), AllParticles.of(particles, systems))
        return result.failed_assertions


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.3}, "alpha, real_cutoff and k_max are given together, or none of them"),
        ({"accuracy": -1}, "potential[0].accuracy: -1 is out of range: must be above 0"),
        (
            {"accuracy": "1e-6 eV"},
            "potential[0].accuracy: '1e-6 eV' has the wrong unit: a bare number is needed.",
        ),
        (
            {"alpha": 0.3, "real_cutoff": 9, "k_max": 7, "accuracy": 1e-4},
            "potential[0]: alpha, real_cutoff and k_max are all there is to say; leave out "
            "accuracy and method, or leave out those three",
        ),
        ({"accurate": 1e-4}, "potential[0].accurate: unknown key; did you mean 'accuracy'?"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ConfigurationError) as caught:
        recipe_of({"type": "coulomb", **settings})
    assert message in str(caught.value)


def test_settings_out_of_range_are_refused():
    state = (np.array([1.0, -1.0]), np.zeros(2, int), 10 * np.eye(3)[None])
    for settings in ((0.0, 9.0, 5), (0.3, -1.0, 5), (0.3, 9.0, -1)):
        with pytest.raises(PotentialError):
            ewald_with(*state, *settings)
    with pytest.raises(PotentialError, match="An accuracy is an rms force error"):
        ewald(*state, accuracy=0)


def test_a_promise_that_no_longer_holds_is_a_failed_check_with_a_repair():
    atoms = gas(30, False, 19)
    charges = atoms.get_initial_charges()
    potential = ewald(charges, np.zeros(30, int), atoms.cell.array[None], 1e-6)
    (failed,) = failed_checks(potential, expanded(atoms, 1.3))
    assert failed.fix_fn is not None
    assert "more than the 1e-06 that were asked for" in str(failed.exception())
