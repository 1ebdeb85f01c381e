"""Many systems in blocks within one state: the same trajectories, whatever the blocks are."""

import dataclasses

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from dynamics.systems import FS, LENNARD_JONES, PRESSURES, TEMPERATURES, argon
from instar.app.api.md_state import md_state
from instar.dynamics import md
from instar.dynamics.md.divided import Division, divided
from instar.dynamics.md.dividing import can_be_divided, fastest_blocks, packed
from instar.dynamics.md.state import NEIGHBORS
from instar.observables import Series
from instar.potentials import HarmonicBond

pytestmark = pytest.mark.usefixtures("quickly_compiled")

STRUCTURES = [*argon(), *argon()[::-1], argon()[1]]
HOT = np.resize(TEMPERATURES, 7)
BLOCKS = [np.array([0, 4]), np.array([1, 3]), np.array([2, 6]), np.array([5])]
STEPS = {
    "langevin": md.langevin(2 * FS, md.Ramp(HOT, 2 * HOT, 0, 20), 0.01 / FS),
    "mtk": md.mtk(
        np.linspace(1, 2, 7) * FS,
        HOT,
        np.resize(PRESSURES, 7),
        time_constant=80 * FS,
        pressure_time_constant=500 * FS,
    ),
}


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def whole(step):
    state = md_state(STRUCTURES, LENNARD_JONES, temperature=HOT, seed=3, skin=0.3)
    return step.begin(state)


def in_blocks(state, step, room=None, devices=2):
    mesh = Mesh(np.array(jax.local_devices()[:devices]), ("rows",)) if devices > 1 else None
    division = Division.of(state, BLOCKS, mesh)
    state = md.computed(divided(state, division, 0.3, room))
    return division.placed(step.begin(state))


def temperatures(state):
    return md.thermo(state).temperature


def moved(step, state, *counts):
    for n, count in enumerate(counts):
        observers = None if n else {"T": Series.of(temperatures, state, 20)}
        state = md.simulate(step, state, count, observers=observers, every=4)
    return state


def columns(state):
    return state.particles.data, state.systems.data, state.observed["T"].result()


def assert_same(one, other, **tolerance):
    leaves = zip(jax.tree.leaves(columns(one)), jax.tree.leaves(columns(other)), strict=True)
    for mine, theirs in leaves:
        if tolerance:
            np.testing.assert_allclose(mine, theirs, **tolerance)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.long
@pytest.mark.parametrize("name", STEPS)
def test_blocks_move_as_one_state_and_grow_and_stop_to_the_bit(name):
    step = STEPS[name]
    state = in_blocks(whole(step), step)
    found = moved(step, state, 30)
    assert_same(found, moved(step, whole(step), 30), rtol=1e-9, atol=1e-9)
    assert_same(moved(step, state, 13, 17), found)

    assert state.neighbors is not None
    few = NEIGHBORS.set(state, state.neighbors.resized(neighbors=1))
    assert few.neighbors is not None
    found = moved(step, NEIGHBORS.set(state, few.neighbors.resized(neighbors=24)), 30)
    grown = []
    looked = {"T": Series.of(temperatures, few, 20)}
    repaired = md.simulate(step, few, 30, observers=looked, every=4, on_repair=grown.append)
    assert grown
    assert_same(repaired, found)


@pytest.mark.long
def test_devices_do_not_change_what_blocks_do():
    step = STEPS["langevin"]
    states = [in_blocks(whole(step), step, devices=devices) for devices in (1, 2)]
    assert_same(*(moved(step, state, 20) for state in states))


def test_an_exploded_system_is_frozen_and_its_block_goes_on():
    structures = [one.copy() for one in STRUCTURES]
    structures[3].positions[3] = structures[3].positions[2] + 1e-3
    state = md_state(structures, LENNARD_JONES, temperature=HOT, skin=0.3, forces=False)
    step = md.nve(2 * FS)
    state = in_blocks(state, step)
    with pytest.warns(md.ExplosionWarning, match="System 3 exploded at step"):
        state = md.simulate(step, state, 20)
    assert [explosion.system for explosion in md.explosions(state)] == [3]
    assert int(state.step) == 20


def test_blocks_are_filled_evenly():
    counts = np.array([10_000] + [10] * 1000 + [500] * 20)
    blocks = packed(counts, 4)
    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(counts)))
    filled = sorted(int(counts[some].sum()) for some in blocks)
    assert filled[-1] == 10_000
    assert filled[2] - filled[0] <= 10


def test_blocks_are_for_many_systems():
    assert fastest_blocks(np.array([4000]), 2) is None
    assert fastest_blocks(np.array([30] * 10), 2) is None
    assert fastest_blocks(np.array([30_000, *[10] * 100]), 2) is None
    many = fastest_blocks(np.full(1000, 48), 2)
    assert many is not None
    assert len(many) % 2 == 0
    assert 200 < max(len(some) * 48 for some in many) < 4000


def test_what_names_particles_is_not_divided():
    state = whole(STEPS["langevin"])
    assert can_be_divided(state)
    bond = HarmonicBond(state.particles.data.molecule, np.ones(1), np.ones(1))
    assert not can_be_divided(dataclasses.replace(state, potential=state.potential + bond))
