"""Constraints: projections, their conservation laws, dynamics and virials."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms

from instar.app.ase.structures import structures_of, tables
from instar.app.config.potentials import recipe_of
from instar.core.data import Index
from instar.core.lens import bind
from instar.core.result import as_result_function
from instar.core.typing import SystemId
from instar.geometry import AllParticles
from instar.potentials import Sum
from instar.potentials.constraints import (
    DistanceConstraint,
    RigidWater,
    constraint_virial,
    constraints_of,
)
from potentials.constrained import (
    CELLS,
    HH,
    OH,
    as_distances,
    chain,
    checked,
    kick,
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


# Projections ------------------------------------------------------------------------------


def cases():
    rng = np.random.default_rng(0)
    for cell in CELLS:
        yield f"water_{cell}", waters(5, rng, cell), rigid(5)
    yield "distances_box", waters(5, rng, "box"), as_distances(rigid(5))
    yield "pair", chain(2, rng), linked(2)
    yield "chain", chain(4, rng), linked(4)
    yield "long_chain", chain(24, rng), linked(24)
    mixed = waters(3, rng, "open") + chain(7, rng)
    yield "mixed", mixed, Sum((rigid(3, 0, 16), linked(7, 9, 16)))


CASES = {name: (atoms, potential) for name, atoms, potential in cases()}


def projected(constraints, before, moved, speeds, masses, everyone):
    """Both projections, twice, and how far bonds are from being met and from resting."""
    found = constraints.project_positions(moved, before, masses, everyone)
    again = constraints.project_positions(found.positions, before, masses, everyone)
    slow = constraints.project_velocities(speeds, before, masses, everyone)
    same = constraints.project_velocities(slow.velocities, before, masses, everyone)
    along = []
    for group in constraints.all_groups:
        ready = group.ready(masses, everyone)
        bonds = ready.separations(before, everyone)
        along.append(jnp.sum(bonds * ready.differences(slow.velocities), axis=-1).reshape(-1))
    worst = constraints.violation(found.positions, everyone)
    return found, again, slow, same, worst, jnp.concatenate(along)


@pytest.mark.parametrize("name", CASES)
def test_projections_meet_the_constraints_conserve_momentum_and_change_nothing_twice(name):
    atoms, potential = CASES[name]
    everyone, masses = state_of(atoms)
    before = everyone.positions
    moved, speeds = before + kick(before.shape, 0.05), kick(before.shape, 1.0)
    found, again, slow, same, worst, along = checked(
        projected, constraints_of(potential), before, moved, speeds, masses, everyone
    )
    assert float(worst[0]) < 1e-12
    np.testing.assert_array_equal(found.positions, moved + found.shift)
    np.testing.assert_allclose(along, 0, atol=1e-12)
    np.testing.assert_allclose(masses @ found.shift, 0, atol=1e-13)
    np.testing.assert_allclose(masses @ slow.shift, 0, atol=1e-12)
    np.testing.assert_allclose(again.shift, 0, atol=2e-14)
    np.testing.assert_allclose(same.shift, 0, atol=1e-13)
    turning = np.asarray(found.moment[0])
    np.testing.assert_allclose(turning, turning.T, atol=1e-13)  # no torque


@pytest.mark.parametrize("name", ["water_box", "distances_box", "chain"])
def test_single_precision_meets_the_constraints_to_its_digits(name):
    atoms, potential = CASES[name]
    with jax.enable_x64(False):
        everyone, masses = state_of(atoms, np.float32)
        before = everyone.positions
        moved = before + kick(before.shape, 0.05, dtype=np.float32)
        speeds = kick(before.shape, 1.0, dtype=np.float32)
        found, _, _, _, worst, along = checked(
            projected, constraints_of(potential), before, moved, speeds, masses, everyone
        )
        assert found.positions.dtype == np.float32
        assert float(worst[0]) < 2e-6
        np.testing.assert_allclose(along, 0, atol=1e-5)


@pytest.mark.parametrize("cell", CELLS)
def test_settle_and_shake_agree(cell):
    everyone, masses = state_of(waters(40, np.random.default_rng(1), cell))
    before = everyone.positions
    moved = before + kick(before.shape, 0.08)
    one, two = (
        checked(constraints_of(p).project_positions, moved, before, masses, everyone)
        for p in (rigid(40), as_distances(rigid(40)))
    )
    assert float(jnp.abs(two.shift).max()) > 0.05
    np.testing.assert_allclose(one.positions, two.positions, atol=1e-11)
    np.testing.assert_allclose(one.moment, two.moment, atol=1e-11)


def test_a_ragged_batch_equals_each_alone():
    rng = np.random.default_rng(5)
    structures = [waters(2, rng, "box"), chain(4, rng), waters(3, rng, "skewed")]
    together = Sum((rigid(2, 0, 19), linked(4, 6, 19), rigid(3, 10, 19)))
    alone = [rigid(2), linked(4), rigid(3)]
    everyone, masses = state_of(structures)
    moved = everyone.positions + kick(everyone.positions.shape, 0.05)
    found = checked(
        constraints_of(together).project_positions, moved, everyone.positions, masses, everyone
    )
    assert constraints_of(together).removed_degrees(everyone).tolist() == [6, 3, 9]
    start = 0
    for number, (atoms, potential) in enumerate(zip(structures, alone, strict=True)):
        own, mass = state_of(atoms)
        part = moved[start : start + len(atoms)]
        expected = checked(
            constraints_of(potential).project_positions, part, own.positions, mass, own
        )
        here = found.positions[start : start + len(atoms)]
        np.testing.assert_allclose(here, expected.positions, atol=1e-14)
        np.testing.assert_allclose(found.moment[number], expected.moment[0], atol=1e-14)
        start += len(atoms)


def test_free_rows_constrain_nothing_and_reach_no_gradient():
    rng = np.random.default_rng(2)
    atoms = waters(3, rng, "open") + chain(4, rng)
    table = np.arange(9).reshape(3, 3)
    table[1] = [3, 13, 5]
    water = RigidWater(rows(table, 13), np.full(3, OH), np.full(3, HH))
    constraints = constraints_of(water + linked(4, 9, 13))
    particles, systems = tables(structures_of([atoms]), np.float64)
    here = np.array([0] * 8 + [1] + [0] * 4)  # a hydrogen of the last water is absent
    index = Index.integer(here, n=1, label=SystemId)
    particles = bind(particles, lambda t: t.data.system).set(index)
    nowhere = particles.data.positions.at[8].set(jnp.nan)
    particles = bind(particles, lambda t: t.data.positions).set(nowhere)
    everyone = AllParticles.of(particles, systems)
    masses = jnp.asarray(atoms.get_masses()).at[8].set(0)
    assert constraints.removed_degrees(everyone).tolist() == [6]

    def total(moved):
        found = constraints.project_positions(moved, everyone.positions, masses, everyone)
        slow = constraints.project_velocities(moved, everyone.positions, masses, everyone)
        there = everyone.there[:, None]
        everything = jnp.where(there, found.positions + slow.velocities, 0)
        return jnp.sum(everything**2) + jnp.sum(found.moment), found.shift

    moved = everyone.positions + kick((13, 3), 0.02)
    (_, shift), slope = jax.jit(jax.value_and_grad(total, has_aux=True))(moved)
    assert not np.asarray(shift)[3:9].any()
    assert np.asarray(shift)[:3].all()
    assert np.isfinite(np.asarray(slope)[np.arange(13) != 8]).all()
    assert not np.asarray(slope)[8].any()


@pytest.mark.parametrize("name", ["water_box", "distances_box", "chain"])
def test_the_derivative_of_a_projection_is_that_of_finite_differences(name):
    atoms, potential = CASES[name]
    everyone, masses = state_of(atoms)
    weights, direction = kick(everyone.positions.shape, 1, 8), kick(everyone.positions.shape, 1, 9)

    @jax.jit
    def value(moved):
        found = constraints_of(potential).project_positions(
            moved, everyone.positions, masses, everyone
        )
        return jnp.sum(weights * found.positions)

    moved = everyone.positions + kick(everyone.positions.shape, 0.03)
    slope = jnp.sum(jax.jit(jax.grad(value))(moved) * direction)
    sides = [value(moved + sign * 1e-6 * direction) for sign in (1, -1)]
    np.testing.assert_allclose(slope, (sides[0] - sides[1]) / 2e-6, rtol=1e-6)


def test_clusters_are_padded_to_few_sizes():
    lengths = [2, 2, 3, 5, 6, 12]
    starts = np.cumsum([0, *lengths])
    potential = Sum(tuple(linked(n, s, 30) for n, s in zip(lengths, starts[:-1], strict=True)))
    shapes = [group.atoms.shape[:2] for group in constraints_of(potential).groups]
    assert shapes == [(2, 1), (1, 2), (1, 4), (1, 6), (1, 12)]


def test_waters_that_share_an_atom_are_solved_with_what_they_share():
    pair = DistanceConstraint(rows([[0, 3]], 6), np.array([2.7]))
    constraints = constraints_of(rigid(2) + pair)
    assert [group.atoms.shape for group in constraints.groups] == [(1, 8, 2)]
    assert not constraints.waters
    assert not constraints_of(Sum(())).all_groups


# Dynamics ---------------------------------------------------------------------------------


def spring(positions, masses):
    """Harmonic to places of their own: F = −k (r − c), different for every atom."""
    centre = 0.3 * jnp.sin(jnp.arange(positions.size, dtype=positions.dtype))
    stiffness = 1 + jnp.arange(positions.shape[0], dtype=positions.dtype)[:, None] / 3
    away = positions - centre.reshape(positions.shape)
    return 0.5 * jnp.sum(stiffness * away**2), -stiffness * away


def trajectory(constraints, everyone, masses, velocities, step, count):
    """RATTLE velocity Verlet (Andersen 1983), all in one program."""
    mass = masses[:, None]

    def advance(carry, _):
        positions, velocities = carry
        half = velocities + step / 2 * spring(positions, masses)[1] / mass
        found = constraints.project_positions(positions + step * half, positions, masses, everyone)
        half = half + found.shift / step
        full = half + step / 2 * spring(found.positions, masses)[1] / mass
        after = constraints.project_velocities(full, found.positions, masses, everyone).velocities
        energy = spring(found.positions, masses)[0] + 0.5 * jnp.sum(mass * after**2)
        return (found.positions, after), energy

    return jax.lax.scan(advance, (everyone.positions, velocities), length=count)


DYNAMICS = {
    "water": (waters(2, np.random.default_rng(7), "open"), rigid(2)),
    "chain": (chain(4, np.random.default_rng(7)), linked(4)),
}


def started(name):
    atoms, potential = DYNAMICS[name]
    everyone, masses = state_of(atoms)
    constraints = constraints_of(potential)
    velocities = kick(everyone.positions.shape, 0.2)
    velocities = constraints.project_velocities(velocities, everyone.positions, masses, everyone)
    return constraints, everyone, masses, velocities.velocities


@pytest.mark.parametrize("name", DYNAMICS)
def test_the_energy_fluctuates_with_the_square_of_the_time_step(name):
    parts = started(name)
    energies = as_result_function(lambda step: trajectory(*parts, step, 800)[1])
    compiled = jax.jit(energies)
    results = [compiled(jnp.float64(step)) for step in (0.04, 0.02)]
    for result in results:
        result.raise_assertion()
    coarse, fine = np.std(results[0].value[:400]), np.std(results[1].value)
    assert 3.5 < coarse / fine < 4.5


@pytest.mark.parametrize("name", DYNAMICS)
def test_a_trajectory_runs_back_to_where_it_came_from(name):
    constraints, everyone, masses, velocities = started(name)

    def there_and_back():
        (end, speed), _ = trajectory(constraints, everyone, masses, velocities, 0.03, 200)
        turned_round = bind(everyone, lambda s: s.positions).set(end)
        return trajectory(constraints, turned_round, masses, -speed, 0.03, 200)[0]

    positions, speeds = checked(there_and_back)
    np.testing.assert_allclose(positions, everyone.positions, atol=1e-9)
    np.testing.assert_allclose(speeds, -velocities, atol=1e-9)


# Virial -----------------------------------------------------------------------------------


@pytest.mark.parametrize("potential", [rigid(1), as_distances(rigid(1))])
def test_a_free_rotor_has_a_virial_of_minus_twice_its_kinetic_energy(potential):
    everyone, masses = state_of(waters(1, np.random.default_rng(4), "box"))
    constraints = constraints_of(potential)
    velocities = kick((3, 3), 0.3)
    velocities = velocities - (masses @ velocities / masses.sum())[None]
    velocities = constraints.project_velocities(
        velocities, everyone.positions, masses, everyone
    ).velocities
    rotation = 0.5 * float(jnp.sum(masses[:, None] * velocities**2))

    @jax.jit
    def error(step):
        moved = everyone.positions + step * velocities
        found = constraints.project_positions(moved, everyone.positions, masses, everyone)
        trace = jnp.trace(constraint_virial(found, step)[0])
        return trace + 2 * rotation

    assert abs(error(0.01)) < 1e-3 * rotation
    np.testing.assert_allclose(error(0.02) / error(0.01), 4, rtol=0.05)
    exact = constraints.reaction(
        jnp.zeros((3, 3)), velocities, everyone.positions, masses, everyone
    )
    np.testing.assert_allclose(jnp.trace(exact.virial[0]), -2 * rotation, rtol=1e-12)
    np.testing.assert_allclose(exact.forces.sum(0), 0, atol=1e-13)


def test_the_reaction_is_what_the_projections_tend_to():
    constraints, everyone, masses, velocities = started("chain")
    forces = spring(everyone.positions, masses)[1]
    exact = constraints.reaction(forces, velocities, everyone.positions, masses, everyone)

    @jax.jit
    def error(step):
        half = velocities + step / 2 * forces / masses[:, None]
        moved = everyone.positions + step * half
        found = constraints.project_positions(moved, everyone.positions, masses, everyone)
        return jnp.abs(constraint_virial(found, step) - exact.virial).max()

    assert error(1e-4) < 1e-3
    np.testing.assert_allclose(error(2e-4) / error(1e-4), 2, rtol=0.05)


def test_second_derivatives_through_a_projection_equal_differences():
    chain = Atoms("C4", [[0, 0, 0], [1.5, 0, 0], [1.5, 1.5, 0], [1.5, 1.5, 1.5]])
    bonds = [{"atoms": [i, i + 1], "r0": 1.5} for i in range(3)]
    batch = structures_of([chain])
    with jax.enable_x64(True):
        config = {"type": "distance_constraint", "terms": bonds}
        constraints = constraints_of(recipe_of(config).potential(batch))
        everyone = AllParticles.of(*tables(batch, np.float64))
        masses, before = jnp.asarray(chain.get_masses()), everyone.positions
        rng = np.random.default_rng(0)
        away, along = (jnp.asarray(rng.normal(0, size, (4, 3))) for size in (0.05, 1.0))

        def total(step):
            moved = before + away + step * along
            found = constraints.project_positions(moved, before, masses, everyone)
            return jnp.sum(jnp.sin(3 * found.positions) * away)

        slope, curvature = jax.jit(jax.grad(total)), jax.jit(jax.grad(jax.grad(total)))
        difference = (slope(1e-5) - slope(-1e-5)) / 2e-5
        np.testing.assert_allclose(curvature(0.0), difference, rtol=1e-7)
