"""Forces are −∇U, stress is the strain derivative, symmetries hold: for every potential."""

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from potentials.bonded import chain_in_one_piece
from potentials.catalog import BONDED, CASES, CUTOFF, images
from potentials.states import KINDS, Molecule, chain, molecule, point, results

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SEEDS = st.integers(0, 2**32 - 1)
STEP = 1e-5
EPS32 = np.finfo(np.float32).eps
ROWS, SYSTEMS = 160, 40
"""Room that every batch of these tests fits into, so that each potential is compiled once."""


def in_ci_and_long(*in_ci):
    """All potentials, of which `make test` takes these and `make test-long` every one."""
    long = pytest.mark.long
    return [name if name in in_ci else pytest.param(name, marks=long) for name in CASES]


def one_bonded_in_ci(names, *left):
    """These potentials; of bonds, angles and dihedrals `make test` takes their sum alone.

    It leaves others to `make test-long`, too.
    """
    long = pytest.mark.long
    return [pytest.param(n, marks=long) if n in (*BONDED, *left) else n for n in names]


def kinds_for(name):
    if not CASES[name].invariant:
        return ("open",)
    return KINDS[:5] if CASES[name].periodic else KINDS


def batch(name, rng, count=8):
    kinds = kinds_for(name)
    return [state(name, kinds[n % len(kinds)], rng) for n in range(count)]


def state(name, kind, rng, count=4):
    return chain(kind, rng) if CASES[name].bonded else molecule(kind, rng, count)


def split(values, molecules):
    ends = np.cumsum([len(m.labels) for m in molecules])
    return np.split(np.asarray(values)[: ends[-1]], ends[:-1])


def computed(name, molecules, dtype=np.float64):
    with jax.enable_x64(dtype == np.float64):
        found = results(point(CASES[name].config, molecules, dtype, ROWS, SYSTEMS))
        assert not np.any(found.forces[sum(len(m.labels) for m in molecules) :])
        return (
            np.asarray(found.energy, np.float64)[: len(molecules)],
            split(np.asarray(found.forces, np.float64), molecules),
            np.asarray(found.virial, np.float64)[: len(molecules)],
            split(np.asarray(found.particle_energies, np.float64), molecules),
        )


def expected(name, molecules):
    parts = [
        CASES[name].expected(m.positions, m.labels, m.charges, m.vectors, m.periodic)
        for m in molecules
    ]
    return tuple(zip(*parts, strict=True))


def rounded(m):
    """The state that single precision can hold: what it rounds off is not the potential's error."""
    positions, vectors = (a.astype(np.float32).astype(float) for a in (m.positions, m.vectors))
    return dataclasses.replace(m, positions=positions, vectors=vectors)


def near_the_cutoff(m):
    """Whether a pair is so close to the cutoff that a small change may carry it across."""
    apart = m.positions[:, None, None] - m.positions[None, :, None]
    r = np.linalg.norm(apart - images(m.vectors, m.periodic, CUTOFF), axis=-1)
    return bool(np.any(np.abs(r - CUTOFF) < 2e-3))


def molecules_off_the_cutoff(name, rng, count):
    kinds = kinds_for(name)
    found = []
    while len(found) < count:
        m = state(name, kinds[rng.integers(len(kinds))], rng)
        if not near_the_cutoff(m):
            found.append(m)
    return found


@pytest.mark.parametrize("name", one_bonded_in_ci(CASES), scope="module")
@settings(max_examples=4)
@given(seed=SEEDS)
def test_float64_equals_the_sum_over_all_images(name, seed):
    molecules = batch(name, np.random.default_rng(seed))
    energy, forces, virial, own = computed(name, molecules)
    expected_energy, expected_forces, expected_virial = expected(name, molecules)
    np.testing.assert_allclose(energy, expected_energy, rtol=1e-10, atol=1e-12)
    for found, right in zip(forces, expected_forces, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)
    for found, right, m in zip(virial, expected_virial, molecules, strict=True):
        volume = abs(np.linalg.det(m.vectors))
        # 1e-11 eV/Å³, and rounding of stresses that are themselves large
        scale = np.abs(right).max() / volume
        np.testing.assert_allclose(
            found / volume, right / volume, rtol=0, atol=1e-11 + 1e-12 * scale
        )
    np.testing.assert_allclose([e.sum() for e in own], energy, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    in_ci_and_long("lj_switch", "buckingham", "dsf", "wall", "sum", "periodic_dihedral"),
    scope="module",
)
@settings(max_examples=2)
@given(seed=SEEDS)
def test_float32_equals_it_to_its_own_precision(name, seed):
    molecules = [rounded(m) for m in batch(name, np.random.default_rng(seed))]
    energy, forces, _, own = computed(name, molecules, np.float32)
    expected_energy, expected_forces, _ = expected(name, molecules)
    # Energies of particles that cancel each other carry the error of the largest.
    scale = np.array([np.abs(e).sum() for e in own]) + np.abs(expected_energy)
    # Terms of chains are stiff: bringing two atoms of different cells together costs digits.
    coarse = np.array([EPS32 * np.abs(m.positions).max() * CASES[name].bonded for m in molecules])
    pulls = np.array([np.abs(f).sum() for f in expected_forces])
    assert np.all(np.abs(energy - expected_energy) <= 1e-5 * scale + 4 * pulls * coarse)
    for found, right, lost in zip(forces, expected_forces, coarse, strict=True):
        assert np.all(np.abs(found - right) <= 1e-4 * np.abs(right).max() + 1e-7 + 200 * lost)


@pytest.mark.parametrize("name", one_bonded_in_ci(CASES, "ewald"), scope="module")
@settings(max_examples=3)
@given(seed=SEEDS)
def test_forces_are_the_negative_gradient(name, seed):
    rng = np.random.default_rng(seed)
    originals = molecules_off_the_cutoff(name, rng, 4)
    direction = [rng.normal(size=m.positions.shape) for m in originals]
    moved = [
        dataclasses.replace(m, positions=m.positions + sign * STEP * d)
        for sign in (1, -1)
        for m, d in zip(originals, direction, strict=True)
    ]
    energy, forces, _, _ = computed(name, [*originals, *moved])
    slopes = (energy[4:8] - energy[8:]) / (2 * STEP)
    for slope, f, d in zip(slopes, forces, direction, strict=False):
        scale = np.abs(f).max() + 1e-3
        assert slope == pytest.approx(-np.sum(f * d), rel=1e-5, abs=1e-5 * scale)


@pytest.mark.parametrize("name", in_ci_and_long("sum"), scope="module")
def test_the_trace_alone_is_that_of_the_virial(name):
    molecules = batch(name, np.random.default_rng(0))
    with jax.enable_x64(True):
        whole, trace = (
            results(point(CASES[name].config, molecules, np.float64, ROWS, SYSTEMS), virial)
            for virial in (True, "trace")
        )
        np.testing.assert_allclose(
            *(np.trace(found.virial, axis1=1, axis2=2) for found in (trace, whole)), rtol=1e-11
        )
        np.testing.assert_array_equal(trace.forces, whole.forces)


@pytest.mark.parametrize(
    "name",
    one_bonded_in_ci((n for n in CASES if CASES[n].derivative_of_energy), "ewald"),
    scope="module",
)
@settings(max_examples=3)
@given(seed=SEEDS)
def test_the_virial_is_the_derivative_by_strain(name, seed):
    rng = np.random.default_rng(seed)
    originals = molecules_off_the_cutoff(name, rng, 4)
    strains = [rng.normal(size=(3, 3)) for _ in originals]
    strained = [
        dataclasses.replace(
            m,
            positions=m.positions @ (np.eye(3) + sign * STEP * e),
            vectors=m.vectors @ (np.eye(3) + sign * STEP * e),
        )
        for sign in (1, -1)
        for m, e in zip(originals, strains, strict=True)
    ]
    energy, _, virial, _ = computed(name, [*originals, *strained])
    slopes = (energy[4:8] - energy[8:]) / (2 * STEP)
    for slope, w, e in zip(slopes, virial, strains, strict=False):
        scale = np.abs(w).max() + 1e-3
        assert slope == pytest.approx(-np.sum(w * e), rel=1e-5, abs=1e-5 * scale)


def moved_in_space(m, rng):
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    if m.roles is not None:  # the energy of a chain may change in a mirror
        rotation *= np.sign(np.linalg.det(rotation))
    shift = rng.normal(0, 3, 3)
    return dataclasses.replace(
        m, positions=m.positions @ rotation + shift, vectors=m.vectors @ rotation
    ), rotation


def shuffled(m, rng):
    order = rng.permutation(len(m.labels))
    columns = ([column[k] for k in order] for column in (m.labels, m.charges))
    roles = None if m.roles is None else np.argsort(order)[m.roles]
    return Molecule(m.positions[order], *columns, m.vectors, m.periodic, roles), order


def wrapped_elsewhere(m, rng):
    cells = rng.integers(-3, 4, m.positions.shape) * m.periodic
    return dataclasses.replace(m, positions=m.positions + cells @ m.vectors)


def doubled(m):
    axis = int(np.argmax(m.periodic))
    vectors = m.vectors.copy()
    vectors[axis] *= 2
    positions = m.positions
    if m.roles is not None:  # else bonds would lead from one copy to the other
        positions = chain_in_one_piece(positions, m.vectors, m.periodic)
    return Molecule(
        np.concatenate([positions, positions + m.vectors[axis]]),
        m.labels * 2,
        m.charges * 2,
        vectors,
        m.periodic,
        None if m.roles is None else np.concatenate([m.roles, m.roles + len(m.roles)]),
    )


@pytest.mark.parametrize(
    "name", one_bonded_in_ci((n for n in CASES if CASES[n].invariant), "ewald"), scope="module"
)
@settings(max_examples=3)
@given(seed=SEEDS)
def test_symmetries_of_space_and_of_the_lattice(name, seed):
    rng = np.random.default_rng(seed)
    # Twice as long a cell has twice as many waves: for a fixed number of them, small cells.
    kinds = ("tiny",) * 4 if name == "ewald" else ("cube", "skewed", "tiny", "left_handed")
    originals = [state(name, kinds[k], rng, 3) for k in range(4)]
    turned = [moved_in_space(m, rng) for m in originals]
    mixed = [shuffled(m, rng) for m in originals]
    molecules = [
        *originals,
        *(m for m, _ in turned),
        *(m for m, _ in mixed),
        *(wrapped_elsewhere(m, rng) for m in originals),
        *(doubled(m) for m in originals),
    ]
    energy, forces, virial, _ = computed(name, molecules)
    first = energy[:4]
    scale = max(1, np.abs(energy).max())
    for others in (energy[4:8], energy[8:12], energy[12:16], energy[16:] / 2):
        np.testing.assert_allclose(others, first, rtol=1e-9, atol=1e-11 * scale)
    for k, (_, rotation) in enumerate(turned):
        largest = np.abs(forces[k]).max() + 1e-6
        np.testing.assert_allclose(forces[4 + k], forces[k] @ rotation, atol=1e-9 * largest)
        size = np.abs(virial[k]).max() + 1e-6
        np.testing.assert_allclose(
            virial[4 + k], rotation.T @ virial[k] @ rotation, atol=1e-9 * size
        )
        np.testing.assert_allclose(
            forces[8 + k], forces[k][mixed[k][1]], atol=1e-10 * largest, rtol=1e-10
        )
        np.testing.assert_allclose(forces[12 + k], forces[k], atol=1e-9 * largest)
        np.testing.assert_allclose(forces[k].sum(0), 0, atol=1e-11 * largest)


@pytest.mark.parametrize("name", ["lj_shift", "dsf", "trap", "bonded"], scope="module")
def test_a_system_alone_equals_itself_in_a_batch(name):
    molecules = batch(name, np.random.default_rng(7), 4)
    together = computed(name, molecules)
    for k, m in enumerate(molecules):
        alone = computed(name, [m])
        np.testing.assert_allclose(alone[0][0], together[0][k], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(alone[1][0], together[1][k], rtol=1e-12, atol=1e-13)
