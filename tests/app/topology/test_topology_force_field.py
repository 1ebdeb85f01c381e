"""PDB files with force fields in XML: right numbers, and a clear error for everything else."""
# ruff: noqa: E501

import math

import numpy as np
import pytest
from support import raises

import instar
from instar.app.config.units import UNITS
from instar.app.topology import TopologyError

KJ = UNITS["kJ/mol"][0]

TYPES = """
 <Type name="OW" class="OW" element="O" mass="15.999"/>
 <Type name="HW" class="HW" element="H" mass="1.008"/>
 <Type name="c3" class="CT" element="C" mass="12.011"/>
 <Type name="c2" class="CT" element="C" mass="12.011"/>
 <Type name="n" class="N" element="N" mass="14.007"/>
"""
RESIDUES = """
 <Residue name="HOH">
  <Atom name="O" type="OW" charge="-0.8"/>
  <Atom name="H1" type="HW" charge="0.4"/>
  <Atom name="H2" type="HW" charge="0.4"/>
  <Bond atomName1="O" atomName2="H1"/>
  <Bond from="0" to="2"/>
 </Residue>
 <Residue name="UNA">
  <Atom name="CA" type="c3" charge="0.1"/>
  <Atom name="C" type="c2" charge="-0.1"/>
  <Bond atomName1="CA" atomName2="C"/>
  <ExternalBond atomName="C"/>
 </Residue>
 <Residue name="UNB">
  <Atom name="N" type="n" charge="-0.2"/>
  <Atom name="CB" type="c3" charge="0.2"/>
  <Bond atomName1="N" atomName2="CB"/>
  <ExternalBond atomName="N"/>
 </Residue>
"""
BONDS = """
 <Bond class1="OW" class2="HW" length="0.1" k="300000"/>
 <Bond type1="c3" type2="c2" length="0.15" k="200000"/>
 <Bond class1="CT" class2="CT" length="0.16" k="1"/>
 <Bond class1="N" class2="CT" length="0.14" k="250000"/>
"""
ANGLES = """
 <Angle class1="HW" class2="OW" class3="HW" angle="1.9" k="400"/>
 <Angle class1="" class2="CT" class3="N" angle="2.0" k="500"/>
 <Angle class1="CT" class2="N" class3="CT" angle="2.1" k="600"/>
"""
TORSIONS = """
 <Proper class1="" class2="CT" class3="N" class4="" periodicity1="1" phase1="0" k1="9"/>
 <Proper class1="CT" class2="CT" class3="N" class4="CT" periodicity1="2" phase1="3.14" k1="5"
         periodicity2="3" phase2="0" k2="0" periodicity3="1" phase3="0.5" k3="2"/>
 <Proper type1="c3" type2="c2" type3="n" type4="c3" periodicity1="4" phase1="0" k1="7"/>
"""
ATOMS = """
 <UseAttributeFromResidue name="charge"/>
 <Atom type="OW" sigma="0.31" epsilon="0.6"/>
 <Atom type="HW" sigma="1" epsilon="0"/>
 <Atom class="CT" sigma="0.34" epsilon="0.4"/>
 <Atom class="N" sigma="0.32" epsilon="0.7"/>
"""
FORCE_FIELD = f"""<ForceField>
 <Info/>
 <AtomTypes>{TYPES}</AtomTypes>
 <Residues>{RESIDUES}</Residues>
 <HarmonicBondForce>{BONDS}</HarmonicBondForce>
 <HarmonicAngleForce>{ANGLES}</HarmonicAngleForce>
 <PeriodicTorsionForce>{TORSIONS}</PeriodicTorsionForce>
 <RBTorsionForce/>
 <NonbondedForce coulomb14scale="0.8" lj14scale="0.5">{ATOMS}</NonbondedForce>
</ForceField>
"""

DIMER = """ATOM      1  CA  UNA A   1       0.000   0.000   0.000  1.00  0.00           C
ATOM      2  C   UNA A   1       1.500   0.000   0.000  1.00  0.00           C
ATOM      3  N   UNB A   2       2.000   1.300   0.000  1.00  0.00           N
ATOM      4  CB  UNB A   2       3.300   1.400   0.600  1.00  0.00           C
TER
HETATM    5  O   HOH A   3       8.000   0.000   0.000  1.00  0.00           O
HETATM    6  H1  HOH A   3       8.900   0.200   0.000  1.00  0.00           H
HETATM    7  H2  HOH A   3       7.700   0.900   0.000  1.00  0.00           H
END
"""


def read(tmp_path, pdb=DIMER, xml=FORCE_FIELD, **options):
    (tmp_path / "x.pdb").write_text(pdb)
    (tmp_path / "ff.xml").write_text(xml)
    return instar.read_topology(tmp_path / "x.pdb", force_field=tmp_path / "ff.xml", **options)


def entry(topology, kind):
    return next((e for e in topology.potential if e["type"] == kind), {"terms": []})


def members(topology, kind):
    return [term["atoms"] for term in entry(topology, kind)["terms"]]


def test_atoms_have_types_masses_and_charges_of_the_force_field(tmp_path):
    atoms = read(tmp_path).atoms
    assert atoms.arrays["labels"].tolist() == ["c3", "c2", "n", "c3", "OW", "HW", "HW"]
    assert atoms.get_chemical_symbols() == list("CCNCOHH")
    np.testing.assert_allclose(atoms.get_initial_charges(), [0.1, -0.1, -0.2, 0.2, -0.8, 0.4, 0.4])
    np.testing.assert_allclose(atoms.get_masses()[:3], [12.011, 12.011, 14.007])
    assert not atoms.pbc.any()


def test_the_first_definition_of_bonds_and_angles_holds(tmp_path):
    found = read(tmp_path)
    assert entry(found, "harmonic_bond")["terms"] == [
        {"atoms": [0, 1], "k": 200000 * KJ / 100, "r0": 1.5},
        {"atoms": [1, 2], "k": 250000 * KJ / 100, "r0": 1.4000000000000001},
        {"atoms": [2, 3], "k": 250000 * KJ / 100, "r0": 1.4000000000000001},
    ]
    assert entry(found, "harmonic_angle")["terms"] == [
        {"atoms": [0, 1, 2], "k": 500 * KJ, "theta0": 2.0},
        {"atoms": [1, 2, 3], "k": 600 * KJ, "theta0": 2.1},
    ]


def test_the_first_torsion_without_a_wildcard_holds(tmp_path):
    assert entry(read(tmp_path), "periodic_dihedral")["terms"] == [
        {"atoms": [0, 1, 2, 3], "n": 2, "phi0": 3.14, "k": 5 * KJ},
        {"atoms": [0, 1, 2, 3], "n": 1, "phi0": 0.5, "k": 2 * KJ},
    ]


def test_pairs_have_parameters_by_type_and_factors_by_bonds(tmp_path):
    found = read(tmp_path)
    lennard_jones = entry(found, "lennard_jones")
    assert lennard_jones["mixing"] == "lorentz_berthelot"
    assert lennard_jones["parameters"]["c2"] == {"epsilon": 0.4 * KJ, "sigma": 3.4000000000000004}
    assert set(lennard_jones["parameters"]) == {"c2", "c3", "n", "OW", "HW"}
    assert entry(found, "cutoff_coulomb")["method"] == "plain"
    assert entry(found, "exclusions") == {
        "type": "exclusions",
        "pair": [0.0, 0.0, 0.5],
        "coulomb": [0.0, 0.0, 0.8],
        "bonds": [[0, 1], [1, 2], [2, 3], [4, 5], [4, 6]],
    }


def test_a_cell_makes_it_periodic_with_an_ewald_sum(tmp_path):
    cell = "CRYST1   20.000   21.000   22.000  90.00  90.00 100.00 P 1           1\n"
    with raises(
        TopologyError,
        "x.pdb: there is a cell, so a cutoff is needed: read_topology(..., cutoff=10).",
    ):
        read(tmp_path, cell + DIMER)
    found = read(tmp_path, cell + DIMER, cutoff="0.9 nm", truncation="tail")
    np.testing.assert_allclose(found.atoms.cell.cellpar(), [20, 21, 22, 90, 90, 100])
    assert entry(found, "lennard_jones")["cutoff"] == 9.0
    assert entry(found, "lennard_jones")["truncation"] == "tail"
    assert entry(found, "coulomb")["accuracy"] == 1e-6


def test_water_is_rigid_unless_it_is_asked_not_to_be(tmp_path):
    (term,) = entry(read(tmp_path), "rigid_water")["terms"]
    assert term["atoms"] == [4, 5, 6]
    np.testing.assert_allclose([term["oh"], term["hh"]], [1, 2 * math.sin(0.95)])
    flexible = read(tmp_path, rigid_water=False)
    assert members(flexible, "harmonic_bond")[3:] == [[4, 5], [4, 6]]
    assert members(flexible, "harmonic_angle")[2:] == [[5, 4, 6]]
    held = read(tmp_path, rigid_water=False, constraints="hbonds")
    assert members(held, "distance_constraint") == [[4, 5], [4, 6]]
    assert len(members(read(tmp_path, constraints="allbonds"), "distance_constraint")) == 3


def test_bonded_terms_give_an_energy(tmp_path):
    found = read(tmp_path)
    point = instar.single_point(found.atoms, [entry(found, "harmonic_bond")])
    lengths = [1.5, math.hypot(0.5, 1.3), math.sqrt(1.3**2 + 0.1**2 + 0.6**2)]
    terms = zip([1000, 1250, 1250], lengths, [1.5, 1.4, 1.4], strict=True)
    energy = sum(k * KJ * (r - r0) ** 2 for k, r, r0 in terms)
    np.testing.assert_allclose(point.energies, energy, rtol=1e-12)


def test_residues_of_other_names_are_found_by_their_graph(tmp_path):
    other = DIMER.replace("O   HOH", "OW  SOL").replace("H1  HOH", "HW1 SOL")
    found = read(tmp_path, other.replace("H2  HOH", "HW2 SOL"))
    assert found.atoms.arrays["labels"].tolist()[4:] == ["OW", "HW", "HW"]


def test_bonds_that_are_written_down_count_for_the_graph(tmp_path):
    far = DIMER.replace("O   HOH", "OW  HOH").replace("8.900   0.200", "9.900   0.200")
    with raises(
        TopologyError,
        "x.pdb, line 6: residue HOH 3 of chain A matches no residue of the force field: it lacks O; it "
        "has OW too many.",
    ):
        read(tmp_path, far)
    found = read(tmp_path, far + "CONECT    5    6    7\n")
    assert found.atoms.arrays["labels"].tolist()[4:] == ["OW", "HW", "HW"]


def test_atoms_in_another_order_than_in_the_template_keep_their_types(tmp_path):
    lines = DIMER.splitlines()
    lines[0], lines[1] = lines[1], lines[0]
    found = read(tmp_path, "\n".join(lines))
    assert found.atoms.arrays["labels"].tolist()[:3] == ["c2", "c3", "n"]
    assert members(found, "harmonic_bond")[:2] == [[0, 1], [0, 2]]


def test_bonds_between_residues_cross_the_cell(tmp_path):
    cell = "CRYST1   20.000   20.000   20.000  90.00  90.00  90.00 P 1           1\n"
    far = DIMER.replace("2.000   1.300", "2.000 -18.700").replace("3.300   1.400", "3.300 -18.600")
    assert members(read(tmp_path, cell + far, cutoff=9), "harmonic_bond")[1] == [1, 2]


def test_several_files_are_one_force_field_and_may_include_others(tmp_path):
    split = FORCE_FIELD.index(" <HarmonicBondForce>")
    (tmp_path / "types.xml").write_text(FORCE_FIELD[:split] + "</ForceField>")
    (tmp_path / "forces.xml").write_text(f"<ForceField>{FORCE_FIELD[split:]}")
    (tmp_path / "all.xml").write_text(
        '<ForceField><Include file="types.xml"/><Include file="forces.xml"/></ForceField>'
    )
    whole = read(tmp_path).potential
    path = tmp_path / "x.pdb"
    names = [tmp_path / "types.xml", tmp_path / "forces.xml"]
    assert instar.read_topology(path, force_field=names).potential == whole
    assert instar.read_topology(path, force_field=tmp_path / "all.xml").potential == whole


def test_a_template_with_a_higher_override_takes_the_place_of_another(tmp_path):
    heavy = (
        RESIDUES.split("<Residue")[1].replace("-0.8", "-0.9").replace('"HOH"', '"HOH" override="1"')
    )
    xml = FORCE_FIELD.replace("</Residues>", f"<Residue{heavy}</Residues>")
    assert read(tmp_path, xml=xml).atoms.get_initial_charges()[4] == -0.9


def test_sulfurs_without_hydrogen_are_joined(tmp_path):
    cysteine = (
        '<Residue name="CYX"><Atom name="SG" type="s" charge="0"/><ExternalBond atomName="SG"/>'
        "</Residue>"
    )
    xml = FORCE_FIELD.replace("</Residues>", cysteine + "</Residues>")
    xml = xml.replace(TYPES, '<Type name="s" class="S" element="S" mass="32.06"/>' + TYPES)
    xml = xml.replace(BONDS, BONDS + '<Bond class1="S" class2="S" length="0.2" k="1"/>')
    xml = xml.replace(ATOMS, ATOMS + '<Atom class="S" sigma="0.3" epsilon="1"/>')
    line = "ATOM  {0:5d}  SG  CYX A{1:4d}    {2:8.3f}   0.000   0.000  1.00  0.00           S\n"
    found = read(tmp_path, line.format(1, 1, 0.0) + line.format(2, 5, 2.1), xml)
    assert members(found, "harmonic_bond") == [[0, 1]]


STAR = """<ForceField>
 <AtomTypes>
  <Type name="c" class="c" element="C" mass="12"/><Type name="n" class="n" element="N" mass="14"/>
  <Type name="o" class="o" element="O" mass="16"/><Type name="d" class="d" element="C" mass="12"/>
 </AtomTypes>
 <Residues><Residue name="STA">
  <Atom name="O1" type="o"/><Atom name="C0" type="c"/><Atom name="N1" type="n"/>
  <Atom name="C1" type="d"/>
  <Bond atomName1="C0" atomName2="O1"/><Bond atomName1="C0" atomName2="N1"/>
  <Bond atomName1="C0" atomName2="C1"/>
 </Residue></Residues>
 <HarmonicBondForce><Bond class1="" class2="" length="0.15" k="1"/></HarmonicBondForce>
 <HarmonicAngleForce><Angle class1="" class2="" class3="" angle="2" k="1"/></HarmonicAngleForce>
 {torsions}
</ForceField>"""
STAR_PDB = """HETATM    1  C0  STA A   1       0.000   0.000   0.000
HETATM    2  O1  STA A   1       1.300   0.000   0.000
HETATM    3  N1  STA A   1      -0.700   1.200   0.000
HETATM    4  C1  STA A   1      -0.700  -1.200   0.300
"""


@pytest.mark.parametrize(
    ("ordering", "classes", "order"),
    [
        ("default", "c - o -", [1, 2, 0, 3]),
        ("default", "c n o d", [1, 2, 0, 3]),
        ("default", "c n d o", [3, 2, 0, 1]),
        ("amber", "c - - d", [1, 2, 0, 3]),
        ("amber", "c n o d", [2, 1, 0, 3]),
        ("charmm", "c n o d", [0, 2, 1, 3]),
        ("charmm", "c - o -", [1, 2, 0, 3]),
    ],
)
def test_impropers_have_their_atoms_in_the_order_of_the_force_field(
    tmp_path, ordering, classes, order
):
    names = [name.strip("-") for name in classes.split()]
    attributes = " ".join(f'class{n + 1}="{name}"' for n, name in enumerate(names))
    torsions = (
        f'<PeriodicTorsionForce ordering="{ordering}"><Improper {attributes} periodicity1="2" '
        'phase1="3" k1="4"/></PeriodicTorsionForce>'
    )
    found = read(tmp_path, STAR_PDB, STAR.format(torsions=torsions))
    assert members(found, "periodic_improper") == [order]


def test_ryckaert_bellemans_torsions_are_read(tmp_path):
    torsion = (
        '<RBTorsionForce><Proper class1="" class2="CT" class3="N" class4="" c0="1" c1="2" c2="3" '
        'c3="4" c4="5" c5="6"/></RBTorsionForce>'
    )
    found = read(tmp_path, xml=FORCE_FIELD.replace("<RBTorsionForce/>", torsion))
    (term,) = entry(found, "rb_dihedral")["terms"]
    np.testing.assert_allclose(term["c"], np.arange(1, 7) * KJ)


# Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" <Info/>", " <Script>a</Script>", "<Script> is not supported."),
        (" <Info/>", " <CustomBondForce/>", "<CustomBondForce> is not supported."),
        (" <Info/>", " <LennardJonesForce/>", "<LennardJonesForce> is not supported."),
        ("<Info/>", "<Info>", "this is not XML: mismatched tag: line 56, column 2."),
        ('name="c2"', 'name="c3"', "the atom type 'c3' is defined twice."),
        ('mass="15.999"', 'mass="x"', 'mass of <Type name="OW" class="OW" element="O" mass="x"> is \'x\', which is not a finite number.'),
        ('type="OW" charge="-0.8"', 'type="OX"', "the residue 'HOH' has an atom of the type 'OX', which is not among the <AtomTypes>."),
        ('name="H2" type', 'name="H1" type', "the residue 'HOH' has two atoms of one name."),
        ('from="0" to="2"', 'from="0" to="3"', '<Bond from="0" to="3"> names an atom that is not in its residue.'),
        ('name="UNA"', 'name="HOH"', "the residue 'HOH' is defined twice, first in ff.xml."),
        ('<Bond from="0" to="2"/>', '<Bond from="0" to="2"/><VirtualSite type="average2"/>', "<VirtualSite> of the residue 'HOH' is not supported."),
        ('<UseAttributeFromResidue name="charge"/>', '<UseAttributeFromResidue name="sigma"/>', '<UseAttributeFromResidue name="sigma"> in <NonbondedForce> is not supported.'),
        ('sigma="0.31"', 'sigma="0"', '<Atom type="OW" sigma="0" epsilon="0.6">: epsilon and sigma are not above 0.'),
        ('lj14scale="0.5"', "", "<NonbondedForce coulomb14scale=\"0.8\"> has no attribute 'lj14scale'."),
        ('<Proper class1="" class2="CT"', '<Proper class2="CT"', '<Proper class2="CT" class3="N" class4="" periodicity1="1" phase1="0" k1="9"> needs either type1 or class1, not both.'),
        ('periodicity1="4"', 'periodicity1="0"', '<Proper type1="c3" type2="c2" type3="n" type4="c3" periodicity1="0" phase1="0" k1="7">: a periodicity must be a whole number above 0.'),
        ("<ForceField>", '<ForceField><Include file="no.xml"/>', "there is no such file (included by ff.xml)."),
        ("<ForceField>", '<ForceField><Include file="ff.xml"/>', "the file includes itself."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_force_field_is_named(tmp_path, old, new, message):
    assert old in FORCE_FIELD
    name = "no.xml" if "no.xml" in new else "ff.xml"
    with raises(TopologyError, f"{name}: {message}"):
        read(tmp_path, xml=FORCE_FIELD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<Bond class1="OW" class2="HW" length="0.1" k="300000"/>', "", "the force field has no bond for the types OW - HW."),
        (ANGLES, "", "the force field has no angle for the types c3 - c2 - n."),
        ('<Atom type="OW" sigma="0.31" epsilon="0.6"/>', "", "the atom type 'OW' has no entry in <NonbondedForce> in the force field."),
        (' charge="-0.8"', "", "the atom type 'OW' has no charge in the force field."),
    ],
)  # fmt: skip
def test_what_a_force_field_lacks_is_named(tmp_path, old, new, message):
    assert old in FORCE_FIELD
    with raises(TopologyError, f"x.pdb: {message}"):
        read(tmp_path, xml=FORCE_FIELD.replace(old, new, 1))


def test_orderings_of_impropers_that_are_not_known_are_refused(tmp_path):
    torsions = (
        '<PeriodicTorsionForce ordering="smirnoff"><Improper class1="c" class2="" class3="" '
        'class4="" periodicity1="2" phase1="3" k1="4"/></PeriodicTorsionForce>'
    )
    with raises(TopologyError, "ff.xml: the ordering 'smirnoff' of impropers is not supported."):
        read(tmp_path, STAR_PDB, STAR.format(torsions=torsions))


def test_files_with_other_factors_for_near_pairs_are_refused(tmp_path):
    (tmp_path / "b.xml").write_text(
        '<ForceField><NonbondedForce coulomb14scale="1" lj14scale="1"/></ForceField>'
    )
    read(tmp_path)
    with raises(
        TopologyError,
        "b.xml: the factors of pairs 1-4 apart are (1.0, 1.0), in another file they are (0.5, 0.8) "
        "(Lennard-Jones, Coulomb).",
    ):
        instar.read_topology(
            tmp_path / "x.pdb", force_field=[tmp_path / "ff.xml", tmp_path / "b.xml"]
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("UNB", "UNC", None),
        ("UNA", "XXX", None),
        ("   1.500   0.000", "   1.5x0   0.000", ", line 2: '1.5x0' is not a number (columns 31 to 38)."),
        ("  8.000   0.000   0.000  1.00  0.00           O", "  8.000", ", line 6: the line ends before the coordinates do (column 54)."),
        ("H2  HOH", "H1  HOH", ", line 8: residue HOH 3 of chain A has two atoms H1."),
        ("   1.300", "   9.300", ", line 1: residue UNA 1 of chain A matches no residue of the force field: its bonds to other residues are not those of the force field."),
        ("END", "CONECT    1    9", ", line 9: there is no atom 9."),
        ("H1  HOH A   3       8.900   0.200   0.000  1.00  0.00           H", "Q1  HOH A   3       8.900   0.200   0.000", ", line 7: the element of the atom 'Q1' is not known."),
        ("TER", "MODEL        1\nENDMDL\nMODEL        2", ", line 7: there is more than one MODEL."),
    ],
)  # fmt: skip
def test_a_mistake_in_a_pdb_file_is_named(tmp_path, old, new, message):
    assert old in DIMER
    pdb = DIMER.replace(old, new)
    if message is None:
        assert len(read(tmp_path, pdb).atoms) == 7
        return
    with raises(TopologyError, "x.pdb" + message):
        read(tmp_path, pdb)


def test_residues_that_lack_atoms_or_names_say_so(tmp_path):
    lines = DIMER.splitlines()
    with raises(
        TopologyError,
        "x.pdb, line 6: residue HOH 3 of chain A matches no residue of the force field: it lacks H2.",
    ):
        read(tmp_path, "\n".join(lines[:-2]))
    with raises(
        TopologyError,
        "x.pdb, line 6: residue LIG 3 of chain A matches no residue of the force field, and none has "
        "its name.",
    ):
        read(tmp_path, "\n".join(lines[:-2]).replace("HOH", "LIG"))


def test_a_residue_that_fits_several_templates_says_which(tmp_path):
    other = RESIDUES.split("<Residue")[1].replace("-0.8", "-0.9").replace('"HOH"', '"WAT"')
    xml = FORCE_FIELD.replace("</Residues>", f"<Residue{other}</Residues>")
    assert read(tmp_path, xml=xml).atoms.get_initial_charges()[4] == -0.8
    with raises(
        TopologyError,
        "x.pdb, line 6: residue SOL 3 of chain A matches several residues of the force field: HOH, WAT.",
    ):
        read(tmp_path, DIMER.replace("HOH", "SOL"), xml)


def test_of_several_locations_of_an_atom_the_first_is_taken(tmp_path):
    other = DIMER.splitlines()[1].replace("C   UNA", "C  BUNA").replace("1.500", "1.700")
    lines = DIMER.splitlines()
    atoms = read(tmp_path, "\n".join([*lines[:2], other, *lines[2:]])).atoms
    assert len(atoms) == 7
    assert atoms.positions[1, 0] == 1.5


def test_options_and_files_that_are_missing_are_named(tmp_path):
    with raises(TopologyError, "constraints must be hbonds, allbonds or None, not 'bonds'."):
        read(tmp_path, constraints="bonds")
    with raises(TopologyError, "x.pdb: a PDB file has no parameters."):
        instar.read_topology(tmp_path / "x.pdb")
    with raises(TopologyError, "no.xml: there is no such file."):
        instar.read_topology(tmp_path / "x.pdb", force_field=["no.xml"])
    with raises(TopologyError, "x.pdb: there are no atoms."):
        read(tmp_path, "END\n")
