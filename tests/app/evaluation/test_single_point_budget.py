import logging

import jax
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk

import instar
from instar.app.config.potentials import recipe_of
from instar.app.evaluation import within_budget
from instar.app.evaluation.in_batches import StructuresWork
from instar.app.evaluation.point import tabled
from instar.core.data import Index
from instar.core.typing import ParticleId
from instar.memory import Footprint, MemoryPlanError, plan, run
from instar.potentials import HarmonicBond, HarmonicTrap

pytestmark = pytest.mark.usefixtures("quickly_compiled")

ARGON = {
    "type": "lennard_jones",
    "cutoff": 8.0,
    "parameters": {
        "Ar": {"epsilon": 0.0104, "sigma": 3.4},
        "Kr": {"epsilon": 0.014, "sigma": 3.6},
    },
    "mixing": "lorentz_berthelot",
}
SALT = [
    {"type": "coulomb", "accuracy": 1e-4, "charges": {"Na": 1.0, "Cl": -1.0}},
    {
        "type": "lennard_jones",
        "cutoff": 6.0,
        "parameters": {
            "Na": {"epsilon": 0.006, "sigma": 2.5},
            "Cl": {"epsilon": 0.004, "sigma": 4.4},
        },
        "mixing": "lorentz_berthelot",
    },
]


def crystals(count, largest=6):
    rng = np.random.default_rng(0)
    made = []
    for number in range(count):
        cells = int(rng.integers(1, largest + 1))
        edge = 5.3 + rng.uniform(0, 0.4)
        atoms = bulk(("Ar", "Kr")[number % 2], "fcc", a=edge, cubic=True) * ((cells,) * 3)
        atoms.rattle(0.1, seed=number)
        made.append(atoms)
    return made


@pytest.fixture
def outcomes(monkeypatch):
    """How planned runs went."""
    seen = []

    def watched(*arguments, **options):
        seen.append(run(*arguments, **options))
        return seen[-1]

    run = within_budget.run
    monkeypatch.setattr(within_budget, "run", watched)
    return seen


def assert_equal_to_rounding(found, expected):
    np.testing.assert_allclose(found.energies, expected.energies, rtol=1e-12)
    np.testing.assert_allclose(found.stresses, expected.stresses, rtol=1e-9, atol=1e-14)
    for forces, wanted in zip(found.forces, expected.forces, strict=True):
        np.testing.assert_allclose(forces, wanted, rtol=1e-9, atol=1e-12)


def test_padded_batches_of_structures_equal_those_at_once():
    structures = crystals(20, largest=3)
    structures.insert(7, Atoms())
    with jax.enable_x64(True):
        point = tabled(structures, recipe_of(ARGON), "float64")
        work = StructuresWork.of(point.potential, point.particles.data, point.systems.data)
        by_atoms = Footprint(0.0, {"systems": 1.0, "atoms": 1.0, "images": 0.0}, "a test")
        made = plan(by_atoms, work.measures, "1 GiB", worthwhile=250)
        energies, forces = np.full(21, np.nan), np.full((len(work.particles.positions), 3), np.nan)

        def consume(items, value):
            atoms = work.atoms_of(items)
            energies[items] = value.energies[: len(items)]
            forces[atoms] = value.forces[: len(atoms)]

        run(work, made, consume)
    assert len(made.batches) > 3
    whole = instar.single_point(structures, ARGON)
    np.testing.assert_allclose(energies, whole.energies, rtol=1e-12)
    np.testing.assert_allclose(forces, np.concatenate(whole.forces), rtol=1e-9, atol=1e-12)


@pytest.mark.long
def test_structures_in_batches_equal_those_at_once(outcomes):
    structures = crystals(60)
    found = instar.single_point(structures, ARGON, budget="35 MiB")
    (outcome,) = outcomes
    assert len(outcome.plan.batches) > 1
    assert len(outcome.plan.shapes) <= 2
    assert outcome.predicted_peak <= outcome.plan.limit
    assert_equal_to_rounding(found, instar.single_point(structures, ARGON))


@pytest.mark.long
def test_a_structure_that_can_not_fit_is_refused_with_numbers():
    large = bulk("Ar", "fcc", a=5.3, cubic=True) * (20, 20, 20)
    with pytest.raises(
        MemoryPlanError, match=r"Item 1 \(1 systems, 32000 atoms, \d+ images\) needs"
    ):
        instar.single_point([bulk("Ar", "fcc", a=5.3, cubic=True), large], ARGON, budget="30 MiB")


@pytest.mark.long
def test_a_list_that_grows_fourfold_is_planned_anew(outcomes, caplog):
    rng = np.random.default_rng(1)
    grid = np.stack(np.meshgrid(*[np.arange(7)] * 3), -1).reshape(-1, 3)
    gas = [
        Atoms("Ar343", 9.0 * grid + rng.normal(0, 0.3, grid.shape), cell=[63] * 3, pbc=True)
        for _ in range(40)
    ]
    drops = [
        Atoms("Ar343", 3.8 * grid + rng.normal(0, 0.1, grid.shape), cell=[63] * 3, pbc=True)
        for _ in range(40)
    ]
    caplog.set_level(logging.INFO, "instar.memory")
    found = instar.single_point(gas + drops, ARGON, budget="21 MiB")
    (outcome,) = outcomes
    assert "re-planned" in [event.kind for event in outcome.events]
    assert "results are equal to rounding" in caplog.text
    assert outcome.predicted_peak <= outcome.plan.limit
    assert_equal_to_rounding(found, instar.single_point(gas + drops, ARGON))


@pytest.mark.long
def test_potentials_that_know_their_structures_are_computed_in_parts():
    salt = [bulk("NaCl", "rocksalt", a=5.6 + 0.02 * k, cubic=True) * (4, 4, 4) for k in range(8)]
    for number, atoms in enumerate(salt):
        atoms.rattle(0.05, seed=number)
    whole = instar.single_point(salt, SALT)
    parts = instar.single_point(salt, SALT, budget="60 MiB")
    np.testing.assert_allclose(parts.energies, whole.energies, rtol=1e-6)
    for forces, wanted in zip(parts.forces, whole.forces, strict=True):
        np.testing.assert_allclose(forces, wanted, atol=1e-4)


@pytest.mark.long
def test_one_structure_of_such_a_potential_that_can_not_fit_is_refused():
    salt = bulk("NaCl", "rocksalt", a=5.6, cubic=True) * (8, 8, 8)
    with pytest.raises(MemoryPlanError, match=r"Structure 0 \(4096 atoms\) needs .* may be used"):
        instar.single_point(salt, SALT, budget="20 MiB")


@pytest.mark.long
def test_a_potential_object_that_names_atoms_is_never_used_for_others():
    salt = [bulk("NaCl", "rocksalt", a=5.6, cubic=True) * (6, 6, 6) for _ in range(2)]
    for atoms in salt:
        atoms.pbc = False  # a trap has one centre
    bonds = Index.integer([[0, 1]], n=len(salt[0]) * 2, label=ParticleId)
    bonded = HarmonicBond(bonds, np.array([1.0]), np.array([2.0]))
    with pytest.raises(MemoryPlanError, match="may hold for all of them only"):
        instar.single_point(salt, bonded + HarmonicTrap(np.float64(1), np.zeros(3)), budget="1 MiB")
