"""Molecular dynamics: exact results, conserved energies, constraints, fixed atoms, errors."""

import dataclasses
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.constraints import FixAtoms, FixCom
from support import raises

from dynamics.systems import (
    BAR,
    FS,
    KEY,
    LENNARD_JONES,
    METHODS,
    argon,
    bonds,
    by_system,
    chain_state,
    chains,
    measured,
    molecules,
    state_of,
)
from instar.app.api.md_state import md_state
from instar.app.ase.structures import StructureError
from instar.core.propagator import advance
from instar.dynamics import md
from instar.dynamics.knobs import Ramp, knob
from instar.dynamics.streams import chi_squared, normals, threefry
from instar.geometry.constants import BOLTZMANN
from instar.observables import Series

HALF, HEIGHT = 1.5139 / 2, np.sqrt(0.9572**2 - (1.5139 / 2) ** 2)
WATER = np.array([[0, 0, 0], [HALF, HEIGHT, 0], [-HALF, HEIGHT, 0]])
TRAP = {"type": "harmonic_trap", "stiffness": 2.0}


pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def oscillators(count, displacement=0.0, **options):
    atoms = Atoms(f"Ar{count}", np.full((count, 3), displacement))
    atoms.set_masses(np.full(count, 2.0))
    return md_state(atoms, TRAP, **options)


def test_velocity_verlet_has_the_frequency_of_its_step():
    time_step = 0.7
    step, state = md.nve(time_step), oscillators(1, 0.3)
    omega = 2 / time_step * np.arcsin(time_step / 2)  # √(k/m) = 1
    for _ in range(4):
        state = advance(step, KEY, state, 5, start=int(state.step))
        found = np.asarray(state.particles.data.positions)
        expected = 0.3 * np.cos(omega * time_step * int(state.step))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_positions_under_baoab_and_brownian_motion_are_canonical_for_any_step():
    temperature, count = 300.0, 4000
    expected = BOLTZMANN * temperature / 2.0
    for step in (md.langevin(1.5, temperature, 0.8), md.brownian(0.9, temperature, 1.0)):
        state = advance(step, KEY, oscillators(count, temperature=temperature), 40)
        square = np.asarray(state.particles.data.positions) ** 2
        # 12,000 independent numbers: four standard errors
        assert abs(square.mean() / expected - 1) < 4 * np.sqrt(2 / square.size)


def test_free_brownian_particles_diffuse_as_einstein_says():
    friction, time_step, steps, count = 5.0, 0.3, 20, 4000
    gas = Atoms(f"Ar{count}", np.zeros((count, 3)))
    field = {"type": "harmonic_trap", "stiffness": 0.0}
    state = md_state(gas, field, temperature=300.0)
    state = advance(md.brownian(time_step, 300.0, friction), KEY, state, steps)
    square = np.asarray(state.particles.data.positions) ** 2
    # n steps, half of the noise at both ends: r = √(2DΔt) (½ξ₀ + ξ₁ + … + ξ_(n−1) + ½ξ_n)
    diffusion = BOLTZMANN * 300.0 / (gas.get_masses()[0] * friction)
    exact = 2 * diffusion * time_step * (steps - 0.5)
    assert abs(square.mean() / exact - 1) < 4 * np.sqrt(2 / square.size)


def test_velocities_are_drawn_at_exactly_the_temperature_with_the_centre_at_rest():
    state = chain_state()
    found = measured(state)
    np.testing.assert_allclose(found.temperature, [80, 40, 120], rtol=1e-12)
    data = state.particles.data
    momentum = np.zeros((3, 3))
    momenta = np.asarray(data.masses)[:, None] * np.asarray(data.velocities)
    np.add.at(momentum, np.asarray(data.system.indices), momenta)
    np.testing.assert_allclose(momentum, 0, atol=1e-12)
    np.testing.assert_array_equal(state.systems.data.degrees, [9, 15, 9])


def test_seed_zero_is_a_seed():
    one, same, other = (chain_state(seed=seed).particles.data.velocities for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (np.asarray(one) != np.asarray(other)).all()


@pytest.mark.long
def test_energy_fluctuates_with_the_square_of_the_step_and_does_not_drift():
    fluctuations, drifts = [], []
    for time_step, steps in ((8 * FS, 250), (4 * FS, 500)):
        step = md.nve(time_step)
        state = state_of(argon(), LENNARD_JONES)
        state = advance(md.langevin(4 * FS, 60.0, 0.01 / FS), KEY, state, 100)
        state = dataclasses.replace(state, step=state.step * 0)
        series = Series.of(total_energy, state, steps)
        state = md.simulate(step, state, steps, observers={"energy": series})
        energies = state.observed["energy"].result()
        fluctuations.append(energies.std(axis=0))
        time = np.arange(steps) * time_step
        slope = np.polyfit(time, energies, 1)[0]
        thermal = np.asarray(state.systems.data.degrees) * BOLTZMANN * 60.0
        drifts.append(np.abs(slope) * 1e6 * FS / thermal)
    ratio = fluctuations[0] / fluctuations[1]
    # 4 from the order of the integrator; the two runs do not visit the same states
    assert (np.abs(np.log2(ratio) - 2) < 0.5).all(), ratio
    # per ns and degree of freedom, in units of k_B T: a tenth of the thermal energy in 10 ps
    assert (drifts[1] < 10).all(), drifts


def total_energy(state):
    return md.thermo(state).total


@pytest.mark.long
def test_salt_with_an_ewald_sum_conserves_energy():
    salt = bulk("NaCl", "rocksalt", 5.64, cubic=True)
    salt.set_initial_charges([1.0 if s == "Na" else -1.0 for s in salt.symbols])
    pairs = {
        "Na-Na": {"A": "424.097 eV", "rho": "0.317 angstrom", "C": "1.05 eV angstrom^6"},
        "Na-Cl": {"A": "1256.31 eV", "rho": "0.317 angstrom", "C": "6.99 eV angstrom^6"},
        "Cl-Cl": {"A": "3488.998 eV", "rho": "0.317 angstrom", "C": "72.40 eV angstrom^6"},
    }
    potential = [
        {"type": "buckingham", "cutoff": 8.0, "truncation": "force_shift", "pairs": pairs},
        {"type": "coulomb", "accuracy": 1e-5},
    ]
    state = md_state(salt, potential, temperature=600.0, skin=0.5)
    step = md.nve(1 * FS)
    before = measured(state)
    state = md.simulate(step, state, 200)
    after = measured(state)
    kinetic = before.kinetic[0]
    assert abs(after.kinetic[0] - kinetic) > 0.1 * kinetic  # it did move
    assert abs(after.total[0] - before.total[0]) < 2e-3 * kinetic


def waters():
    rng = np.random.default_rng(0)
    rotations = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(4)]
    centres = np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 1.0]])
    positions = [WATER @ r + c for r, c in zip(rotations, centres, strict=True)]
    atoms = Atoms("OHH" * 4, np.concatenate(positions), cell=[8, 8, 8], pbc=True)
    atoms.wrap()
    terms = [{"atoms": [3 * n, 3 * n + 1, 3 * n + 2], "oh": 0.9572, "hh": 1.5139} for n in range(4)]
    spring = {
        "type": "harmonic_bond",
        "terms": [{"atoms": [3 * n, 3 * n + 3], "k": 0.05, "r0": 3.5} for n in range(3)],
    }
    return atoms, [{"type": "rigid_water", "terms": terms}, spring]


@pytest.mark.parametrize(
    "name",
    [*(pytest.param(n, marks=pytest.mark.long) for n in ("nve", "langevin")), "cell_rescaling"],
)
def test_rigid_water_stays_rigid_and_conserves_what_it_should(name):
    atoms, potential = waters()
    state = md_state(atoms, potential, temperature=300.0)
    step = {
        "nve": md.nve(1 * FS),
        "langevin": md.langevin(1 * FS, 300.0, 0.01 / FS),
        "cell_rescaling": md.cell_rescaling(
            1 * FS,
            300.0,
            1 * BAR,
            time_constant=100 * FS,
            pressure_time_constant=500 * FS,
            compressibility=4.5e-5 / BAR,
            every=10,
        ),
    }[name]
    state = step.begin(state)
    assert int(state.systems.data.degrees[0]) == 6 * 4 - 3
    before = measured(state)
    np.testing.assert_allclose(before.temperature, 300, rtol=1e-10)
    state = md.simulate(step, state, 100)
    after = measured(state)
    everyone = state.everyone
    violation = state.constraints.violation(everyone.positions, everyone)
    assert float(violation[0]) < 1e-10
    assert abs(after.conserved[0] - before.conserved[0]) < 0.01 * before.kinetic[0]
    if name == "cell_rescaling":
        assert abs(after.volume[0] / before.volume[0] - 1) > 1e-4
    elif name == "langevin":
        assert abs(after.total[0] - before.total[0]) > 0.01 * before.kinetic[0]


def test_pressures_of_atoms_and_of_molecules_agree_for_free_rigid_rotors():
    atoms, potential = waters()
    del atoms[3:]
    state = md_state(atoms, potential[0] | {"terms": potential[0]["terms"][:1]}, hold_centre=False)
    state = md.draw_velocities(KEY, state, 300.0)
    found = measured(state)
    # m v²/3V of the whole molecule at each instant is the mean of that of its atoms and constraints
    data = state.particles.data
    masses = np.asarray(data.masses)
    whole = masses @ np.asarray(data.velocities) / masses.sum()
    volume = 8.0**3
    np.testing.assert_allclose(
        found.molecular_pressure, masses.sum() * (whole**2).sum() / 3 / volume, rtol=1e-10
    )
    np.testing.assert_allclose(found.pressure, found.molecular_pressure, rtol=1e-8)


def test_fixed_atoms_stay_and_count_no_degrees_of_freedom():
    structures, order = chains(), (0, 1, 2)
    structures[0].set_constraint(FixAtoms([0, 2]))
    state = md_state(structures, bonds(order), temperature=80.0, molecules=molecules(order))
    np.testing.assert_array_equal(state.systems.data.degrees, [3 * 2, 15, 9])
    np.testing.assert_array_equal(state.systems.data.held, [False, True, True])
    before = np.asarray(state.particles.data.positions)
    after = advance(md.langevin(2 * FS, 80.0, 0.01 / FS), KEY, state, 20)
    moved = np.asarray(after.particles.data.positions) - before
    assert not moved[[0, 2]].any()
    assert (np.abs(np.delete(moved, [0, 2], axis=0)) > 0).all()


def test_a_ramp_follows_the_step_number():
    state = chain_state()
    ramp = Ramp(np.array([100.0, 0.0, 50.0]), 300.0, 10, 30)
    for number, expected in ((0, [100, 0, 50]), (20, [200, 150, 175]), (40, [300, 300, 300])):
        now = dataclasses.replace(state, step=state.step * 0 + np.uint32(number))
        np.testing.assert_allclose(knob(ramp, now), expected)


def test_a_ramp_heats_and_pieces_are_the_same_run():
    step = md.langevin(2 * FS, Ramp(10.0, 3000.0, 0, 100), 0.2 / FS)
    whole = md.simulate(step, chain_state(), 100, seed=7)
    pieces = chain_state()
    for steps in (37, 1, 62):
        pieces = md.simulate(step, pieces, steps, seed=7)
    for stream, columns in by_system(whole).items():
        for one, other in zip(columns, by_system(pieces)[stream], strict=True):
            np.testing.assert_array_equal(one, other)
    assert measured(whole).temperature.mean() > 600


def test_observing_changes_no_trajectory():
    step = md.velocity_rescaling(2 * FS, 80.0, 50 * FS)
    state = chain_state()
    series = Series.of(total_energy, state, 5)
    watched = md.simulate(step, state, 20, observers={"energy": series}, every=4)
    plain = md.simulate(step, state, 20)
    assert watched.observed["energy"].result().shape == (5, 3)
    np.testing.assert_array_equal(watched.particles.data.positions, plain.particles.data.positions)


@pytest.mark.long
def test_a_system_that_flies_apart_is_frozen_with_a_warning_and_the_others_go_on():
    structures = argon()
    alone = md_state(structures[:1], LENNARD_JONES, temperature=80.0, skin=0.5)
    crowded = structures[0].copy()
    crowded.positions[3] = crowded.positions[4] + 1e-3
    both = md_state([structures[0], crowded], LENNARD_JONES, temperature=[80.0, 0.0], skin=0.5)
    step = md.nve(2 * FS)
    with pytest.warns(md.ExplosionWarning, match="System 1 exploded at step"):
        both = md.simulate(step, both, 20)
    alone = md.simulate(step, alone, 20)
    (explosion,) = md.explosions(both)
    assert {3, 4} & set(explosion.atoms)
    np.testing.assert_allclose(
        by_system(both)[0][0], by_system(alone)[0][0], rtol=1e-10, atol=1e-10
    )
    assert np.isfinite(by_system(both)[1][0]).all()
    found = measured(both)
    assert np.isfinite(found.potential[0])
    assert np.isnan(found.potential[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        md.simulate(step, both, 5)


def test_random_words_are_those_of_threefry():
    from jax.extend.random import threefry_2x32

    key = np.array([0x13198A2E, 0x03707344], np.uint32)
    counter = np.array([0x243F6A88, 0x85A308D3], np.uint32)
    expected = threefry_2x32(key, counter)
    found = threefry(*(jnp.asarray(word) for word in (*key, *counter)))
    np.testing.assert_array_equal(np.stack(found), expected)
    assert [hex(word) for word in np.stack(found)] == ["0xc4923a9c", "0x483df7a0"]


def test_normal_and_chi_squared_numbers_have_their_moments():
    state = oscillators(20_000)
    drawn = np.asarray(normals(KEY, state)).ravel()
    size = np.sqrt(1 / drawn.size)
    assert abs(drawn.mean()) < 4 * size
    assert abs((drawn**2).mean() - 1) < 4 * np.sqrt(2) * size
    assert abs((drawn**3).mean()) < 4 * np.sqrt(15) * size
    assert abs((drawn**4).mean() - 3) < 4 * np.sqrt(96) * size
    many = md_state([Atoms("Ar", [[0, 0, 0]])] * 3000, TRAP)
    for degrees in (1.0, 2.0, 7.0, 300.0):
        sums = np.asarray(chi_squared(KEY, many, jnp.full(3000, degrees)))
        assert abs(sums.mean() / degrees - 1) < 4 * np.sqrt(2 / degrees / 3000)
        spread = np.sqrt((2 + 12 / degrees) / 3000)  # of the variance, with the excess 12/degrees
        assert abs(sums.var() / (2 * degrees) - 1) < 4 * spread
    np.testing.assert_array_equal(chi_squared(KEY, many, jnp.zeros(3000)), 0)


def test_a_structure_with_few_digits_is_brought_to_its_constraints():
    atoms, potential = waters()
    rounded = atoms.copy()
    rounded.positions = rounded.positions.round(2)
    state = md_state(rounded, potential)
    found = state.constraints.violation(state.particles.data.positions, state.everyone)
    assert float(found.max()) < 1e-9
    moved = np.asarray(state.particles.data.positions) - rounded.positions
    moved -= np.round(moved / 8) * 8  # molecules are whole, the cell is 8 Å wide
    assert 0 < np.abs(moved).max() < 0.02


def test_structures_are_not_a_state():
    said = (
        "A state, such as instar.md_state makes of structures, is needed; "
        "not Atoms(symbols='Ar', pbc=False)."
    )
    with raises(TypeError, said):
        md.simulate(md.nve(0.1), Atoms("Ar"), 10)
    blocks_unchecked = inspect.unwrap(md.simulate_blocks)  # as for users, whose types no hook reads
    with raises(TypeError, said):
        blocks_unchecked(md.nve(0.1), [Atoms("Ar")], 10)


def test_mistakes_are_refused():
    atoms, potential = waters()
    first_line = "The particles 0 and 1 are held at a distance, but one of them is fixed."
    atoms.set_constraint(FixAtoms([0]))
    with raises(ValueError, first_line):
        md_state(atoms, potential)
    atoms.set_constraint(FixCom())
    with raises(StructureError, "Structure 0 has a constraint FixCom; only FixAtoms is supported."):
        md_state(atoms, potential)
    atoms.set_constraint()
    light = atoms.copy()
    light.set_masses(np.zeros(12))
    with raises(ValueError, "Particle 0 has the mass 0.0 amu; it must be above zero."):
        md_state(light, potential)
    with raises(ValueError, "A temperature must be a number of at least zero (K), not -1.0."):
        md_state(atoms, potential, temperature=-1.0)
    first_line = "Two systems have the same stream, so they would draw the same numbers."
    with raises(ValueError, first_line):
        md_state([Atoms("Ar"), Atoms("Ar")], TRAP, streams=[1, 1])
    stretched = atoms.copy()
    stretched.positions[1] += 0.1
    with pytest.raises(ValueError, match="System 0 does not meet its constraints"):
        md_state(stretched, potential)
    with raises(ValueError, "The centre of mass of system 0 can't be held: it has fixed atoms."):
        free = Atoms("Ar2", [[0, 0, 0], [3, 0, 0]], constraint=FixAtoms([0]))
        md_state(free, TRAP, hold_centre=True)
    barostat = md.mtk(1.0, 300.0, 0.0, time_constant=10.0, pressure_time_constant=10.0)
    with pytest.raises(ValueError, match="System 0 does not repeat along all axes"):
        barostat.begin(oscillators(2))
    with raises(ValueError, "There are 2 systems, but a setting with 3 values."):
        md.draw_velocities(KEY, md_state([Atoms("Ar")] * 2, TRAP), np.ones(3))


@pytest.mark.parametrize(
    ("make", "first_line"),
    [
        (lambda: md.nve("2 fs"), "A time step is a number in the units used inside, not '2 fs'."),
        (lambda: md.nve(0.0), "A time step is above zero, not 0.0."),
        (lambda: md.nve(np.array([1.0, -1.0])), "A time step is above zero, not -1.0."),
        (lambda: md.nve(np.nan), "A time step is above zero, not nan."),
        (
            lambda: md.langevin(1.0, Ramp(100.0, -5.0, 0, 10), 1.0),
            "A temperature is not below zero, not -5.0.",
        ),
        (
            lambda: md.langevin(1.0, Ramp(100.0, 200.0, 10, 5), 1.0),
            "A ramp of the temperature ends at step 5, before step 10.",
        ),
        (lambda: md.langevin(1.0, 300.0, -1.0), "A friction is not below zero, not -1.0."),
        (
            lambda: md.velocity_rescaling(1.0, 300.0, 0.0),
            "A time constant is above zero, not 0.0.",
        ),
        (lambda: md.nose_hoover(1.0, 300.0, -2.0), "A time constant is above zero, not -2.0."),
        (lambda: md.brownian(1.0, 300.0, 0.0), "A friction is above zero, not 0.0."),
        (
            lambda: md.mtk(1.0, 300.0, np.inf, time_constant=1.0, pressure_time_constant=1.0),
            "A pressure is a finite number, not inf.",
        ),
        (
            lambda: md.mtk(1.0, 300.0, 0.0, time_constant=1.0, pressure_time_constant=1.0, every=0),
            "A cell moves every so many steps, 1 or more, not every 0.",
        ),
    ],
)
def test_knobs_out_of_range_are_refused(make, first_line):
    with raises(ValueError, first_line):
        make()


@pytest.mark.parametrize("name", ["nose_hoover", "mtk", "cell_rescaling_full"])
def test_a_method_says_that_a_state_has_not_been_prepared(name):
    with raises(ValueError, "The state lacks what this method needs."):
        md.simulate(METHODS[name].step(), chain_state(), 1)


def test_a_state_in_double_precision_keeps_it_where_the_switch_of_jax_is_off():
    method = md.langevin(0.2, 300.0, 0.1)

    def moved():
        state = oscillators(2, 0.3, temperature=300.0, precision="float64")
        observers = {"total": Series.of(total_energy, state, room=4)}
        state = md.simulate(method, method.begin(state), 4, observers=observers)
        thermo = md.thermo(state)
        found = state.particles.data.positions, thermo.pressure, thermo.total
        return [np.asarray(x) for x in (*found, state.observed.observers["total"].result())]

    expected = moved()
    with jax.enable_x64(False):
        found = moved()
    assert [array.dtype for array in found] == [np.float64] * 4
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_state_shows_itself_in_a_few_lines():
    lines = repr(oscillators(2)).splitlines()
    assert lines[:4] == [
        "State of molecular dynamics",
        "  systems: 1",
        "  particles: 2, float64",
        "  step: 0",
    ]
    assert len(lines) < 10
    assert "<td>potential</td>" in oscillators(2)._repr_html_()
