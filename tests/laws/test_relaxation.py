"""Laws of relaxation, over methods and cells."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dynamics.relaxing import CELLS, METHODS, SMOOTH, by_system, cluster, crystals, state_of

from instar.core.result import as_result_function
from instar.core.utils.precision import precision_of
from instar.dynamics import relax
from instar.dynamics.relax.cell import displaced, generalized_forces
from instar.dynamics.relax.coordinates import Coordinates
from instar.dynamics.relax.optimizer import evaluated

pytestmark = pytest.mark.usefixtures("quickly_compiled")

PRESSURES = np.array([0.0, 0.002, -0.0005])
TIGHT = {"force_tolerance": 1e-6, "stress_tolerance": 1e-7}


def options(cell):
    return {"cell": cell, **({} if cell == "fixed" else {"pressure": PRESSURES})}


def in_ci(*names):
    """Each case is a program or two: CI takes a few, `make test-long` all."""
    few = {("auto", "full"), ("fire", "fixed"), ("lbfgs", "fixed")}
    return [
        pytest.param(name, cell, marks=() if (name, cell) in few else pytest.mark.long)
        for name in names
        for cell in CELLS
    ]


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(("name", "cell"), in_ci(*METHODS))
def test_a_system_goes_the_way_that_it_goes_alone(name, cell):
    method = METHODS[name]()
    together = relax.relaxed(method, state_of(crystals(), **options(cell), **TIGHT), 12)
    alone = options(cell) | ({} if cell == "fixed" else {"pressure": PRESSURES})
    alone = relax.relaxed(method, state_of(crystals(), order=[1], **alone, **TIGHT), 12)
    turned = state_of(crystals(), order=[2, 1, 0], **options(cell), **TIGHT)
    turned = relax.relaxed(method, turned, 12)
    for other in (alone, turned):
        for found, right in zip(by_system(other)[1], by_system(together)[1], strict=True):
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "cell"), in_ci(*METHODS))
def test_a_pause_changes_no_bit(name, cell):
    method = METHODS[name]()
    whole = relax.relaxed(method, state_of(crystals(), **options(cell), **TIGHT), 15)
    state = state_of(crystals(), **options(cell), **TIGHT)
    for steps in (1, 6, 8):
        state = relax.relaxed(method, state, steps)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_another_method_goes_on_from_where_the_first_one_was():
    state = relax.relaxed(relax.auto(), state_of(crystals(), **TIGHT), 3)
    found = relax.relaxed(relax.fire(), state)
    assert relax.outcomes(found) == ["converged"] * 3
    before = np.asarray(state.systems.data.steps)
    assert (np.asarray(found.systems.data.steps) > before).all()


@pytest.mark.parametrize("cell", ["fixed", "isotropic", "full", "constant_volume"])
def test_what_auto_accepts_never_rises(cell):
    rattled = crystals(rattle=0.5, strain=0.08)
    state = state_of(rattled, **options(cell), **TIGHT)
    method, path = relax.auto(), []
    for _ in range(40):
        state = relax.relaxed(method, state, 1)
        path.append(np.asarray(state.enthalpy))
    rises = np.diff(path, axis=0)
    assert (rises < 1e-14 * np.abs(path[-1])).all()
    assert (path[0] - path[-1] > 0.02).all()
    refused = (rises == 0).sum()
    assert refused > 0
    known = state.systems.data
    np.testing.assert_array_equal(np.asarray(known.evaluations), np.asarray(known.steps) + 1)


@pytest.mark.parametrize("cell", ["isotropic", "full", "constant_volume"])
def test_generalized_forces_are_the_slope_of_the_enthalpy(cell):
    state = state_of(crystals(strain=0.06), cell=cell, pressure=PRESSURES)
    rng = np.random.default_rng(5)
    skewed = jnp.eye(3)[None] + jnp.asarray(rng.normal(0, 0.02, (3, 3, 3)))
    reference = jnp.einsum("sij,sjk->sik", state.systems.data.reference, skewed)
    if cell != "full":
        reference = state.systems.data.reference
    state = state.with_systems(reference=reference)
    scale = state.systems.data.atoms
    compute = jax.jit(as_result_function(evaluated))
    on_cell = allowed(jnp.asarray(rng.normal(size=(3, 3, 3))) * scale[:, None, None], cell)
    on_atoms = jnp.asarray(rng.normal(size=state.particles.data.positions.shape))
    step = Coordinates(on_atoms, on_cell)

    def enthalpy(size):
        moved = displaced(state, jax.tree.map(lambda part: size * part, step), scale)
        return np.asarray(compute(moved).value.enthalpy)

    forces = generalized_forces(compute(state).value, scale)
    slope = -np.asarray(state.sum_over(jnp.sum(forces.particles * step.particles, axis=1)))
    slope -= np.einsum("sij,sij->s", forces.cell, on_cell)
    numeric = (enthalpy(1e-5) - enthalpy(-1e-5)) / 2e-5
    assert (np.abs(slope) > 1e-3).all()
    np.testing.assert_allclose(numeric, slope, rtol=1e-6)


def allowed(matrix, cell):
    trace = jnp.trace(matrix, axis1=1, axis2=2)[:, None, None] / 3 * jnp.eye(3)[None]
    return {"isotropic": trace, "full": matrix, "constant_volume": matrix - trace}[cell]


@pytest.mark.parametrize("name", METHODS)
def test_a_turned_structure_goes_the_turned_way(name):
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    turned = crystals()
    for atoms in turned:
        atoms.set_cell(atoms.cell.array @ turn, scale_atoms=True)
    paths = [
        by_system(relax.relaxed(METHODS[name](), state_of(some, cell="full", **TIGHT), 10))
        for some in (crystals(), turned)
    ]
    for number in range(3):
        for straight, other in zip(paths[0][number], paths[1][number], strict=True):
            np.testing.assert_allclose(other, straight @ turn, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_a_supercell_has_the_same_minimum(name):
    small = crystals(rattle=0.05)[:1]
    done = [
        relax.relaxed(METHODS[name](), state_of(some, cell="full", pressure=0.001, **TIGHT))
        for some in (small, [small[0].repeat((1, 2, 1))])
    ]
    energies = [float(state.enthalpy[0]) for state in done]
    assert relax.outcomes(done[0]) == relax.outcomes(done[1]) == ["converged"]
    assert energies[1] == pytest.approx(2 * energies[0], abs=1e-9)


def test_lists_that_grow_while_a_cell_shrinks_by_a_fifth_change_no_bit():
    structure = crystals(rattle=0.02, strain=0.0)[0].repeat((2, 2, 2))
    structure.set_cell(structure.cell.array * 1.22, scale_atoms=True)
    small = state_of([structure], cell="isotropic", skin=0.3, pressure=0.002, **TIGHT)
    sizes = small.sizes
    large = small.resized({**sizes, **{n: 3 * sizes[n] for n in ("images", "neighbors", "words")}})
    repairs = []
    done = [
        relax.relaxed(relax.auto(), state, on_repair=repairs.append) for state in (small, large)
    ]
    assert repairs
    assert done[0].sizes["neighbors"] > sizes["neighbors"]
    shrunk = done[0].systems.data.cell.volume / small.systems.data.cell.volume
    assert float(shrunk[0]) < 0.8**3 * 1.1
    for name in ("particles", "systems", "optimizer"):
        one, other = (getattr(state, name) for state in done)
        one, other = (getattr(part, "data", part) for part in (one, other))
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", METHODS)
def test_one_that_explodes_is_kept_as_it_was_and_the_others_do_not_notice(name):
    method = METHODS[name]()
    calm = relax.relaxed(method, state_of(crystals(), **TIGHT), 8)
    state = relax.relaxed(method, state_of(crystals(), **TIGHT), 3)
    own = np.asarray(state.particles.data.system.indices)
    row = int(np.flatnonzero(own == 1)[2])
    before = by_system(state)[1]
    forces = state.particles.data.forces.at[row].set(np.nan)
    done = relax.relaxed(method, state.with_particles(forces=forces), 5)
    assert relax.outcomes(done)[1] == "frozen"
    assert 2 in np.flatnonzero(np.asarray(done.particles.data.suspect)[own == 1])
    for number in (0, 2):
        np.testing.assert_array_equal(by_system(done)[number][0], by_system(calm)[number][0])
    np.testing.assert_array_equal(by_system(done)[1][0], before[0])


def test_single_precision_relaxes_in_single_precision():
    with precision_of(np.zeros(1, np.float32)):
        state = state_of(crystals(), force_tolerance=1e-3, precision="float32")
        done = relax.relaxed(relax.auto(), state)
    assert done.dtype == np.float32
    assert set(relax.outcomes(done)) == {"converged"}


def test_a_second_potential_needs_no_second_way():
    trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    state = state_of([cluster(4), cluster(5)], [SMOOTH, trap], force_tolerance=1e-5)
    done = relax.relaxed(relax.auto(), state)
    assert set(relax.outcomes(done)) == {"converged"}


@pytest.mark.parametrize("memory", [0, -1, True])
@pytest.mark.parametrize("method", [relax.auto, relax.lbfgs])
def test_a_memory_is_a_whole_number_of_steps(method, memory):
    with pytest.raises(ValueError, match=f"remembers 1 step or more, not {memory}"):
        method(memory=memory)
