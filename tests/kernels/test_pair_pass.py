"""The kernel of the pair pass computes what the JAX code computes, and leaves all else to it."""

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase.build import bulk
from jax.sharding import Mesh

import instar
from instar import kernels
from instar.core.utils.jax import dataclass
from instar.dynamics import md
from instar.kernels.choice import by_platform
from instar.kernels.library import KERNELS, TARGETS, target
from instar.kernels.pair_pass import ENDINGS, FORMULAS
from instar.neighbors.images import FAR
from instar.potentials import (
    Buckingham,
    LennardJones,
    Morse,
    SoftSphere,
    WeeksChandlerAndersen,
    evaluate,
)
from instar.potentials.coulomb import ScreenedCoulomb
from instar.potentials.evaluation import Request
from instar.potentials.pair_kernel import by_kernel, has_kernel
from instar.potentials.pair_sum import PairTerm, _Columns, _pair_values, _sums
from instar.potentials.truncation import truncated

pytestmark = pytest.mark.usefixtures("quickly_compiled")

KINDS = (LennardJones, WeeksChandlerAndersen, Buckingham, Morse, SoftSphere, ScreenedCoulomb)
RANGES = {
    "epsilon": (0.01, 0.02),
    "sigma": (1.4, 1.6),
    "n": (9, 12),
    "A": (900, 1200),
    "rho": (0.2, 0.3),
    "C": (10, 20),
    "D": (0.2, 0.3),
    "a": (1.2, 1.4),
    "r0": (1.4, 1.6),
    "alpha": (0.1, 0.5),
}
TRUNCATION = {"plain": "truncate"}
LOOKUPS = {"one": (), "species": (3, 3), "system": (4,)}
IMAGES, SHAPE = 90, (2, 11, 37)
EVERYTHING = Request(True, True, True, True)


def term(kind, ending, lookup, rng):
    """A formula with random parameters, the same for each order of two species."""

    def values(low, high):
        drawn = rng.uniform(low, high, LOOKUPS[lookup])
        return jnp.asarray((drawn + drawn.T) / 2)

    names = [f.name for f in dataclasses.fields(kind)]
    formula = kind(**{n: values(*RANGES[n]) for n in names})
    cutoff = values(3.4, 3.6) if lookup == "system" else jnp.asarray(3.5)
    spread = jnp.broadcast_to(cutoff, LOOKUPS[lookup])
    inner = jnp.full(cutoff.shape, 2.5)
    formula = truncated(formula, TRUNCATION.get(ending, ending), spread, inner)
    return PairTerm(formula, cutoff)


def column(pair_term, lookup, charged, rng):
    """What images bring to a term, and the term that says so."""
    index = jnp.asarray(rng.integers(0, max(LOOKUPS[lookup] or (1,)), IMAGES), jnp.int32)
    strength = jnp.asarray(rng.uniform(-1, 1, IMAGES)) if charged else None
    species, system = (index if lookup == name else None for name in ("species", "system"))
    return (
        PairTerm(pair_term.formula, pair_term.cutoff, species, strength, system),
        _Columns(species, strength, system),
    )


def operands(cases, dtype, seed=0):
    """Points on a lattice that is shaken, whoever sees whom, and the terms of these cases."""
    rng = np.random.default_rng(seed)
    places = 1.3 * np.array([*itertools.product(range(5), repeat=3)])[: IMAGES - 1]
    places = np.concatenate([np.full((1, 3), FAR), places + rng.normal(0, 0.05, places.shape)])
    blocks, room, width = SHAPE
    rows = np.zeros((blocks, width), np.int32)
    rows.reshape(-1)[:70] = rng.permutation(np.arange(1, IMAGES))[:70]
    slots = rng.integers(1, IMAGES, (blocks, room, width)).astype(np.int32)
    slots = np.where((slots == rows[:, None]) | (rng.random(slots.shape) < 0.2), 0, slots)
    pairs = [column(term(*case[:3], rng), *case[2:], rng) for case in cases]
    terms, columns = zip(*pairs, strict=True)
    points = jnp.asarray(np.pad(places, ((0, 0), (0, 1))))
    everything = (terms, points, list(columns), jnp.asarray(rows), jnp.asarray(slots))
    return jax.tree.map(
        lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, everything
    )


def sums(request, given):
    """As `pair_sum` does it: by the kernel where there is one."""
    native = has_kernel(given[0], given[1].dtype)
    plain = functools.partial(_sums, request)
    kernel = functools.partial(by_kernel, request)
    return by_platform(kernel, plain, given) if native else plain(given)


def sums_of_magnitudes(given):
    """Σ |term| of forces, energies and virials of each row, the scale of rounding."""
    terms, points, columns, rows, slots = given
    points = points.T[:3]
    here = [jnp.where(rows > 0, p[rows], -FAR)[:, None] for p in points]
    apart = [h - p[slots] for h, p in zip(here, points, strict=True)]
    squared = apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2
    u, slope = jnp.zeros_like(squared), jnp.zeros_like(squared)
    for t, c in zip(terms, columns, strict=True):
        of_rows = rows[:, None]
        formula, cutoff = t.formula, t.cutoff
        if t.system is not None:
            formula, cutoff = jax.tree.map(lambda p: p[c.system[of_rows]], (formula, cutoff))  # noqa: B023
        species = None if c.species is None else c.species[of_rows]
        strength = None if c.strength is None else c.strength[of_rows]
        near = PairTerm(formula, cutoff)
        found = _pair_values(near, c, species, strength, slots, squared)
        u, slope = u + jnp.abs(found[0]), slope + jnp.abs(found[1])
    apart = [jnp.abs(d) for d in apart]
    pairs = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
    each = [*(2 * slope * d for d in apart), u / 2]
    each += [slope * apart[i] * apart[j] for i, j in pairs]
    return [jnp.sum(e, axis=1) for e in each]


def check_agreement(cases, dtype):
    with jax.enable_x64(dtype == np.float64):
        given = operands(cases, dtype)
        assert has_kernel(given[0], dtype) == kernels.status().used
        with jax.numpy_rank_promotion("allow"):
            scale = jax.jit(sums_of_magnitudes)(given)
        expected = jax.jit(lambda o: _sums(EVERYTHING, o))(given)
        found = jax.jit(lambda o: sums(EVERYTHING, o))(given)
        assert max(float(jnp.max(jnp.abs(e))) for e in expected) > 0
        bound = 1e-12 if dtype == np.float64 else 2e-6
        for f, e, s in zip(found, expected, scale, strict=True):
            assert np.all(np.abs(f - e) <= bound * s)


def lookup_of(number):
    return tuple(LOOKUPS)[number % len(LOOKUPS)]


LONG = pytest.mark.long


@pytest.mark.parametrize("kind", KINDS, ids=FORMULAS)
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=LONG)])
def test_kernel_and_jax_agree_on_all_endings_at_once(kind, dtype):
    cases = [
        (kind, ending, lookup_of(n + KINDS.index(kind)), n % 2 == 0)
        for n, ending in enumerate(ENDINGS)
    ]
    check_agreement(cases, dtype)


@LONG
@pytest.mark.parametrize("kind", KINDS, ids=FORMULAS)
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_and_jax_agree_on_each(kind, ending, lookup, dtype):
    check_agreement([(kind, ending, lookup, False)], dtype)


@pytest.mark.parametrize("ending", ["plain", "shift", "switch"])
@pytest.mark.parametrize("kind", [LennardJones, WeeksChandlerAndersen, Morse])
def test_forces_have_the_same_bits_whatever_else_is_asked_for(kind, ending):
    with jax.enable_x64(True):
        given = operands([(kind, ending, "one", False)], np.float64)
        alone, *others = (
            jax.jit(functools.partial(sums, Request(energy, True, virial)))(given)[:3]
            for energy in (False, True)
            for virial in (False, "trace", True)
        )
        assert np.abs(alone).max() > 0
        for found in others:
            np.testing.assert_array_equal(found, alone)


CASES = [(LennardJones, "shift", "species", False), (ScreenedCoulomb, "plain", "system", True)]


def backwards(energy, terms, points):
    return jax.grad(energy, (0, 1), allow_int=True)(terms, points)


def forwards(energy, terms, points):
    return jax.jvp(lambda p: energy(terms, p), (points,), (points,))


def twice(energy, terms, points):
    slope = jax.grad(lambda p: energy(terms, p))
    return jax.jvp(slope, (points,), (points,))


@pytest.mark.parametrize("of", [backwards, forwards, pytest.param(twice, marks=LONG)])
def test_derivatives_are_those_of_the_jax_code(of):
    with jax.enable_x64(True):
        terms, points, *rest = operands(CASES, np.float64)

        def derivative(way):
            def energy(terms, points):
                return jnp.sum(way(EVERYTHING, (terms, points, *rest))[3])

            return jax.jit(lambda: of(energy, terms, points))()

        found, expected = map(derivative, (sums, _sums))
        for f, e in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            if f.dtype != jax.dtypes.float0:
                np.testing.assert_allclose(f, e, rtol=1e-10, atol=1e-10 * np.abs(e).max())


def test_a_batch_and_a_loop_of_passes_are_passes_one_by_one():
    with jax.enable_x64(True):
        terms, points, columns, rows, slots = operands(CASES, np.float64)
        moved = jnp.stack([points * (1 + 0.01 * n) for n in range(3)])

        def stacked(points):
            given = (terms, points, columns, rows, slots)
            return jnp.stack(sums(EVERYTHING, given))

        alone = [jax.jit(stacked)(one) for one in moved]
        for together in (jax.vmap(stacked), lambda many: jax.lax.map(stacked, many)):
            np.testing.assert_array_equal(jax.jit(together)(moved), alone)


@dataclass
class Halved(LennardJones):
    """Half as deep: its equation is not that of its parent."""

    def energy(self, squared):
        return super().energy(squared) / 2


def test_who_changes_an_equation_does_not_get_the_old_one():
    with jax.enable_x64(True):
        known = operands([CASES[0]], np.float64)[0]
        other = PairTerm(Halved(jnp.asarray(0.01), jnp.asarray(1.5)), jnp.asarray(3.5))
        assert has_kernel(known, np.float64) == kernels.status().used
        assert not has_kernel((other,), np.float64)
        assert not has_kernel((*known, other), np.float64)
        with kernels.using(False):
            assert not has_kernel(known, np.float64)


def liquid():
    return bulk("Ar", "fcc", 5.4, cubic=True) * (3, 3, 3)


ARGON = {
    "type": "lennard_jones",
    "cutoff": 6.0,
    "parameters": {"Ar": {"epsilon": 0.0104, "sigma": 3.4}},
}


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_a_step_calls_kernels_on_a_cpu_and_nowhere_else(platform):
    state, step = instar.md_state(liquid(), ARGON), md.nve(0.1)
    allowed = [jax.export.DisabledSafetyCheck.custom_call(target(name)) for name in TARGETS]

    def lowered():
        told = jax.jit(lambda *given: step(*given))  # noqa: PLW0108 (a step has arrays, no hash)
        export = jax.export.export(told, platforms=[platform], disabled_checks=allowed)
        return export(jax.random.key(0), state).mlir_module()

    with jax.enable_x64(True):
        text = lowered()
        called = {name for name in KERNELS if f"instar_{name}" in text}
        used = platform == "cpu" and kernels.status().used
        in_a_step = {"image_points", "pair_pass", "neighbor_grid", "neighbor_search"}
        assert called == (in_a_step if used else set())
        with kernels.using(False):
            assert "instar_" not in lowered()


def test_devices_that_share_the_rows_find_the_same():
    mesh = Mesh(np.array(jax.devices()), ("rows",))
    with jax.enable_x64(True):
        found = []
        for devices in (None, mesh):
            state = instar.md_state(liquid(), ARGON)
            assert state.neighbors is not None
            listed = state.neighbors.of(
                state.particles, state.systems, 6.0, 0.5, mesh=devices
            ).updated(state.particles, state.systems)
            found.append(
                evaluate(state.potential, state.particles, state.systems, listed, virial=True)
            )
        for one, other in zip(*map(jax.tree.leaves, found), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
