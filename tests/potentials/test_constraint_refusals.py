"""Constraints that are refused, and how they stand in a configuration."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import raises

from instar.app.ase.structures import structures_of, tables
from instar.app.config.potentials import ConfigurationError, recipe_of
from instar.geometry import AllParticles
from instar.potentials import PotentialError, evaluate
from instar.potentials.constraints import (
    DistanceConstraint,
    RigidWater,
    constraints_of,
)
from potentials.constrained import (
    chain,
    checked,
    linked,
    rigid,
    rows,
    state_of,
    waters,
)

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def test_a_step_that_is_too_long_names_the_constraint():
    everyone, masses = state_of(chain(2, np.random.default_rng(0)))
    moved = everyone.positions.at[1].add(3 * jnp.cross(everyone.positions[1], jnp.ones(3)))
    with pytest.raises(AssertionError, match="between the particles 0 and 1 can't be brought back"):
        checked(
            constraints_of(linked(2)).project_positions, moved, everyone.positions, masses, everyone
        )


@pytest.mark.parametrize(
    ("pairs", "lengths", "line"),
    [
        (
            [[0, 1], [0, 2], [1, 2]],
            [1.16, 1.16, 2.32],
            "The three distances between the particles 0, 1, 2 put them in a line, where one of "
            "them is redundant.",
        ),
        (
            [[0, 1], [0, 2], [1, 2]],
            [1.0, 1.0, 2.5],
            "The particles 0, 1, 2 can't be 1.0, 1.0 and 2.5 Å apart: the longest distance is "
            "above the sum of the others.",
        ),
        (
            [[0, 1], [1, 0]],
            [1.0, 1.0],
            "The distance between two of the particles 0, 1 is constrained twice.",
        ),
        (
            [[0, 1], [1, 2], [2, 3], [0, 3], [0, 2], [1, 3]],
            [1, 1, 1, 1, np.sqrt(2), np.sqrt(2)],
            "The six distances between the particles 0, 1, 2, 3 put them in a plane, where one of "
            "them is redundant.",
        ),
        (
            [[a, b] for a in range(5) for b in range(a + 1, 5)],
            [1, 1, 1.2, 1.3, 1, 1.1, 1.25, 1.15, 1.22, 1.27],
            "The 10 distances between the particles 0, 1, 2, 3, 4 are not independent: only 9 of "
            "them are.",
        ),
    ],
)
def test_redundant_and_impossible_distances_are_refused(pairs, lengths, line):
    table = DistanceConstraint(rows(pairs, 6), np.array(lengths, float))
    with raises(PotentialError, line):
        constraints_of(table)


def test_tables_that_make_no_sense_are_refused():
    with raises(
        PotentialError, "Row 1 of DistanceConstraint has r0 = -1.0; a length (Å) is above zero."
    ):
        DistanceConstraint(rows([[0, 1], [1, 2]], 3), np.array([1.0, -1.0]))
    with pytest.raises(PotentialError, match="names a particle twice"):
        DistanceConstraint(rows([[1, 1]], 3), np.array([1.0]))
    with pytest.raises(PotentialError, match="an index"):
        DistanceConstraint(rows([[0, 1, 2]], 3), np.array([1.0]))
    with pytest.raises(PotentialError, match="one length"):
        DistanceConstraint(rows([[0, 1]], 3), np.array([1.0, 2.0]))
    with pytest.raises(PotentialError, match="is not a triangle"):
        RigidWater(rows([[0, 1, 2]], 3), np.array([1.0]), np.array([2.0]))
    with pytest.raises(PotentialError, match="must be known"):
        jax.jit(lambda p: constraints_of(p).all_groups)(linked(3))


def test_what_can_only_be_seen_in_a_run_is_a_check():
    everyone, masses = state_of([chain(2, np.random.default_rng(0))] * 2)
    across = constraints_of(DistanceConstraint(rows([[1, 2]], 4), np.array([1.5])))
    moved = everyone.positions
    with pytest.raises(AssertionError, match="1 and 2, which are in different systems"):
        checked(across.project_positions, moved, moved, masses, everyone)
    one = constraints_of(linked(2, 0, 4))
    with pytest.raises(AssertionError, match="both need a mass above zero"):
        checked(one.project_positions, moved, moved, 0 * masses, everyone)
    everyone, masses = state_of(waters(1, np.random.default_rng(0)))
    heavy, moved = masses.at[2].set(2.014), everyone.positions
    with pytest.raises(AssertionError, match="two isotopes"):
        checked(constraints_of(rigid(1)).project_positions, moved, moved, heavy, everyone)


BOND = {"type": "distance_constraint", "terms": [{"atoms": [0, 1], "r0": "1.5 angstrom"}]}


WATER = {
    "type": "rigid_water",
    "terms": [{"atoms": [0, 1, 2], "oh": "0.9572 angstrom", "hh": "1.5139 angstrom"}],
}


def test_constraints_stand_in_a_configuration_and_add_no_energy():
    rng = np.random.default_rng(0)
    structures = [waters(1, rng), chain(2, rng)]
    config = [BOND | {"structures": [1]}, WATER | {"structures": [0]}]
    built = recipe_of(config)
    assert [entry.bonded_pairs() for entry in built.entries] == [[(0, 1)], [(0, 1), (0, 2), (1, 2)]]
    potential = built.potential(structures_of(structures))
    particles, systems = tables(structures_of(structures), np.float64)
    found: Any = evaluate(potential, particles, systems, virial=True)
    assert not found.energy.any()
    assert not found.forces.any()
    everyone = AllParticles.of(particles, systems)
    constraints = constraints_of(potential)
    assert constraints.removed_degrees(everyone).tolist() == [3, 1]
    np.testing.assert_allclose(constraints.violation(everyone.positions, everyone), 0, atol=1e-14)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (BOND | {"terms": [{"atoms": [0, 1], "r0": "1 eV"}]}, "terms[0].r0"),
        (BOND | {"terms": [{"atoms": [0, 1], "r0": "-1 Å"}]}, "terms[0].r0"),
        (
            WATER | {"terms": [{"atoms": [0, 1, 2], "oh": 1, "hh": 2}]},
            "terms[0]: there is no triangle with oh = 1.0 Å and hh = 2.0 Å",
        ),
        (WATER | {"terms": [{"atoms": [0, 1], "oh": 1, "hh": 1}]}, "terms[0].atoms"),
    ],
)
def test_mistakes_in_the_configuration_are_named(config, message):
    with pytest.raises(ConfigurationError) as caught:
        recipe_of(config)
    assert message in str(caught.value)
