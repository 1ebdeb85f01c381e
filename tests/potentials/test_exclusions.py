"""Excluded pairs: who is excluded, that exactly they are, and what remains of them."""

import itertools

import jax
import numpy as np
import pytest
from ase import Atoms

import instar
from instar.app.ase.structures import structures_of, tables
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.core.propagator import propagate_and_fix
from instar.core.result import as_result_function
from instar.neighbors import NeighborList
from instar.potentials import (
    Exclusions,
    LennardJones,
    Pair,
    PotentialError,
    ScreenedCoulomb,
    evaluate,
)
from instar.potentials.exclusions import pairs_apart
from instar.potentials.exclusions_entry import exclusions_of
from potentials.catalog import lj, screened, shifted
from potentials.states import chain

pytestmark = pytest.mark.usefixtures("quickly_compiled")

CUTOFF = 6.0
ITSELF = instar.lens(lambda state: state)
LJ = {
    "type": "lennard_jones",
    "cutoff": CUTOFF,
    "truncation": "shift",
    "mixing": "lorentz_berthelot",
    "parameters": {"A": {"epsilon": 0.010, "sigma": 2.4}, "B": {"epsilon": 0.016, "sigma": 2.7}},
}
DSF = {"type": "cutoff_coulomb", "cutoff": CUTOFF, "method": "dsf", "alpha": 0.2}
BONDS = {
    "type": "harmonic_bond",
    "terms": [{"atoms": [a, a + 1], "k": 0.0, "r0": 1.5} for a in range(3)],
}
FACTORS = {"type": "exclusions", "pair": [0, 0.2, 0.5], "coulomb": [0, 0.3, 0.8]}


def chains():
    """Chains of four atoms in cells of every kind, as structures."""
    rng = np.random.default_rng(3)
    structures = []
    for kind in ("cube", "skewed", "left_handed", "tiny", "slab", "open"):
        m = chain(kind, rng)
        atoms = Atoms(["X"] * 4, m.positions, cell=m.vectors, pbc=m.periodic)
        atoms.set_array("labels", np.array(m.labels))
        atoms.set_initial_charges([0.5, -0.4, 0.3, -0.4])
        structures.append(atoms)
    return structures


def difference(atoms, i, j):
    return atoms.get_distance(i, j, mic=bool(atoms.pbc.any()), vector=True)


def taken_away(atoms, function, kinds, scales):
    """What leaves energy, forces and virial when pairs 1-2, 1-3, 1-4 are scaled."""
    energy, forces, virial = 0.0, np.zeros((4, 3)), np.zeros((3, 3))
    for i, j in itertools.combinations(range(4), 2):
        d = difference(atoms, i, j)
        r = np.linalg.norm(d)
        u, slope = function(np.array(r), kinds[i], kinds[j])
        scale = scales[j - i - 1] - 1
        energy += scale * u
        forces[i] += scale * slope * d / r
        forces[j] -= scale * slope * d / r
        virial -= scale * slope * np.outer(d, d) / r
    return energy, forces, virial


@pytest.mark.parametrize(
    ("config", "function", "kinds", "scales"),
    [
        (LJ, shifted(lj), "labels", FACTORS["pair"]),
        # The bare interaction is taken away; damping and shifts stay, as for all pairs.
        pytest.param(
            *(DSF, screened(0.0), "initial_charges", FACTORS["coulomb"]), marks=pytest.mark.long
        ),
    ],
    ids=["lennard_jones", "dsf"],
)
def test_excluded_pairs_lose_just_their_interaction(config, function, kinds, scales):
    structures = chains()
    before = instar.single_point(structures, config)
    after = instar.single_point(structures, [config, BONDS, FACTORS])
    for number, atoms in enumerate(structures):
        values = [v.item() for v in atoms.arrays[kinds]]
        energy, forces, virial = taken_away(atoms, function, values, scales)
        size = np.abs(before.forces[number]).max() + np.abs(forces).max()
        np.testing.assert_allclose(
            after.energies[number] - before.energies[number], energy, atol=1e-13 * size, rtol=1e-10
        )
        np.testing.assert_allclose(
            after.forces[number] - before.forces[number], forces, atol=1e-12 * size
        )
        stress = after.stresses[number] - before.stresses[number]
        if atoms.cell.rank == 3:
            volume = atoms.get_volume()
            np.testing.assert_allclose(-stress * volume, virial, atol=1e-11 * size)


@pytest.mark.long
def test_single_precision_does_not_drown_in_excluded_pairs():
    atoms = Atoms("X3", [[0, 0, 0], [0.9, 0, 0], [0.4, 3.4, 0]])
    atoms.set_array("labels", np.array(["A", "A", "B"]))
    config = [LJ, {"type": "exclusions", "bonds": [[0, 1]]}]
    single, double = (instar.single_point(atoms, config, p) for p in ("float32", "float64"))
    np.testing.assert_allclose(single.energies, double.energies, rtol=1e-5)
    np.testing.assert_allclose(single.forces[0], double.forces[0], rtol=1e-4, atol=1e-7)


@jax.jit
def _updated(neighbors, particles, systems):
    return as_result_function(lambda n: n.updated(particles, systems, where=ITSELF))(neighbors)


def test_the_list_leaves_out_one_image_of_each_pair():
    structures = [a for a in chains() if a.pbc.any()]
    batch = structures_of(structures)
    bonds = np.concatenate([start + np.array([[0, 1], [1, 2], [2, 3]]) for start in batch.starts])
    exclusions = Exclusions.from_bonds(bonds, len(batch.positions), (0, 0, 0), (0, 0, 0))
    with jax.enable_x64(True):
        particles, systems = tables(batch, np.float64)
        counts = []
        for excluded in (None, exclusions.partners):
            made = NeighborList.of(particles, systems, CUTOFF, excluded=excluded)
            found = propagate_and_fix(lambda n: _updated(n, particles, systems), made)[0]
            near = np.asarray(found.matrix().neighbors.indices)
            counts.append([(near == k).sum(1) for k in range(len(near))])
    everyone, fewer = (np.array(c) for c in counts)
    expected = np.kron(np.eye(len(structures), dtype=int), 1 - np.eye(4, dtype=int))
    np.testing.assert_array_equal(everyone - fewer, expected)


@pytest.mark.parametrize(
    ("bonds", "expected"),
    [
        ([[0, 1], [1, 2], [2, 3], [3, 4]], [4, 3, 2]),  # a chain of five
        ([[0, 1], [1, 2], [2, 3], [3, 0]], [4, 2, 0]),  # a ring of four: 1-4 is 1-2 here
        ([[k, (k + 1) % 6] for k in range(6)], [6, 6, 3]),  # benzene
        ([[0, 1], [1, 0], [1, 2]], [2, 1, 0]),  # a bond named twice
        ([], [0, 0, 0]),
    ],
)
def test_pairs_apart_are_counted_once_and_at_their_nearest(bonds, expected):
    levels = pairs_apart(bonds, 6)
    assert [len(level) for level in levels] == expected
    everything = np.concatenate(levels)
    assert len(np.unique(everything, axis=0)) == len(everything)
    assert (everything[:, 0] < everything[:, 1]).all()


def test_an_excluded_pair_that_crosses_half_the_cell_has_no_memory():
    atoms = Atoms("X3", [[0, 0, 0], [4.4, 0, 0], [2, 4, 4.0]], cell=[9] * 3, pbc=True)
    atoms.set_array("labels", np.array(["A", "A", "B"]))
    config = [LJ, {"type": "exclusions", "bonds": [[0, 1]]}]
    atoms.calc = instar.calculator(config, skin=1.0)
    atoms.get_potential_energy()
    atoms.positions[1, 0] = 4.6
    fresh = instar.single_point(atoms, config)
    np.testing.assert_allclose(atoms.get_potential_energy(), fresh.energies[0], rtol=1e-12)
    np.testing.assert_allclose(atoms.get_forces(), fresh.forces[0], atol=1e-13)


def test_a_switched_coulomb_interaction_refuses_exclusions():
    formula = ScreenedCoulomb(np.float64(0.0))
    pair = Pair(formula, np.float64(6), np.float64(4), truncation="switch", strength="charges")
    with pytest.raises(PotentialError, match="knows no excluded pairs"):
        pair.excluding(Exclusions.of([[0, 1]], 2))


WATER = {"type": "rigid_water", "terms": [{"atoms": [0, 1, 2], "oh": 0.96, "hh": 1.52}]}


def test_a_water_sees_only_its_images():
    water = Atoms("OH2", [[0, 0, 0], [0.96, 0, 0], [-0.24, 0.93, 0]], cell=[8] * 3, pbc=True)
    water.set_initial_charges([-0.8, 0.4, 0.4])
    found = instar.single_point(water, [{"type": "coulomb", "accuracy": 1e-7}, WATER])
    assert abs(found.energies[0]) < 0.05  # with itself it would be −14 eV


def excluded(structures, *entries):
    """Pairs with both factors, as they follow from a configuration."""
    exclusions = exclusions_of(recipe_of(list(entries)).entries, structures_of(structures))
    assert exclusions is not None
    pairs = np.asarray(exclusions.pairs.indices).tolist()
    factors = zip(exclusions.pair_factor.tolist(), exclusions.coulomb_factor.tolist(), strict=True)
    return {tuple(pair): factor for pair, factor in zip(pairs, factors, strict=True)}


def test_bonds_of_constraints_and_springs_exclude_by_themselves():
    springs = {
        "type": "harmonic_bond",
        "terms": [{"atoms": [0, h], "k": 0.0, "r0": 0.96} for h in (1, 2)],
    }
    none = (0.0, 0.0)
    for entry in (WATER, springs):
        assert excluded([Atoms("OH2")], entry) == {(0, 1): none, (0, 2): none, (1, 2): none}


def test_factors_may_differ_between_structures():
    structures = [Atoms("X4"), Atoms("X4")]
    first, second = ({**FACTORS, "structures": [k], "pair": [0, 0, f]} for k, f in ((0, 0), (1, 1)))
    found = excluded(structures, LJ, BONDS, first, second)
    assert found[0, 3] == (0.0, 0.8)
    assert found[4, 7] == (1.0, 0.8)
    assert found[4, 6] == (0.0, 0.3)
    plain = excluded(structures, LJ, BONDS, {"type": "exclusions"})
    assert (0, 3) not in plain  # a factor of one excludes nothing
    with pytest.raises(PotentialError, match="structure 0 is given two of them"):
        excluded(structures, LJ, BONDS, FACTORS, FACTORS)


def test_a_list_that_leaves_out_other_pairs_is_refused():
    structures = chains()[:1]
    batch = structures_of(structures)
    potential = Pair.of(
        LennardJones, {x: {"epsilon": 0.01, "sigma": 2.0} for x in "AB"}, CUTOFF, mixing="geometric"
    )
    exclusions = Exclusions.of([[0, 1]], 4)
    with jax.enable_x64(True):
        particles, systems = tables(batch, np.float64)
        for potential_of, excluded in (
            (potential, exclusions.partners),
            (potential.excluding(exclusions), None),
        ):
            neighbors = NeighborList.of(particles, systems, CUTOFF, excluded=excluded)
            with pytest.raises(PotentialError, match="leaves out other pairs"):
                evaluate(potential_of, particles, systems, neighbors)
        others = Exclusions.of([[0, 2]], 4).partners
        neighbors = NeighborList.of(particles, systems, CUTOFF, excluded=others)
        result = as_result_function(evaluate)(
            potential.excluding(exclusions), particles, systems, neighbors
        )
        messages = [str(a.exception()) for a in result.failed_assertions]
        assert any("leaves out other pairs" in message for message in messages)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 4]], "Excluded pairs are rows 0 … 3 of the particles."),
        ([[1, 1]], "A particle can't be excluded from itself."),
        ([[0, 1], [1, 0]], "A pair is excluded twice; name it once."),
    ],
)
def test_pairs_that_make_no_sense_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        Exclusions.of(pairs, 4)


def test_exclusions_of_nothing_are_a_mistake():
    angle = {"type": "harmonic_angle", "terms": [{"atoms": [0, 1, 2], "k": 1, "theta0": 2}]}
    with pytest.raises(ConfigurationError, match="nothing is bonded, so nothing would be excluded"):
        recipe_of([LJ, angle, FACTORS])


def test_charges_interact_once():
    with pytest.raises(ConfigurationError, match="Charges would interact twice"):
        recipe_of([DSF, {"type": "coulomb"}])


def test_exclusions_alone_are_no_potential():
    with pytest.raises(ConfigurationError, match="no interaction of pairs to exclude them from"):
        recipe_of({"type": "exclusions", "bonds": [[0, 1]]})
