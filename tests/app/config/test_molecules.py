"""Terms that hold for every molecule of a structure, and for some structures of a batch."""

import re

import jax
import numpy as np
import pytest
from ase import Atoms

import instar
from instar.app.api.md_state import md_blocks
from instar.app.ase.structures import structures_of
from instar.app.config.base import ConfigurationError
from instar.app.config.potentials import recipe_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SPRING = {"k": "10 eV/angstrom^2", "r0": "1 angstrom"}


def chain(count, length):
    """Diatomic molecules in a row, each of that length."""
    places = [[5 * n + dx, 0, 0] for n in range(count) for dx in (0, length)]
    return Atoms("HF" * count, places)


def bonds(**options):
    return {"type": "harmonic_bond", "terms": [{"atoms": [0, 1], **SPRING}], **options}


def test_terms_of_a_molecule_hold_for_every_molecule():
    structures = [chain(3, 1.2), chain(1, 1.4), chain(2, 1.1)]
    found = instar.single_point(structures, [bonds(molecule=2)])
    np.testing.assert_allclose(found.energies, [3 * 0.2, 0.8, 2 * 0.05], rtol=1e-12)


def test_molecules_of_their_own_kind_in_each_structure():
    longer = Atoms("OH2", [[0, 0, 0], [1.2, 0, 0], [0, 1.3, 0]])
    water = bonds(molecule=3, structures=[1])
    water["terms"] = [{"atoms": [0, 1], **SPRING}, {"atoms": [0, 2], **SPRING}]
    found = instar.single_point([chain(2, 1.2), longer], [bonds(molecule=2, structures=[0]), water])
    np.testing.assert_allclose(found.energies, [0.4, 0.2 + 0.45], rtol=1e-12)


@pytest.mark.parametrize(
    ("potential", "message"),
    [
        (
            bonds(molecule=4),
            "structure 1 has 2 atoms, which are not a whole number of molecules of 4",
        ),
        (bonds(molecule=1), "is between the atoms [0, 1], but a molecule has 1 atoms"),
        (bonds(molecule=0), "potential[0].molecule"),
    ],
)
def test_structures_that_are_not_made_of_such_molecules_are_refused(potential, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        instar.single_point([chain(2, 1.2), chain(1, 1.2)], [potential])


STIFF, SOFT = (
    {"type": "harmonic_bond", "structures": [0, 3], "terms": [{"atoms": [0, 1], **SPRING}]},
    {
        "type": "harmonic_bond",
        "structures": [1, 2],
        "terms": [{"atoms": [0, 1], "k": 1.0, "r0": 1.0}],
    },
)


def test_structures_keep_their_terms_when_they_are_computed_in_parts():
    """Named by number, they are counted anew in each part."""
    whole = instar.single_point([chain(1, 1.2)] * 4, [STIFF, SOFT]).energies
    np.testing.assert_allclose(whole, [0.2, 0.02, 0.02, 0.2], rtol=1e-12)
    built = recipe_of([STIFF, SOFT])
    for part in (range(2), range(2, 4), range(3, 4)):
        own = built.among(part)
        named = [entry.structures for entry in own.entries]
        assert [[n + part.start for n in numbers] for numbers in named] == [
            [n for n in (0, 3) if n in part],
            [n for n in (1, 2) if n in part],
        ]


def test_a_number_of_a_structure_that_there_is_not_is_refused():
    built = recipe_of([STIFF])
    built.check_numbers(4)
    with pytest.raises(ConfigurationError, match="there is no structure 3; there are 3"):
        built.check_numbers(3)
    with pytest.raises(ConfigurationError, match="there is no structure 3; there are 3"):
        md_blocks([chain(1, 1.2)] * 3, [STIFF])


def test_blocks_of_a_run_have_the_terms_of_their_structures():
    molecules = [chain(1, 1.2)] * 4
    with jax.enable_x64(True):
        blocks = md_blocks(molecules, [STIFF, SOFT], atoms=2)
        found = [float(e) for block in blocks for e in block.systems.data.energy]
        np.testing.assert_allclose(found, [0.2, 0.02, 0.02, 0.2], rtol=1e-12)
        one = recipe_of([bonds()]).potential(structures_of(molecules[:1]))
        with pytest.raises(ValueError, match="can't be used for blocks"):
            md_blocks(molecules, one)
