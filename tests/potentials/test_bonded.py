"""Bonds, angles and dihedrals: conventions, special geometries, terms of batches, mistakes."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from support import raises

import instar
from instar.app.ase.structures import StructureError, structures_of, tables
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.core.data import Index
from instar.core.result import as_result_function
from instar.core.typing import ParticleId
from instar.potentials import (
    HarmonicAngle,
    HarmonicBond,
    PeriodicDihedral,
    PotentialError,
    RyckaertBellemansDihedral,
    evaluate,
)
from instar.potentials import internal_coordinates as geometry
from potentials.bonded import CONFIGS, KINDS, energy_and_forces

BUTANE_LIKE = np.array([[0.0, 1, 0], [0, 0, 0], [1.5, 0, 0]])
"""Three atoms; looking along x, from the second to the third, the first one is up, along y."""
SOME = [CONFIGS[kind] for kind in ("harmonic_bond", "harmonic_angle", "periodic_dihedral")]


def chain(rng, count=4):
    steps = rng.normal(size=(count, 3))
    return np.cumsum(steps * 1.3 / np.linalg.norm(steps, axis=1)[:, None], axis=0)


def fourth(degrees):
    """The fourth atom, turned clockwise as seen along the middle bond."""
    turn = math.radians(degrees)
    return BUTANE_LIKE[2] + [0.3, math.cos(turn), math.sin(turn)]


def energy_of(kind, term, positions, **options):
    atoms = Atoms(["X"] * len(positions), positions, **options)
    return instar.single_point(atoms, {"type": kind, "terms": [term]})


@pytest.fixture
def double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_each_formula_equals_that_in_numpy(kind):
    rng = np.random.default_rng(2)
    structures = [Atoms("X4", chain(rng)) for _ in range(20)]
    found = instar.single_point(structures, CONFIGS[kind])
    for atoms, energy, forces in zip(structures, found.energies, found.forces, strict=True):
        parts = [energy_and_forces(kind, t, atoms.positions) for t in CONFIGS[kind]["terms"]]
        assert energy == pytest.approx(sum(e for e, _ in parts), rel=1e-11, abs=1e-13)
        np.testing.assert_allclose(forces, sum(f for _, f in parts), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("degrees", [0, 60, -60, 120, 179, -90, 180])
def test_dihedral_angles_are_positive_clockwise_and_trans_is_180_degrees(degrees, double):
    points = jnp.asarray([*BUTANE_LIKE, fourth(degrees)])
    bonds = points[1:] - points[:-1]
    found = float(geometry.dihedral(*(b[None] for b in bonds))[0])
    assert math.degrees(found) == pytest.approx(degrees, abs=1e-12)


def test_ryckaert_bellemans_counts_from_trans():
    term = {"atoms": [0, 1, 2, 3], "c": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]}
    trans = energy_of("rb_dihedral", term, [*BUTANE_LIKE, fourth(180)])
    cis = energy_of("rb_dihedral", term, [*BUTANE_LIKE, fourth(0)])
    np.testing.assert_allclose([trans.energies[0], cis.energies[0]], [1, -1])


@pytest.mark.parametrize("xi", [-math.pi + 0.05, math.pi - 0.05])
def test_an_improper_takes_the_short_way_round(xi):
    term = {"atoms": [0, 1, 2, 3], "k": 2.0, "phi0": "180 deg"}
    found = energy_of("harmonic_improper", term, [*BUTANE_LIKE, fourth(math.degrees(xi))])
    assert found.energies[0] == pytest.approx(0.05**2)


@pytest.mark.parametrize("kind", ["harmonic_angle", "cosine_angle"])
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_forces_of_a_straight_or_folded_angle_are_finite(kind, end):
    term = {"atoms": [0, 1, 2], "k": 3.0, "theta0": 1.9}
    found = energy_of(kind, term, [[1.0, 1, 1], [0, 0, 0], [end * 1.5] * 3])
    assert np.isfinite(found.energies[0])
    np.testing.assert_allclose(found.forces[0], 0, atol=1e-6)


@pytest.mark.parametrize("kind", [k for k in KINDS if "dihedral" in k or "improper" in k])
@pytest.mark.parametrize("straight", [1, 2, 3])
def test_forces_of_a_dihedral_with_atoms_on_a_line_are_finite(kind, straight):
    positions = np.array([[0.0, 0, 0], [0.1, 0.2, 0.3], [0.2, 0.4, 0.6], [0.3, 0.6, 0.9]])
    positions[0, 2] += straight == 1
    positions[3, 0] += straight == 2
    found = energy_of(kind, CONFIGS[kind]["terms"][0], positions)
    assert np.abs(found.forces[0]).max() < 1e2


@pytest.mark.parametrize("off", [1e-3, 1e-6])
@pytest.mark.parametrize("kind", ["harmonic_angle", "cosine_angle"])
def test_forces_near_a_straight_angle_are_accurate(kind, off):
    term = {"atoms": [0, 1, 2], "k": 3.0, "theta0": 1.9}
    positions = [[1.0, 0, 0], [0, 0, 0], [-1.5 * math.cos(off), 1.5 * math.sin(off), 0]]
    found = energy_of(kind, term, positions)
    theta = math.pi - off
    slope = 3 * (theta - 1.9)
    if kind == "cosine_angle":
        slope = -3 * (math.cos(theta) - math.cos(1.9)) * math.sin(off)
    assert found.forces[0][0, 1] == pytest.approx(slope, rel=1e-9)
    np.testing.assert_allclose(found.forces[0][2, 1], slope / 1.5 * math.cos(off), rtol=1e-9)


def test_derivatives_of_higher_order_are_finite_on_a_line(double):
    def energy(points):
        a, b = points[0] - points[1], points[2] - points[1]
        return geometry.angle(a[None], b[None])[0] + geometry.length(points[:1])[0]

    straight = jnp.asarray([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    assert np.isfinite(jax.hessian(energy)(straight)).all()


CELLS = {
    "box": np.diag([5.0, 6.0, 7.0]),
    "skewed": np.array([[5.0, 0, 0], [3.5, 5, 0], [-2, 3, 6]]),
}


@pytest.mark.parametrize("cell", CELLS)
def test_terms_across_a_boundary_equal_those_of_the_whole_molecule(cell):
    rng = np.random.default_rng(3)
    positions = chain(rng)
    wrapped = positions + rng.integers(-2, 3, (4, 3)) @ CELLS[cell]
    config = SOME
    whole = instar.single_point(Atoms("X4", positions), config)
    broken = instar.single_point(Atoms("X4", wrapped, cell=CELLS[cell], pbc=True), config)
    np.testing.assert_allclose(broken.energies, whole.energies, rtol=1e-12)
    np.testing.assert_allclose(broken.forces[0], whole.forces[0], rtol=1e-10, atol=1e-10)


def test_a_cell_too_skewed_to_be_sure_is_an_error():
    cell = [[5.0, 0, 0], [201.5, 5, 0], [0, 0, 150]]
    term = {"atoms": [0, 1], "k": 1.0, "r0": 1.0}
    message = (
        "The nearest image of particle 1 as seen from particle 0 is not certain: the cell of "
        "system 0 is too skewed."
    )
    with raises(AssertionError, message):
        energy_of("harmonic_bond", term, [[0.0, 0, 0], [0, 0, 45]], cell=cell, pbc=True)


def test_a_cell_as_skewed_is_fine_for_a_short_bond():
    cell = [[5.0, 0, 0], [201.5, 5, 0], [0, 0, 150]]
    term = {"atoms": [0, 1], "k": 1.0, "r0": 0.0}
    short = energy_of("harmonic_bond", term, [[0.0, 0, 0], [0, 0, 1e-2]], cell=cell, pbc=True)
    assert short.energies[0] == pytest.approx(0.5e-4)


def test_structures_in_a_batch_equal_each_alone():
    rng = np.random.default_rng(4)
    structures = [Atoms("X4", chain(rng)), Atoms("X5", chain(rng, 5), cell=[8, 8, 8], pbc=True)]
    config = SOME
    together = instar.single_point(structures, config)
    for number, atoms in enumerate(structures):
        alone = instar.single_point(atoms, config)
        np.testing.assert_allclose(together.energies[number], alone.energies[0], rtol=1e-13)
        np.testing.assert_allclose(together.forces[number], alone.forces[0], atol=1e-12)
        np.testing.assert_allclose(together.stresses[number], alone.stresses[0], atol=1e-13)


def test_terms_can_be_for_some_structures():
    pair = Atoms("X2", [[0.0, 0, 0], [0, 0, 1.5]])
    bond = {"type": "harmonic_bond", "terms": [{"atoms": [0, 1], "k": 8.0, "r0": 1.0}]}
    found = instar.single_point([pair, pair, Atoms("X")], bond | {"structures": [1]})
    np.testing.assert_allclose(found.energies, [0, 1, 0])


# Free terms -------------------------------------------------------------------------------


def two_molecules():
    structures = [Atoms("X4", chain(np.random.default_rng(s))) for s in (5, 6)]
    return tables(structures_of(structures), np.float64)


def dihedrals(atoms, count=3):
    numbers = np.array([0.3, np.nan, np.inf])[:count]
    rows = Index.integer(np.array(atoms)[:count], n=8, label=ParticleId)
    return PeriodicDihedral(rows, numbers, numbers, numbers)


ROWS = [[0, 1, 2, 3], [8, 1, 2, 3], [4, 5, 6, 8]]


@jax.jit
def evaluation(potential, particles, systems):
    everything = functools.partial(evaluate, virial=True, per_particle=True)
    return as_result_function(everything)(potential, particles, systems)


def checked(potential, particles, systems):
    found = evaluation(potential, particles, systems)
    found.raise_assertion()
    return found.value


def test_free_terms_change_nothing_to_the_bit(double):
    particles, systems = two_molecules()
    without = checked(dihedrals(ROWS, 1), particles, systems)
    with_free = checked(dihedrals(ROWS), particles, systems)
    for one, other in zip(jax.tree.leaves(without), jax.tree.leaves(with_free), strict=True):
        np.testing.assert_array_equal(one, other)


def test_derivatives_by_parameters_of_free_terms_are_zero(double):
    particles, systems = two_molecules()
    potential = dihedrals(ROWS)

    def total(k, n, phi0):
        other = dataclasses.replace(potential, k=k, n=n, phi0=phi0)
        found = evaluate(other, particles, systems)
        return sum(jnp.sum(values**2) for values in jax.tree.leaves(found))

    numbers = jnp.asarray(potential.k)
    for slopes in jax.jit(jax.grad(total, (0, 1, 2)))(numbers, numbers, numbers):
        assert np.isfinite(slopes[0])
        assert slopes[0] != 0
        np.testing.assert_array_equal(slopes[1:], 0)


def test_terms_of_absent_particles_are_free(double):
    particles, systems = two_molecules()
    system = np.where(np.arange(8) == 6, 2, np.asarray(particles.data.system.indices))
    gone = dataclasses.replace(
        particles.data,
        system=dataclasses.replace(particles.data.system, indices=jnp.asarray(system, jnp.int32)),
        positions=particles.data.positions.at[6].set(jnp.nan),
    )
    potential = recipe_of(SOME).potential(structures_of([Atoms("X4")] * 2))
    found = checked(potential, particles.set_data(gone), systems)
    whole = checked(potential, particles, systems)
    np.testing.assert_array_equal(found.energy[0], whole.energy[0])
    bonds = recipe_of(CONFIGS["harmonic_bond"]).potential(structures_of([Atoms("X4")] * 2))
    left = checked(bonds, particles.set_data(gone), systems)
    term = CONFIGS["harmonic_bond"]["terms"][0]
    positions = np.asarray(particles.data.positions)[4:]
    alone = energy_and_forces("harmonic_bond", term, positions)
    assert float(left.energy[1]) == pytest.approx(alone[0], rel=1e-12)
    np.testing.assert_allclose(left.forces[4:], alone[1], atol=1e-12)


def test_energies_of_particles_are_equal_shares(double):
    particles, systems = two_molecules()
    found = checked(dihedrals(ROWS, 1), particles, systems)
    np.testing.assert_allclose(found.particle_energies[:4], found.energy[0] / 4)
    np.testing.assert_array_equal(found.particle_energies[4:], 0)


# Mistakes ---------------------------------------------------------------------------------


def test_atoms_of_two_systems_in_one_term_are_an_error(double):
    particles, systems = two_molecules()
    message = "PeriodicDihedral: the particles of term 0 are not in one system."
    with raises(AssertionError, message):
        checked(dihedrals([[0, 1, 2, 4]], 1), particles, systems)


def test_shapes_that_do_not_fit_are_errors(double):
    particles, systems = two_molecules()
    one, two = np.ones(1), np.ones(2)
    pair = Index.integer(np.array([[0, 1]]), n=8, label=ParticleId)
    four = Index.integer(np.array([[0, 1, 2, 3]]), n=8, label=ParticleId)
    wrong = {
        "HarmonicAngle is between 3 particles: atoms has the shape (terms, 3), not (1, 2).": (
            HarmonicAngle(pair, one, one)
        ),
        "HarmonicBond has 1 terms, but r0 is of the shape (2,); it needs one row per term.": (
            HarmonicBond(pair, one, two)
        ),
        "RyckaertBellemansDihedral has 6 coefficients per term, C0 … C5: c has the shape "
        "(terms, 6), not (1, 5).": RyckaertBellemansDihedral(four, np.ones((1, 5))),
    }
    for message, potential in wrong.items():
        with raises(PotentialError, message):
            evaluate(potential, particles, systems)


BOND = {"atoms": [0, 1], "k": 1.0, "r0": 1.0}
BEND = {"atoms": [0, 1, 2], "k": 1.0, "theta0": 1.0}
TURN = {"atoms": [0, 1, 2, 3], "k": 1.0, "n": 1, "phi0": 0.0}
MISTAKES = [
    ("harmonic_bond", BOND | {"k": "1 eV"}, ".k: '1 eV' has the wrong unit: a stiffness, such as "
     "eV/angstrom^2 is needed."),
    ("harmonic_bond", BOND | {"k": -1}, ".k: -1 is out of range: must be at least 0"),
    ("harmonic_bond", BOND | {"r00": 1}, ".r00: unknown key; did you mean 'r0'?"),
    ("harmonic_bond", BOND | {"atoms": [0]}, ".atoms: 2 atoms are needed, such as [0, 1]"),
    ("harmonic_bond", BOND | {"atoms": [1, 1]}, ".atoms: an atom is named twice: [1, 1]"),
    ("harmonic_bond", BOND | {"atoms": [0, -1]}, ".atoms: atoms are whole numbers, counted from "
     "0; -1 is none"),
    ("morse_bond", BOND, ".D: is missing"),
    ("harmonic_angle", BEND | {"theta0": "181 deg"}, ".theta0: is between 0 and 180 deg, not 181 "
     "deg"),
    ("harmonic_angle", BEND | {"k": "1 eV"}, ".k: '1 eV' has the wrong unit: a stiffness of an "
     "angle, such as eV/rad^2 is needed."),
    ("harmonic_angle", BEND | {"theta0": "1 eV"}, ".theta0: '1 eV' has the wrong unit: an angle, "
     "such as deg is needed."),
    ("periodic_dihedral", TURN | {"n": 1.5}, ".n: is a whole number from 1, not 1.5"),
    ("periodic_improper", TURN | {"n": 0}, ".n: is a whole number from 1, not 0"),
    ("rb_dihedral", {"atoms": [0, 1, 2, 3], "c": [1.0]}, ".c: 6 coefficients are needed, C0 … C5, "
     "not 1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "term", "message"), MISTAKES)
def test_a_mistake_in_a_term_says_where_it_is(kind, term, message):
    right = CONFIGS[kind]["terms"][0]
    with raises(ConfigurationError, f"potential[0].terms[1]{message}"):
        recipe_of({"type": kind, "terms": [right, term]})


def test_terms_that_are_no_list_are_refused():
    with raises(ConfigurationError, "potential[0].terms: a list of terms is needed"):
        recipe_of({"type": "harmonic_bond", "terms": BOND})


def test_atoms_that_a_structure_lacks_are_an_error():
    message = (
        "harmonic_bond: term 0 is between the atoms [0, 1], but structure 1 has 1 atoms, "
        "counted from 0."
    )
    bond = {"type": "harmonic_bond", "terms": [BOND]}
    with raises(ConfigurationError, message):
        instar.single_point([Atoms("X2", [[0, 0, 0], [0, 0, 1]]), Atoms("X")], bond)


def test_bonds_are_known_to_those_who_ask():
    built = recipe_of([CONFIGS["harmonic_bond"], CONFIGS["morse_bond"]])
    assert [entry.bonded_pairs() for entry in built.entries] == [
        [(0, 1), (2, 1), (2, 3)],
        [(0, 1), (3, 2)],
    ]


def test_an_angle_between_atoms_at_one_place_is_an_error():
    atoms = Atoms("X3", [[0, 0, 0], [0, 0, 0], [1, 0, 0]])
    angle = {"type": "harmonic_angle", "terms": [{"atoms": [0, 1, 2], "k": 1.0, "theta0": 2.0}]}
    with raises(StructureError, "Atoms 0 and 1 of structure 0 are at the same place."):
        instar.single_point(atoms, angle)
