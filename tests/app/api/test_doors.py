"""`single_point` and `calculator`: reference values, ASE's own tools, clear errors."""

import importlib
import subprocess
import sys

import jax
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.calculator import PropertyNotImplementedError
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS
from support import raises

import instar
from instar.app.ase.structures import StructureError
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.app.config.units import UnitError, quantity
from instar.app.run.directory import RunDirectoryError
from instar.potentials import LennardJones, Pair, PotentialError

pytestmark = pytest.mark.usefixtures("quickly_compiled")

ARGON = {
    "type": "lennard_jones",
    "cutoff": "8.5 angstrom",
    "truncation": "shift",
    "mixing": "lorentz_berthelot",
    "parameters": {"Ar": {"epsilon": "0.0104 eV", "sigma": "3.40 angstrom"}},
}
REDUCED = {
    "type": "lennard_jones",
    "cutoff": 2.6,
    "parameters": {"X": {"epsilon": 1.0, "sigma": 1.0}},
}


def pair(symbol, distance):
    return Atoms([symbol, symbol], [[0, 0, 0], [0, 0, distance]])


def test_pair_values_of_the_reference():
    one, two = pair("X", 1.5), pair("X", 2.5)
    found = instar.single_point([one, two], REDUCED)
    np.testing.assert_allclose(found.energies, [-0.320336594279, -0.016316891136], atol=1e-12)
    np.testing.assert_allclose(found.forces[0][1], [0, 0, -1.158028831046], atol=1e-12)
    assert np.isnan(found.stresses).all()
    assert repr(found).splitlines() == [
        "SinglePoint of 2 structures",
        "  0: -0.320337 eV, forces up to 1.158 eV/Å",
        "  1: -0.016317 eV, forces up to 0.039 eV/Å",
    ]
    assert "<td>-0.320337</td><td>2</td>" in found._repr_html_()


def test_morse_value_of_the_reference():
    morse = {"type": "morse", "cutoff": 5, "parameters": {"X": {"D": 4.5, "a": 2, "r0": 1.45}}}
    found = instar.single_point(pair("X", 1.6), morse)
    np.testing.assert_allclose(found.energies[0] + 4.5, 0.302288376288, atol=1e-12)
    np.testing.assert_allclose(found.forces[0][1, 2], -3.456118522578, atol=1e-11)


def lattice(kind, distance):
    """Vectors of a Bravais lattice with that distance of nearest neighbors."""
    cells = {
        "sc": np.eye(3),
        "fcc": np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) / np.sqrt(2),
        "bcc": np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]) / np.sqrt(3),
    }
    return Atoms(["X"], [[0, 0, 0]], cell=cells[kind] * distance, pbc=True)


def hcp(distance):
    cell = np.array([[1, 0, 0], [-0.5, np.sqrt(0.75), 0], [0, 0, np.sqrt(8 / 3)]]) * distance
    return Atoms("X2", scaled_positions=[[0, 0, 0], [1 / 3, 2 / 3, 0.5]], cell=cell, pbc=True)


def test_lattice_sums_of_the_reference():
    # One atom or two a cell, each seeing thousands of images. With a tail the sum to 10 σ
    # differs from the full one by what the lattice does not share with a fluid: below 2e-4.
    distances = {"fcc": 1.090173, "bcc": 1.068432, "sc": 1.067085}
    lattices = [lattice(kind, distance) for kind, distance in distances.items()]
    lattices.append(hcp(1.090167))
    found = instar.single_point(lattices, REDUCED | {"cutoff": 10, "truncation": "tail"})
    per_atom = found.energies / [len(atoms) for atoms in lattices]
    np.testing.assert_allclose(per_atom, [-8.610199, -8.237291, -5.690955, -8.611069], atol=2e-4)
    for forces in found.forces:
        np.testing.assert_allclose(forces, 0, atol=1e-12)


def test_ase_relaxes_argon_to_the_reference():
    atoms = bulk("Ar", "fcc", a=5.4)
    atoms.calc = instar.calculator(ARGON)
    BFGS(FrechetCellFilter(atoms), logfile=None).run(fmax=1e-6, steps=60)
    np.testing.assert_allclose(atoms.get_volume() ** (1 / 3) * 4 ** (1 / 3), 5.2686516, atol=2e-5)
    np.testing.assert_allclose(atoms.get_potential_energy(), -0.077617925, atol=1e-9)


def test_the_calculator_agrees_with_itself_as_atoms_move_and_with_single_point():
    atoms = bulk("Ar", "fcc", a=5.3, cubic=True) * (2, 2, 2)
    atoms.calc = instar.calculator(ARGON, skin=0.5)
    rng = np.random.default_rng(0)
    for _ in range(2):
        atoms.positions += rng.normal(0, 0.12, atoms.positions.shape)
        point = instar.single_point(atoms, ARGON)
        np.testing.assert_allclose(atoms.get_potential_energy(), point.energies[0], rtol=1e-12)
        np.testing.assert_allclose(atoms.get_forces(), point.forces[0], atol=1e-12)
        stress = atoms.get_stress(voigt=False)
        np.testing.assert_allclose(stress, point.stresses[0], atol=1e-14)
    np.testing.assert_allclose(
        atoms.get_potential_energies().sum(), atoms.get_potential_energy(), rtol=1e-12
    )


def test_structures_of_any_mix_keep_their_order_and_are_as_if_alone():
    structures = [
        bulk("Ar", "fcc", a=5.3),
        Atoms("Ar"),
        bulk("Ar", "fcc", a=5.2, cubic=True) * (2, 2, 3),
        Atoms(),
        pair("Ar", 3.9),
    ]
    together = instar.single_point(structures, ARGON)
    assert [len(f) for f in together.forces] == [len(s) for s in structures]
    alone = instar.single_point([structures[4]], ARGON)
    np.testing.assert_allclose(alone.energies[0], together.energies[4], rtol=1e-12)
    assert together.energies[1] == together.energies[3] == 0
    assert instar.single_point([], ARGON).energies.shape == (0,)


def test_precision_is_scoped_and_asked_for():
    before = jax.config.jax_enable_x64
    double = instar.single_point(pair("Ar", 3.9), ARGON)
    single = instar.single_point(pair("Ar", 3.9), ARGON, precision="float32")
    assert double.energies.dtype == np.float64
    assert single.energies.dtype == np.float32
    np.testing.assert_allclose(single.energies, double.energies, rtol=1e-5)
    assert jax.config.jax_enable_x64 == before
    with pytest.raises(ValueError, match=r"precision must be one of .*, not 'half'"):
        instar.single_point(pair("Ar", 3.9), ARGON, precision="half")


def test_parameters_that_lost_digits_are_refused():
    with jax.enable_x64(False):
        coarse = Pair(LennardJones(jax.numpy.float32(0.01), jax.numpy.float32(3.4)), np.float64(8))
    with pytest.raises(PotentialError, match="float32, but float64 is asked for"):
        instar.single_point(pair("Ar", 3.9), coarse)


@pytest.mark.parametrize(
    ("config", "messages"),
    [
        ({"type": "lennard_jonse"}, ["no type 'lennard_jonse'; did you mean 'lennard_jones'"]),
        ({"cutoff": 3}, ["has no type"]),
        (ARGON | {"cutof": 3}, ["potential[0].cutof: unknown key; did you mean 'cutoff'"]),
        (ARGON | {"cutoff": "8 eV"}, ["'8 eV' has the wrong unit: a length"]),
        (ARGON | {"cutoff": "-8 Å"}, ["potential[0].cutoff"]),
        (ARGON | {"truncation": "shifted"}, ["potential[0].truncation"]),
        (ARGON | {"truncation": "switch"}, ["inner"]),
        (ARGON | {"parameters": {"Ar": {"epsilon": 1}}}, ["parameters.Ar.sigma: is missing"]),
        (
            ARGON | {"pairs": {name: {"epsilon": 1, "sigma": 1} for name in ("A-K", "K-A")}},
            ["given twice"],
        ),
        (ARGON | {"parameters": {"Ar": {"epsilon": -1, "sigma": 1}}}, ["parameters.Ar.epsilon"]),
        (ARGON | {"cutoff": "5 nm^999"}, ["potential[0].cutoff"]),
        (ARGON | {"pairs": {"ArKr": {"epsilon": 1, "sigma": 1}}}, ["not a pair of labels"]),
        (
            {"type": "morse", "cutoff": "5 K", "parameters": {"Ar": {"D": 1, "a": 1, "r": 1}}},
            ["cutoff", "parameters.Ar.r0: is missing", "did you mean 'r0'"],
        ),
        (
            {"type": "harmonic_trap", "stiffness": "1 eV"},
            ["potential[0].stiffness[0]: '1 eV' has the wrong unit: a stiffness"],
        ),
        (
            {"type": "wall", "epsilon": 1, "sigma": 1, "normal": [0, 0, 0]},
            ["potential[0].normal: a direction is not zero"],
        ),
        ("lj", ["not 'lj'"]),
        ([], ["not []"]),
    ],
)
def test_mistakes_in_a_configuration_are_all_named(config, messages):
    with pytest.raises(ConfigurationError) as caught:
        recipe_of(config)
    for message in messages:
        assert message in str(caught.value)


def test_a_missing_pair_is_named_and_only_where_the_two_meet():
    both = ARGON | {
        "mixing": None,
        "parameters": ARGON["parameters"] | {"Kr": {"epsilon": 1, "sigma": 3}},
    }
    apart = [pair("Ar", 3.9), pair("Kr", 3.9)]
    assert np.isfinite(instar.single_point(apart, both).energies).all()
    together = Atoms("ArKr", [[0, 0, 0], [0, 0, 4]])
    with pytest.raises(
        StructureError, match="Structure 1: LennardJones has no parameters for the pair Ar-Kr"
    ):
        instar.single_point([apart[0], together], both)
    with pytest.raises(StructureError, match="Structure 0: LennardJones has no parameters for Xe"):
        instar.single_point(pair("Xe", 4), both)


@pytest.mark.parametrize(
    ("atoms", "error", "message"),
    [
        (pair("Ar", 0.0), StructureError, "Atoms 0 and 1 of structure 0 are at the same place"),
        (Atoms("Ar", [[np.nan, 0, 0]]), StructureError, "atom 0 of structure 0"),
        (Atoms("Ar", cell=[1, 1, 0], pbc=True), StructureError, "length zero"),
        ("Ar.xyz", StructureError, "must be an ase.Atoms"),
    ],
)
def test_structures_that_cannot_be_computed_are_errors(atoms, error, message):
    with pytest.raises(error, match=message):
        instar.single_point([atoms], ARGON)


def test_no_structures_at_all_is_a_clear_error():
    with pytest.raises(StructureError, match="a list of them, not None"):
        instar.single_point(None, ARGON)


@pytest.mark.parametrize("door", [instar.open, instar.resume])
def test_a_folder_that_is_not_a_path_is_a_clear_error(door):
    with raises(RunDirectoryError, "The folder of a run is a path, not None."):
        door(None)


def test_fields_are_refused_along_periodic_axes():
    trap = {"type": "harmonic_trap", "stiffness": "1 eV/angstrom^2"}
    with pytest.raises(StructureError, match="along an axis that repeats"):
        instar.single_point(bulk("Ar", "fcc", a=5.3), trap)


def test_charges_come_from_the_structure_or_by_label():
    coulomb = {"type": "cutoff_coulomb", "cutoff": "6 Å", "method": "plain"}
    salt = Atoms("NaCl", [[0, 0, 0], [0, 0, 2.0]])
    by_label = instar.single_point(salt, coulomb | {"charges": {"Na": 1, "Cl": "-1 e"}})
    salt.set_initial_charges([1, -1])
    np.testing.assert_allclose(by_label.energies, [-14.39964547842567 / 2], rtol=1e-14)
    np.testing.assert_allclose(instar.single_point(salt, coulomb).energies, by_label.energies)
    with pytest.raises(StructureError, match="no charge for 'Cl'"):
        instar.single_point(salt, coulomb | {"charges": {"Na": 1}})


def test_missing_charges_are_an_error():
    coulomb = {"type": "cutoff_coulomb", "cutoff": 6}
    for config in (coulomb, coulomb | {"charges": {}}):
        with pytest.raises(StructureError, match="no charge"):
            instar.single_point(Atoms("NaCl", [[0, 0, 0], [0, 0, 2.0]]), config)


def test_the_calculator_notices_labels_and_survives_an_error():
    atoms = Atoms("Ar2", [[0, 0, 0], [0, 0, 3.9]], cell=[30, 30, 9], pbc=False)
    both = ARGON["parameters"] | {"Kr": {"epsilon": 0.02, "sigma": 3.6}}
    config = ARGON | {"parameters": both}
    atoms.calc = instar.calculator(config)
    first = atoms.get_potential_energy()
    atoms.pbc = True
    atoms.positions[1] = atoms.positions[0]
    with pytest.raises(StructureError, match="are at the same place"):
        atoms.get_potential_energy()
    atoms.positions[1] = [0, 0, 3.9]
    periodic = atoms.get_potential_energy()
    assert periodic < first - 1e-4  # it now sees an image along the short edge
    atoms.set_array("labels", np.array(["Kr", "Kr"]))
    assert atoms.get_potential_energy() < periodic - 1e-3


def test_single_precision_keeps_its_digits_far_outside_the_cell():
    near = Atoms("Ar2", [[0, 0, 0], [0, 0, 3.9]], cell=[20, 20, 20], pbc=True)
    far = near.copy()
    far.positions += 20 * 10**5
    found = instar.single_point([near, far], ARGON, precision="float32").energies
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    far.pbc = False
    with pytest.raises(StructureError, match=r"resolves only 0\.\d+ Å"):
        instar.single_point(far, ARGON, precision="float32")


def test_empty_structures_alone_are_no_error():
    assert instar.single_point([Atoms()], ARGON).energies.tolist() == [0]


def test_no_stress_without_a_cell():
    atoms = pair("Ar", 3.9)
    atoms.calc = instar.calculator(ARGON)
    assert atoms.get_potential_energy() < 0
    with pytest.raises(PropertyNotImplementedError):
        atoms.get_stress()


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("158.5 K", (1, 0, 0, 0, 0, 0), 158.5 * 8.617333262145179e-5),
        ("1 kJ/mol", (1, 0, 0, 0, 0, 0), 0.010364269656262),
        ("0.34 nm", (0, 1, 0, 0, 0, 0), 3.4),
        ("2 /angstrom", (0, -1, 0, 0, 0, 0), 2),
        ("2 1/nm", (0, -1, 0, 0, 0, 0), 0.2),
        ("3 eV angstrom^6", (1, 6, 0, 0, 0, 0), 3),
        ("5 kcal/mol/angstrom^2", (1, -2, 0, 0, 0, 0), 5 * 0.0433641042),
        (7, (0, 1, 0, 0, 0, 0), 7),
        ("1.5e1", (0, 1, 0, 0, 0, 0), 15),
    ],
)
def test_quantities_are_read(text, dimension, value):
    assert quantity(text, dimension) == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("text", ["eV", "3 parsec", "1 eV/", "nan", True, None, "1 2", "inf eV"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(UnitError):
        quantity(text, (1, 0, 0, 0, 0, 0))


def test_doors_are_loaded_when_they_are_used():
    loaded = "print('ase' in sys.modules)"
    code = f"import sys, instar; {loaded}; instar.calculator; {loaded}"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["False", "True"]
    assert (
        importlib.import_module("instar.app.api.single_point").single_point is instar.single_point
    )
