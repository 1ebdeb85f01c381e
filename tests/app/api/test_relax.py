"""`instar.relax`: many structures through few rooms, each as if it were alone."""
# ruff: noqa: E501 (a row is a line where it can be)

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import Calculator
from ase.constraints import FixAtoms
from dynamics.relaxing import SMOOTH, cluster, crystals
from support import raises

import instar
from instar.app.api import relax as door
from instar.app.ase.structures import StructureError
from instar.core.propagator import compilations
from instar.dynamics import relax
from instar.memory import MemoryPlanError
from instar.potentials import PotentialError

pytestmark = pytest.mark.usefixtures("quickly_compiled")

TIGHT = "1e-5 eV/angstrom"


def many(count=9):
    """Crystals and clusters of many sizes."""
    made = [atoms for seed in range(count // 3) for atoms in crystals(seed, strain=0.01)]
    for number in range(0, count, 3):
        made[number] = cluster(5 + number, seed=number)
    return made


@pytest.fixture(scope="module")
def together():
    return instar.relax(many(), SMOOTH, force_tolerance=TIGHT)


def test_results_are_those_of_single_point_in_the_order_of_the_input(together):
    right = instar.single_point(together.structures, SMOOTH)
    assert [len(atoms) for atoms in together.structures] == [len(atoms) for atoms in many()]
    assert together.outcomes == ["converged"] * 9
    assert together.converged.all()
    np.testing.assert_allclose(together.energies, right.energies, atol=1e-12)
    np.testing.assert_allclose(together.stresses, right.stresses, atol=1e-14)
    for found, expected in zip(together.forces, right.forces, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert np.linalg.norm(found, axis=1).max() <= 1e-5
    assert (together.evaluations == together.steps + 1).all()
    assert "9 structures, 9 converged" in repr(together)


def test_who_waits_changes_nothing_and_compiles_nothing(together, monkeypatch):
    monkeypatch.setattr(door, "ROWS", 20)
    method = relax.auto()
    before, said = compilations(method), []
    found = instar.relax(
        many(), SMOOTH, method, force_tolerance=TIGHT, progress=lambda *n: said.append(n)
    )
    assert compilations(method) - before == 1
    assert said == [(n, 9) for n in range(1, 10)]
    np.testing.assert_array_equal(found.steps, together.steps)
    for one, other in zip(found.structures, together.structures, strict=True):
        np.testing.assert_allclose(one.positions, other.positions, atol=1e-8)


def test_a_small_budget_has_less_room_and_the_same_results(together, monkeypatch):
    whole = instar.relax(many(), SMOOTH, force_tolerance=TIGHT, budget="8 MiB")
    np.testing.assert_array_equal(whole.steps, together.steps)
    with pytest.raises(MemoryPlanError, match=r"The largest structure \(16 atoms\) can't be"):
        instar.relax(many(), SMOOTH, "lbfgs", force_tolerance=TIGHT, budget=100_000)


def test_one_without_hope_does_not_stop_the_others(together, monkeypatch):
    monkeypatch.setattr(door, "ROWS", 20)
    given = many()
    given[1].positions[3] = given[1].positions[2]
    found = instar.relax(given, SMOOTH, force_tolerance=TIGHT)
    assert found.outcomes == ["converged", "frozen", *["converged"] * 7]
    assert np.isnan(found.energies[1])
    assert "Look at the atoms" in found.notes[1]
    np.testing.assert_array_equal(found.structures[1].positions, given[1].positions)
    np.testing.assert_array_equal(found.steps[2:], together.steps[2:])


def test_what_has_converged_makes_no_step_and_one_atom_needs_none(together):
    given = [together.structures[2], Atoms("Ar"), Atoms()]
    found = instar.relax(given, SMOOTH, force_tolerance="1.1e-5 eV/angstrom")
    assert found.outcomes == ["converged"] * 3
    np.testing.assert_array_equal(found.steps, 0)
    np.testing.assert_array_equal(found.structures[0].positions, given[0].positions)


SALT = [
    {"type": "buckingham", "cutoff": 4.0, "pairs": {"Na-Cl": {"A": 1000, "rho": 0.3, "C": 0}, "Na-Na": {"A": 0, "rho": 1, "C": 0}, "Cl-Cl": {"A": 0, "rho": 1, "C": 0}}},
    {"type": "coulomb", "method": "ewald", "charges": {"Na": 1, "Cl": -1}},
]  # fmt: skip


def test_structures_without_atoms_do_not_shift_what_is_known_of_the_others():
    salt = [bulk("NaCl", "rocksalt", a, cubic=True) for a in (5.6, 5.2)]
    salt[1].set_cell([5.2, 5.2, 6.0], scale_atoms=True)
    for number, atoms in enumerate(salt):
        atoms.rattle(0.03, seed=number)
    found = instar.relax([Atoms(cell=[3, 3, 3], pbc=True), salt[0], Atoms(), salt[1]], SALT)
    assert found.outcomes == ["converged"] * 4
    right = instar.single_point(found.structures, SALT)
    np.testing.assert_allclose(found.energies, right.energies, atol=1e-9)
    np.testing.assert_allclose(found.forces[3], right.forces[3], atol=1e-9)


def test_what_stays_is_not_rounded_in_single_precision():
    held = cluster(6)
    held.set_constraint(FixAtoms([0, 3]))
    held.set_cell([20.1, 20.2, 20.3])
    found = instar.relax(held, SMOOTH, precision="float32", force_tolerance="1e-3 eV/angstrom")
    moved = found.structures[0]
    np.testing.assert_array_equal(moved.cell.array, held.cell.array)
    np.testing.assert_array_equal(moved.positions[[0, 3]], held.positions[[0, 3]])


def test_no_structures_are_no_results():
    found = instar.relax([], SMOOTH)
    assert (found.structures, found.energies.shape, found.stresses.shape) == ([], (0,), (0, 3, 3))


def test_steps_and_pressures_may_be_one_each():
    found = instar.relax(
        crystals(),
        SMOOTH,
        "fire",
        cell="full",
        pressure=["0 GPa", "0.1 GPa", 0.002],
        stress_tolerance="1e-4 GPa",
        force_tolerance="1e-4 eV/angstrom",
        steps=np.array([500, 500, 3]),
    )
    assert found.outcomes == ["converged", "converged", "out of steps"]
    assert found.steps[2] == 3
    pressures = -np.trace(found.stresses, axis1=1, axis2=2) / 3
    np.testing.assert_allclose(pressures[:2], [0, 0.1 * instar.units.GPa], atol=1e-6)


def test_fixed_atoms_stay():
    held = cluster(6)
    held.set_constraint(FixAtoms([0, 3]))
    found = instar.relax(held, SMOOTH, force_tolerance=TIGHT)
    moved = np.abs(found.structures[0].positions - held.positions).max(axis=1)
    assert (moved[[0, 3]] == 0).all()
    assert (moved[[1, 2, 4]] > 1e-3).all()
    assert found.converged.all()


def test_an_abrupt_end_of_the_potential_is_named_where_nothing_helps():
    cut = {**SMOOTH, "truncation": "truncate", "cutoff": 4.2}
    cut.pop("inner")
    found = instar.relax(crystals(3, 0.4)[1:2], cut, force_tolerance="1e-7 eV/angstrom")
    assert found.outcomes in (["stuck"], ["converged"])
    none = np.zeros((0, 3))
    stuck = door.Ended(none, none, 0.0, none, none, 1, 1, "stuck", ())
    assert "ends abruptly" in door._note(stuck)


TAIL = {k: v for k, v in SMOOTH.items() if k != "inner"} | {"truncation": "tail"}
BAD = {
    "a tolerance of zero": ({"force_tolerance": 0}, ValueError, "A force tolerance is above zero, not 0 eV/Å."),
    "a tolerance below zero": ({"stress_tolerance": "-1 GPa"}, ValueError, "A stress tolerance is above zero, not -0.00624151 eV/Å³."),
    "a tolerance beyond the precision": ({"force_tolerance": 1e-8, "precision": "float32"}, ValueError, "A force tolerance of 1e-08 eV/Å is below what float32 can reach; 5e-07 eV/Å or more is possible."),
    "a tolerance in another unit": ({"force_tolerance": "1 GPa"}, ValueError, "'1 GPa' has the wrong unit: a force, such as eV/angstrom is needed."),
    "steps below zero": ({"steps": -1}, ValueError, "Steps are a whole number from 0 up, not -1."),
    "a pressure on a fixed cell": ({"pressure": 0.001}, ValueError, "A pressure of 0.001 eV/Å³ changes nothing where the cell is fixed."),
    "a method that there is not": ({"method": "bfgs"}, ValueError, "A method of relaxation is not 'bfgs'; did you mean 'lbfgs'?"),
    "a cell that there is not": ({"cell": "ful"}, ValueError, "A cell is not 'ful'; did you mean 'full'?"),
    "too few pressures": ({"cell": "full", "pressure": [0, 1]}, ValueError, "There are 3 structures, but 2 numbers for pressure."),
    "a mask of four": ({"cell": "full", "mask": [1, 0, 1, 0]}, ValueError, "A mask of strains is six bools (xx, yy, zz, yz, xz, xy) or a symmetric matrix, one for all systems or one per system; not [1, 0, 1, 0]."),
    "a mask of a fixed cell": ({"mask": [1, 1, 0, 0, 0, 0]}, ValueError, "A mask has no meaning where the cell is fixed."),
    "a mask of a constant volume": ({"cell": "constant_volume", "mask": [1, 1, 0, 0, 0, 0]}, ValueError, "A mask has no meaning for cell: constant_volume, which moves all components together."),
    "knobs that are one each": ({"method": relax.auto(stiffness=[1.0, 2.0, 3.0])}, ValueError, "The stiffness of a method is one number for all structures here, not [1.0, 2.0, 3.0]."),
    "a tail and a moving cell": ({"cell": "full", "potential": TAIL}, PotentialError, "The pressure of truncation: tail is not the derivative of its energy, so a cell can't be relaxed with it (cell: full)."),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_words_before_anything_is_compiled(name):
    options, error, line = BAD[name]
    with raises(error, line):
        instar.relax(crystals(), **{"potential": SMOOTH, **options})


def test_cells_that_can_not_move_are_named():
    with raises(
        ValueError,
        "System 1 does not repeat along all axes, so it has no volume to change (cell: full).",
    ):
        instar.relax([crystals()[0], cluster(4)], SMOOTH, cell="full")
    held = crystals()[0]
    held.set_constraint(FixAtoms([0]))
    with raises(ValueError, "A cell can't change around fixed atoms."):
        instar.relax(held, SMOOTH, cell="full")
    with raises(StructureError, "Structures are ase.Atoms or a list of them, not 3."):
        instar.relax(3, SMOOTH)


def test_a_calculator_without_stress_moves_no_cell():
    blind = instar.ase_potential(Blind())
    copper = bulk("Cu", cubic=True)
    with raises(
        ValueError,
        "The calculator Blind has no stress, which a cell needs to move (cell: full).",
    ):
        instar.relax(copper, blind, cell="full")
    found = instar.relax(copper, blind)
    assert found.outcomes == ["converged"]
    assert np.isnan(found.stresses).all()


class Blind(Calculator):
    """A calculator without stresses."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012 (as ASE declares it)

    def calculate(self, atoms=None, properties=None, system_changes=()):
        self.results = {"energy": 0.0, "forces": np.zeros((len(atoms), 3))}


def test_distances_are_refused():
    rigid = {"type": "distance_constraint", "terms": [{"atoms": [0, 1], "r0": 3.8}]}
    with raises(PotentialError, "Relaxation does not hold distances."):
        instar.relax(cluster(4), [SMOOTH, rigid])
