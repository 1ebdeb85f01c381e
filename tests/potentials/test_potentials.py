"""Derivatives, checks, and potentials from functions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from instar.core.lens import bind
from instar.core.result import as_result_function
from instar.geometry import Cell
from instar.potentials import (
    Buckingham,
    FunctionPotential,
    HarmonicTrap,
    LennardJones,
    Morse,
    Pair,
    PotentialError,
    ScreenedCoulomb,
    SoftSphere,
    Wall,
    WeeksChandlerAndersen,
    evaluate,
)
from instar.potentials.formula import energy_and_slope
from potentials.catalog import CASES, CUTOFF
from potentials.states import molecule, point, results, update

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def state(name="lj_shift", kinds=("cube", "skewed"), seed=0):
    rng = np.random.default_rng(seed)
    return point(CASES[name].config, [molecule(kind, rng) for kind in kinds], np.float64, 12, 3)


def up_to_date(point):
    result = update(point.particles, point.systems, point.neighbors)
    result.raise_assertion()
    return result.value


@jax.jit
def energy(potential, particles, systems, neighbors):
    found = evaluate(potential, particles, systems, neighbors, forces=False).energy
    assert found is not None
    return found.sum()


gradient = jax.jit(jax.grad(energy))


def test_gradients_equal_forces_and_virials():
    here = state()
    neighbors = up_to_date(here)
    found = results(here)
    where = bind(here.particles, lambda t: t.data.positions)

    def strained(positions, strain):
        system = jnp.clip(here.particles.data.system.indices, 0, 2)
        moved = positions + jnp.einsum("pi,pij->pj", positions, strain[system])
        cell = here.systems.data.cell.strained(strain)
        systems = bind(here.systems, lambda t: t.data.cell).set(cell)
        return energy(here.potential, where.set(moved), systems, neighbors)

    positions = jnp.nan_to_num(here.particles.data.positions)
    slopes = jax.jit(jax.grad(strained, (0, 1)))(positions, jnp.zeros((3, 3, 3)))
    np.testing.assert_allclose(slopes[0], -found.forces, atol=1e-11)
    np.testing.assert_allclose(slopes[1], -found.virial, atol=1e-10)


def test_energies_are_differentiable_by_every_parameter():
    here = state("lj_switch")
    neighbors = up_to_date(here)
    slope = gradient(here.potential, here.particles, here.systems, neighbors)
    step = 1e-6
    for read in (lambda p: p.formula.epsilon, lambda p: p.formula.sigma, lambda p: p.inner):
        value = np.asarray(read(here.potential))
        moved = [
            energy(
                bind(here.potential, read).set(value * (1 + sign * step)),
                here.particles,
                here.systems,
                neighbors,
            )
            for sign in (1, -1)
        ]
        difference = (moved[0] - moved[1]) / (2 * step)
        np.testing.assert_allclose(np.sum(read(slope) * value), difference, rtol=1e-6, atol=1e-10)


def test_pairs_that_never_meet_do_not_reach_gradients():
    config = [CASES["lj_shift"].config[0] | {"mixing": None}]
    only = point(config, [molecule("cube", np.random.default_rng(1))], np.float64, 12, 3)
    labels = jnp.zeros_like(only.particles.data.labels.indices)
    particles = bind(only.particles, lambda t: t.data.labels.indices).set(labels)
    slope = gradient(only.potential, particles, only.systems, up_to_date(only))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


def test_a_straight_cell_has_the_derivatives_of_a_general_one():
    here = state(kinds=("cube", "box"))
    cell = here.systems.data.cell
    straight = Cell(cell.vectors, cell.periodic, cell.bounded, orthorhombic=True)
    neighbors = up_to_date(here)

    def of_vectors(cell):
        systems = bind(here.systems, lambda t: t.data.cell).set(cell)
        return energy(here.potential, here.particles, systems, neighbors)

    of_cell = jax.jit(jax.grad(of_vectors, allow_int=True))
    slopes = [of_cell(c).vectors for c in (cell, straight)]
    np.testing.assert_allclose(slopes[1], slopes[0], atol=1e-12)
    assert np.abs(slopes[0][0][~np.eye(3, dtype=bool)]).max() > 1e-9


def test_a_list_that_was_never_made_is_an_error():
    here = state()
    result = as_result_function(evaluate)(
        here.potential, here.particles, here.systems, here.neighbors
    )
    with pytest.raises(AssertionError, match="out of date"):
        result.raise_assertion()


def test_a_list_that_is_too_short_is_an_error():
    here = state()
    longer = bind(here.potential, lambda p: p.cutoff).set(np.float64(CUTOFF + 0.1))
    result = as_result_function(evaluate)(longer, here.particles, here.systems, up_to_date(here))
    with pytest.raises(AssertionError, match="too short"):
        result.raise_assertion()
    with pytest.raises(PotentialError, match="needs neighbors"):
        evaluate(here.potential, here.particles, here.systems)


def test_a_function_of_the_state_is_a_potential():
    here = state(kinds=("open", "open"))

    def springs(stiffness, particles, systems):
        x = particles.data.positions
        return particles.data.system.sum_over(stiffness / 2 * jnp.sum(x**2, axis=1)).data

    mine = FunctionPotential(springs, np.float64(0.3))
    ready = HarmonicTrap(np.full(3, 0.3), np.zeros(3))
    found, right = (
        evaluate(potential, here.particles, here.systems, virial=True)
        for potential in (mine, ready)
    )
    for name in ("energy", "forces", "virial"):
        np.testing.assert_allclose(getattr(found, name), getattr(right, name), atol=1e-12)
    with pytest.raises(PotentialError, match="single particles"):
        evaluate(mine, here.particles, here.systems, per_particle=True)


def test_walls_have_finite_gradients_beside_absent_particles():
    here = state(kinds=("open",))
    wall = Wall(np.float64(0.5), np.float64(3.0), np.array([0.0, 0, -60]), np.array([0.0, 0, 1]))
    slope = gradient(wall, here.particles, here.systems, None)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(slope))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"truncation": "cut"}, "no truncation 'cut'"),
        ({"truncation": "switch"}, "inner radius"),
        ({"inner": 3.0}, "inner radius"),
        ({"truncation": "switch", "inner": 9.0}, "not between 0 and the cutoff"),
        ({"cutoff": -1.0}, "a length above zero"),
    ],
)
def test_potentials_that_do_not_fit_together_are_refused(arguments, message):
    with pytest.raises(PotentialError, match=message):
        Pair(LennardJones(1.0, 3.0), **({"cutoff": 8.0} | arguments))


@pytest.mark.parametrize("name", ["lj_tail", "morse", "coulomb"])
def test_a_tail_is_refused_where_none_is_known(name):
    here = state(name) if name != "lj_tail" else state("lj_tail", kinds=("slab",))
    if name == "lj_tail":
        with pytest.raises(AssertionError, match="repeat along all axes"):
            results(here)
    else:
        with pytest.raises(PotentialError, match="tail"):
            bind(here.potential, lambda p: p.truncation).set("tail")


@pytest.mark.parametrize(
    "formula",
    [
        LennardJones(0.01, 3.0),
        WeeksChandlerAndersen(0.01, 3.0),
        Buckingham(900.0, 0.3, 20.0),
        Morse(0.3, 1.4, 2.6),
        SoftSphere(0.01, 3.0, 12.0),
        ScreenedCoulomb(0.4),
    ],
    ids=lambda formula: type(formula).__name__,
)
def test_a_distance_that_is_not_a_number_does_not_vanish(formula):
    formula = jax.tree.map(jnp.asarray, formula)
    assert np.isnan(energy_and_slope(formula, jnp.asarray(np.nan))).all()
