"""Data files of LAMMPS: right numbers, and a clear error for everything else."""

import math

import numpy as np
import pytest
from ase import Atoms
from data_files import CHAIN, PLAIN, STYLES, WATERS, chain, entry, read, waters
from direct_sum import pair_energies
from support import raises

import instar
from instar.app.config.units import UNITS
from instar.app.topology import Topology, TopologyError, combined_topologies

pytestmark = pytest.mark.usefixtures("quickly_compiled")

KCAL = UNITS["kcal/mol"][0]
FS = UNITS["fs"][0]


def test_water_has_the_atoms_of_its_file_in_the_order_of_ids(tmp_path):
    atoms = waters(tmp_path).atoms
    assert atoms.get_chemical_formula(mode="reduce") == "OH2OH2"
    np.testing.assert_allclose(atoms.positions[0], [-0.1, 0, 20])
    np.testing.assert_allclose(atoms.cell.array, np.diag([20.0, 20, 20]))
    assert atoms.pbc.all()
    np.testing.assert_allclose(atoms.get_masses(), [15.9994, 1.008, 1.008] * 2)
    np.testing.assert_allclose(atoms.get_initial_charges(), [-0.834, 0.417, 0.417] * 2)
    assert atoms.arrays["labels"].tolist() == ["1", "2", "2"] * 2
    np.testing.assert_allclose(atoms.get_velocities()[0, 0] * FS, 0.001)
    np.testing.assert_allclose(atoms.get_velocities()[5, 2] * FS, -0.002)


def test_water_has_the_potential_of_its_file(tmp_path):
    assert waters(tmp_path).potential == [
        {
            "type": "lennard_jones",
            "cutoff": 9.0,
            "truncation": "truncate",
            "mixing": "geometric",
            "parameters": {
                "1": {"epsilon": 0.1521 * KCAL, "sigma": 3.1507},
                "2": {"epsilon": 0.0, "sigma": 1.0},
            },
        },
        {"type": "coulomb", "accuracy": 1e-6},
        {
            "type": "harmonic_bond",
            "terms": [
                {"atoms": pair, "k": 900 * KCAL, "r0": 0.9572}
                for pair in ([0, 1], [0, 2], [3, 4], [3, 5])
            ],
        },
        {
            "type": "harmonic_angle",
            "terms": [
                {"atoms": three, "k": 110 * KCAL, "theta0": math.radians(104.52)}
                for three in ([1, 0, 2], [4, 3, 5])
            ],
        },
        {
            "type": "exclusions",
            "pair": [0.0, 0.0, 0.0],
            "coulomb": [0.0, 0.0, 0.0],
            "bonds": [[0, 1], [0, 2], [3, 4], [3, 5]],
        },
    ]


@pytest.mark.parametrize(
    ("special", "pair", "coulomb"),
    [
        ("amber", [0, 0, 0.5], [0, 0, 5 / 6]),
        ("charmm", [0, 0, 0], [0, 0, 0]),
        ("dreiding", [0, 0, 1], [0, 0, 1]),
        ("lj/coul 0 0.1 0.5", [0, 0.1, 0.5], [0, 0.1, 0.5]),
        ("special_bonds lj 0 0 0.5 coul 0 0 0.8 angle no", [0, 0, 0.5], [0, 0, 0.8]),
    ],
)
def test_factors_of_near_pairs_are_those_of_the_command(tmp_path, special, pair, coulomb):
    found = entry(waters(tmp_path, special_bonds=special), "exclusions")
    assert (found["pair"], found["coulomb"]) == (pair, coulomb)


@pytest.mark.parametrize(
    ("units", "energy", "length", "velocity"),
    [
        ("real", KCAL, 1, 1 / FS),
        ("metal", 1, 1, 1e-3 / FS),
        ("electron", 27.211386245988, 0.529177210903, 0.529177210903 / 1.03275 / FS),
    ],
)
def test_units_of_the_script_hold(tmp_path, units, energy, length, velocity):
    found = waters(tmp_path, units=units)
    stiffness = entry(found, "harmonic_bond")["terms"][0]["k"]
    np.testing.assert_allclose(stiffness, 900 * energy / length**2)
    np.testing.assert_allclose(found.atoms.cell.lengths(), 20 * length)
    np.testing.assert_allclose(found.atoms.get_velocities()[0, 0], 0.001 * velocity)


def test_units_of_the_title_hold_where_none_are_given(tmp_path):
    text = WATERS.replace("Two waters", "LAMMPS data file via write_data, units = real")
    assert waters(tmp_path, text, units=None).potential == waters(tmp_path).potential
    with raises(TopologyError, "x.data, line 1: the title has the units 'real', not 'metal'."):
        waters(tmp_path, text, units="metal")


def test_reduced_units_hold_without_charges(tmp_path):
    text = WATERS.replace("-0.834", "0").replace("0.417", "0").replace("coul/long", "")
    found = waters(tmp_path, text.replace("lj/cut/", "lj/cut"), units="lj")
    assert entry(found, "lennard_jones")["parameters"]["1"]["epsilon"] == 0.1521
    with raises(
        TopologyError,
        "x.data, line 36: there are charges in reduced units, whose scale is not known.",
    ):
        waters(tmp_path, units="lj")


def test_a_tilted_box_and_unknown_elements_are_kept(tmp_path):
    atoms = chain(tmp_path).atoms
    np.testing.assert_allclose(atoms.cell.array, [[10, 0, 0], [1, 11, 0], [2, 3, 12]])
    assert atoms.get_chemical_symbols() == ["X"] * 4
    np.testing.assert_allclose(atoms.get_masses(), 14.027)


def test_bonded_terms_give_an_energy(tmp_path):
    found = chain(tmp_path)
    point = instar.single_point(found.atoms, found.potential)
    bonds = 300 * (math.dist([2, 1.4, 0], [3.5, 1.5, 0.4]) - 1.5) ** 2
    bonds += 300 * (math.dist([1.5, 0, 0], [2, 1.4, 0]) - 1.5) ** 2
    only = instar.single_point(found.atoms, [entry(found, "harmonic_bond")])
    np.testing.assert_allclose(only.energies, bonds * KCAL)
    assert point.energies[0] > only.energies[0]


@pytest.mark.parametrize(
    ("kind", "style", "given", "expected"),
    [
        ("bond", "harmonic", "300 1.5", [("harmonic_bond", {"k": 600, "r0": 1.5})]),
        ("bond", "morse", "80 2 1.5", [("morse_bond", {"D": 80, "a": 2 / KCAL, "r0": 1.5})]),
        ("angle", "harmonic", "60 90", [("harmonic_angle", {"k": 120, "theta0": math.pi / 2})]),
        ("angle", "cosine/squared", "60 90", [("cosine_angle", {"k": 120, "theta0": math.pi / 2})]),
        ("dihedral", "harmonic", "2 1 3", [("periodic_dihedral", {"n": 3, "phi0": 0, "k": 2})]),
        ("dihedral", "harmonic", "2 -1 2", [("periodic_dihedral", {"n": 2, "phi0": 180, "k": 2})]),
        ("dihedral", "harmonic", "2 1 0", [("rb_dihedral", {"c": [4, 0, 0, 0, 0, 0]})]),
        ("dihedral", "charmm", "2 3 90 0", [("periodic_dihedral", {"n": 3, "phi0": 90, "k": 2})]),
        (
            "dihedral",
            "opls",
            "2 4 0 6",
            [
                ("periodic_dihedral", {"n": 1, "phi0": 0, "k": 1}),
                ("periodic_dihedral", {"n": 2, "phi0": 180, "k": 2}),
                ("periodic_dihedral", {"n": 4, "phi0": 180, "k": 3}),
            ],
        ),
        ("dihedral", "multi/harmonic", "1 2 3 4 5", [("rb_dihedral", {"c": [1, -2, 3, -4, 5, 0]})]),
        (
            "dihedral",
            "fourier",
            "2 1 1 90 2 3 180",
            [
                ("periodic_dihedral", {"n": 1, "phi0": 90, "k": 1}),
                ("periodic_dihedral", {"n": 3, "phi0": 180, "k": 2}),
            ],
        ),
        ("improper", "harmonic", "20 0", [("harmonic_improper", {"k": 40, "phi0": 0})]),
        ("improper", "cvff", "2 -1 2", [("periodic_improper", {"n": 2, "phi0": 180, "k": 2})]),
    ],
)
def test_every_style_becomes_its_terms(tmp_path, kind, style, given, expected):
    found = chain(tmp_path, {kind: style}, **{kind: given})
    energies = {"k", "D", "a", "c"}
    for (name, values), number in zip(expected, range(len(expected)), strict=True):
        term = dict(entry(found, name)["terms"][number])
        term.pop("atoms")
        scaled = {key: np.multiply(value, KCAL) for key, value in values.items() if key in energies}
        if "phi0" in values:
            scaled["phi0"] = math.radians(values["phi0"])
        assert set(term) == set(values)
        for key, value in (values | scaled).items():
            np.testing.assert_allclose(term[key], value)


def test_styles_come_from_comments_else_from_options(tmp_path):
    plain = waters(tmp_path)
    for hint in ("lj/cut/coul/long/omp", "from another program", ""):
        text = WATERS.replace("# lj/cut/coul/long", f"# {hint}")
        found = waters(tmp_path, text, styles={"pair": "lj/cut/coul/long"})
        assert found.potential == plain.potential


def test_hybrid_styles_are_named_on_each_line(tmp_path):
    text = CHAIN.format(**(PLAIN | {"bond": "harmonic 300 1.5"}))
    text = text.replace("Bond Coeffs", "Bond Coeffs # hybrid")
    found = read(tmp_path, text, units="metal", styles=STYLES)
    assert entry(found, "harmonic_bond")["terms"][0]["k"] == 600


LABELLED = (
    WATERS.replace("Masses", "Atom Type Labels\n\n1 OW\n2 HW\n\nBond Type Labels\n\n1 OH\n\nMasses")
    .replace("1 450", "OH 450")
    .replace("1 15.9994", "OW 15.9994")
    .replace("4 2 1 -0.834", "4 2 OW -0.834")
    .replace("3 1 4 5", "3 OH 4 5")
)


def test_labels_of_types_name_atoms_and_coefficients(tmp_path):
    found = waters(tmp_path, LABELLED)
    assert found.atoms.arrays["labels"].tolist() == ["OW", "HW", "HW"] * 2
    assert list(entry(found, "lennard_jones")["parameters"]) == ["OW", "HW"]
    assert len(entry(found, "harmonic_bond")["terms"]) == 4


def test_coefficients_of_pairs_stand_beside_those_of_types(tmp_path):
    text = LABELLED.replace("Pair Coeffs # lj/cut/coul/long", "PairIJ Coeffs # lj/cut/coul/cut")
    text = text.replace("1 0.1521 3.1507\n2 0 0", "1 1 0.1521 3.1507\nOW HW 0.02 2.5\n2 2 0 0")
    found = entry(waters(tmp_path, text), "lennard_jones")
    assert found["parameters"]["OW"]["sigma"] == 3.1507
    assert found["pairs"] == {"OW-HW": {"epsilon": 0.02 * KCAL, "sigma": 2.5}}
    assert entry(waters(tmp_path, text), "cutoff_coulomb")["method"] == "plain"


def test_lj_charmm_needs_a_truncation_and_mixes_as_charmm_does(tmp_path):
    text = WATERS.replace("lj/cut/coul/long", "lj/charmm/coul/long")
    with raises(
        TopologyError, "x.data, line 18: the switching function of lj/charmm is not supported."
    ):
        waters(tmp_path, text)
    found = entry(waters(tmp_path, text, truncation="switch", inner=8.0), "lennard_jones")
    assert (found["mixing"], found["truncation"], found["inner"]) == (
        "lorentz_berthelot",
        "switch",
        8.0,
    )


# Several topologies --------------------------------------------------------------------------


def test_topologies_are_computed_as_one_batch(tmp_path):
    one, other = chain(tmp_path), chain(tmp_path, bond="200 1.4")
    structures, potential = combined_topologies([one, other])
    together = instar.single_point(structures, potential)
    for number, topology in enumerate((one, other)):
        alone = instar.single_point(topology.atoms, topology.potential)
        np.testing.assert_allclose(together.energies[number], alone.energies[0], rtol=1e-12)


def test_molecules_with_charges_are_computed_as_one_batch(tmp_path):
    text = WATERS.replace("coul/long", "coul/cut")
    one = waters(tmp_path, text)
    other = waters(tmp_path, text.replace("3.1507", "3.0")).renamed("b")
    together = instar.single_point(*combined_topologies([one, other]))
    for number, topology in enumerate((one, other)):
        pairs = sum(pair_energies(topology.atoms, topology.potential))
        bonded = [e for e in topology.potential if "harmonic" in e["type"]]
        rest = instar.single_point(topology.atoms, bonded).energies[0]
        np.testing.assert_allclose(together.energies[number], pairs + rest, rtol=1e-12)


def test_terms_are_tied_to_their_structure_and_parameters_are_shared(tmp_path):
    found = waters(tmp_path).for_structure(3)
    tied = [e["type"] for e in found if e.get("structures") == [3]]
    assert tied == ["harmonic_bond", "harmonic_angle", "exclusions"]
    structures, potential = combined_topologies([waters(tmp_path), waters(tmp_path)])
    assert len(structures) == 2
    kinds = [e["type"] for e in potential]
    assert kinds.count("lennard_jones") == kinds.count("coulomb") == 1
    assert kinds.count("exclusions") == 2


def test_one_label_with_two_meanings_is_refused_until_it_is_renamed(tmp_path):
    one = waters(tmp_path)
    other = waters(tmp_path, WATERS.replace("3.1507", "3.2"))
    with raises(
        TopologyError,
        f"Topology 1 has {{'epsilon': {0.1521 * KCAL}, 'sigma': 3.2}} for the lennard_jones label "
        f"'1', one before it has {{'epsilon': {0.1521 * KCAL}, 'sigma': 3.1507}}.",
    ):
        combined_topologies([one, other])
    structures, potential = combined_topologies([one, other.renamed("b")])
    assert list(potential[0]["parameters"]) == ["1", "2", "b1", "b2"]
    assert structures[1].arrays["labels"].tolist() == ["b1", "b2", "b2"] * 2
    assert other.atoms.arrays["labels"][0] == "1"


def test_rules_that_differ_are_refused(tmp_path):
    with raises(
        TopologyError,
        "Topology 1 has cutoff 8.0 for lennard_jones, one before it has 9.0.",
    ):
        combined_topologies([waters(tmp_path), waters(tmp_path, cutoff=8.0)])


def test_what_would_act_in_all_structures_must_be_meant_for_all(tmp_path):
    cut = WATERS.replace("coul/long", "coul/cut")
    with raises(
        TopologyError,
        "Topology 0 has no cutoff_coulomb, but another one has it, and it would act in all of "
        "them.",
    ):
        combined_topologies([waters(tmp_path), waters(tmp_path, cut)])
    neutral = waters(tmp_path, WATERS.replace("-0.834", "0").replace("0.417", "0"))
    uncharged = Topology(neutral.atoms, [e for e in neutral.potential if e["type"] != "coulomb"])
    assert len(combined_topologies([waters(tmp_path), uncharged])[0]) == 2


def test_names_of_pairs_are_renamed_as_well():
    pairs = {"type": "lennard_jones", "pairs": {"A-B": {"epsilon": 1.0, "sigma": 1.0}}}
    assert list(Topology(Atoms(), [pairs]).renamed("x").potential[0]["pairs"]) == ["xA-xB"]
