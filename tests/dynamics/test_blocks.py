"""Blocks of systems: the same trajectories as in one state."""

import jax
import numpy as np
import pytest
from support import raises

from dynamics.systems import FS, LENNARD_JONES, PRESSURES, TEMPERATURES, argon, by_system
from instar.app.api.md_state import _cut, md_blocks, md_state
from instar.core.capacity import CapacityError
from instar.dynamics import md
from instar.dynamics.md.state import NEIGHBORS
from instar.observables import Series

pytestmark = pytest.mark.usefixtures("quickly_compiled")

STRUCTURES = [*argon()[:2], *argon()[:2], *argon()[1::-1]]
HOT = np.resize(TEMPERATURES, 6)
KNOBS = {"time_constant": 80 * FS, "pressure_time_constant": 500 * FS}


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def temperatures(state):
    return md.thermo(state).temperature


def listed(state):
    assert state.neighbors is not None
    return state.neighbors


@pytest.mark.long
@pytest.mark.parametrize(
    "step",
    [
        md.langevin(2 * FS, md.Ramp(HOT, 2 * HOT, 0, 20), 0.01 / FS),
        pytest.param(
            md.mtk(np.linspace(1, 2, 6) * FS, HOT, np.resize(PRESSURES, 6), **KNOBS),
            marks=pytest.mark.long,
        ),
    ],
    ids=["langevin", "mtk"],
)
def test_blocks_move_as_in_one_state(step):
    """With knobs of every system, ragged blocks, observers, and lists that have to grow."""
    given = {"temperature": HOT, "seed": 3, "skin": 0.3}
    one = step.begin(md_state(STRUCTURES, LENNARD_JONES, **given))
    one = md.simulate(step, one, 40, observers={"T": Series.of(temperatures, one, 10)}, every=4)

    blocks = md.begin_blocks(step, md_blocks(STRUCTURES, LENNARD_JONES, atoms=33, **given))
    assert [len(block.systems) for block in blocks] == [2, 2, 2]
    assert len({len(block.particles) for block in blocks}) == 1
    few = [NEIGHBORS.set(b, listed(b).resized(neighbors=1)) for b in blocks]
    grown = []
    for _ in range(2):
        few = md.simulate_blocks(
            step,
            few,
            20,
            observers=None if few[0].observed else lambda b: {"T": Series.of(temperatures, b, 10)},
            every=4,
            on_repair=lambda number, repair: grown.append((number, repair.step)),
        )
    assert grown
    rooms = [listed(block).sizes.neighbors for block in few]
    assert rooms[2] >= rooms[0] > 1  # what the first one grew, the next one has
    together = {stream: columns for block in few for stream, columns in by_system(block).items()}
    for stream, columns in by_system(one).items():
        for mine, other in zip(columns, together[stream], strict=True):
            np.testing.assert_allclose(other, mine, rtol=1e-9, atol=1e-9)
    rows = np.concatenate([block.observed["T"].result() for block in few], axis=1)
    np.testing.assert_allclose(rows, one.observed["T"].result(), rtol=1e-8)


def test_explosions_are_numbered_through_all_blocks():
    crowded = STRUCTURES[0].copy()
    crowded.positions[3] = crowded.positions[4] + 1e-3
    blocks = md_blocks([*STRUCTURES[:3], crowded], LENNARD_JONES, atoms=50, skin=0.5)
    with pytest.warns(md.ExplosionWarning, match="System 3 exploded at step"):
        blocks = md.simulate_blocks(md.nve(2 * FS), blocks, 20)
    assert [len(md.explosions(block)) for block in blocks] == [0, 1]


def test_structures_are_cut_evenly():
    assert _cut([64] * 1000, 2000) == [range(n, n + 25) for n in range(0, 1000, 25)]
    assert _cut([10] * 7, 20) == [range(7)[n : n + 1] for n in range(7)]
    assert _cut([10] * 7, 1000) == [range(7)]
    assert _cut([10] * 11, 60) == [range(6), range(6, 11)]


def test_mistakes_are_refused():
    state = md_state(STRUCTURES[:1], LENNARD_JONES)
    with raises(
        ValueError,
        "Two systems of these blocks have the same stream, so they would draw the same numbers.",
    ):
        md.simulate_blocks(md.nve(2 * FS), [state, state], 1)


@pytest.mark.long
def test_a_failed_check_of_one_block_ends_the_run():
    blocks = md_blocks(STRUCTURES, LENNARD_JONES, atoms=33)
    with raises(CapacityError, "Insufficient capacity: 4 > 3."):
        md.simulate_blocks(
            md.nve(2 * FS),
            blocks,
            20,
            observers=lambda b: {"T": Series.of(temperatures, b, 3)},
        )
