"""The kernels of particle-mesh Ewald compute what the JAX code computes."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ase import Atoms

import instar
from instar import kernels
from instar.dynamics import md
from instar.kernels import mesh as native
from instar.kernels.library import TARGETS, target
from instar.potentials.ewald import mesh as plain
from instar.potentials.ewald import mesh_kernel
from instar.potentials.ewald.mesh import Grid
from instar.potentials.ewald.splines import moduli_of, multiplicity_of, splines_of

pytestmark = pytest.mark.usefixtures("quickly_compiled")

needs_kernels = pytest.mark.skipif(
    not kernels.status().used, reason="there are no kernels to be compared"
)

LONG = pytest.mark.long
SHAPES = {4: (4, 10, 7), 6: (12, 6, 20), 8: (40, 16, 9)}
"""One slab or several; lines that are all end, and even and odd ones."""
CELLS = {
    "cubic": np.diag([8.0, 8.0, 8.0]),
    "box": np.diag([7.0, 9.0, 12.0]),
    "triclinic": np.array([[9.0, 0.0, 0.0], [3.5, 8.0, 0.0], [-2.5, 3.0, 10.0]]),
}
SYSTEMS, COUNT = 3, 64


def operands(cell, dtype, seed=0):
    """Charges of a few systems, some of which are nobody, in cells that differ a little."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-1, 2, (SYSTEMS, COUNT, 3))
    place[:, 0], place[:, 1] = 0, -1e-18  # the very beginning, and the very end
    charges = rng.normal(size=(SYSTEMS, COUNT))
    charges[1, 40:] = 0
    vectors = CELLS[cell] * (1 + 0.02 * np.arange(SYSTEMS))[:, None, None]
    inverse, volume = np.linalg.inv(vectors), np.abs(np.linalg.det(vectors))
    everything = (place, charges, inverse, volume, np.linspace(0.4, 0.5, SYSTEMS))
    return tuple(jnp.asarray(a, dtype) for a in everything)


def bound(dtype):
    return 1e-12 if dtype == np.float64 else 2e-6


def close(found, expected, scale, dtype):
    assert 0 < np.abs(expected).max() < np.inf
    assert np.all(np.abs(found - expected) <= bound(dtype) * scale)


def placed(place, shape, order):
    sizes = np.array(shape, place.dtype)
    turned = (place - jnp.floor(place)) * sizes[None]
    corner = jnp.minimum(jnp.floor(turned), sizes[None] - 1)
    return corner.astype(jnp.int32), splines_of(turned - corner, order)


ORDERS = pytest.mark.parametrize("order", SHAPES)
PRECISIONS = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@needs_kernels
@ORDERS
@PRECISIONS
def test_charges_are_spread_as_in_jax(order, dtype):
    with jax.enable_x64(dtype == np.float64):
        place, charges, *_ = operands("cubic", dtype)
        shape = SHAPES[order]
        grid = Grid(shape, order, None)
        sort = native.by_line(place, charges, shape)
        found = native.spread(place, charges, sort, shape, order)
        for n in range(SYSTEMS):
            first, splines = placed(place[n], shape, order)
            expected = plain._spread(first, splines, charges[n], grid)
            scale = plain._spread(first, splines, jnp.abs(charges[n]), grid)
            close(found[n], expected, scale, dtype)
            np.testing.assert_allclose(found[n].sum(), charges[n].sum(), atol=100 * bound(dtype))


@needs_kernels
@ORDERS
@PRECISIONS
def test_fields_are_read_as_in_jax(order, dtype):
    with jax.enable_x64(dtype == np.float64):
        place, charges, inverse, *_ = operands("triclinic", dtype)
        shape = SHAPES[order]
        grid = Grid(shape, order, None)
        noise = np.random.default_rng(order).normal(size=(SYSTEMS, *shape))
        field = jnp.asarray(noise, dtype)
        sort = native.by_line(place, charges, shape)
        found = native.read(place, charges, sort, field, inverse, order)
        for n in range(SYSTEMS):
            first, (value, slope) = placed(place[n], shape, order)
            turns = jnp.abs(inverse[n])[None] * np.array(shape, dtype)[None, None]

            def columns(values, slopes, field, charge, turns):
                potential, tilted = plain._read(first, (values, slopes), field, grid)  # noqa: B023
                each = jnp.einsum("pk,nxk->px", tilted, turns)
                return np.column_stack([charge * potential, -charge[:, None] * each])

            signed = inverse[n][None] * np.array(shape, dtype)[None, None]
            expected = columns(value, slope, field[n], charges[n], signed)
            magnitudes = map(jnp.abs, (value, slope, field[n], charges[n]))
            scale = np.abs(columns(*magnitudes, turns))
            close(found[n], expected, scale, dtype)


@needs_kernels
@pytest.mark.parametrize("cell", CELLS)
@ORDERS
@PRECISIONS
def test_waves_are_weighed_as_in_jax(cell, order, dtype):
    with jax.enable_x64(dtype == np.float64):
        _, _, inverse, volume, alpha = operands(cell, dtype)
        shape = SHAPES[order]
        half = (shape[0], shape[1], shape[2] // 2 + 1)
        rng = np.random.default_rng(order)
        parts = [jnp.asarray(rng.normal(size=(SYSTEMS, *half)), dtype) for _ in range(2)]
        density = jax.lax.complex(*parts)
        moduli = tuple(
            jnp.asarray(moduli_of(n, order)[:h], dtype) for n, h in zip(shape, half, strict=True)
        )
        answer, sums = native.convolve(density, moduli, inverse, volume, alpha, shape)
        often = jnp.asarray(multiplicity_of(shape), dtype)[None, None]
        for n in range(SYSTEMS):
            influence, k = plain._influence(shape, order, inverse[n], volume[n], alpha[n])
            real, imaginary = (np.prod(shape) * np.asarray(influence * p[n]) for p in parts)
            expected = real + 1j * imaginary
            close(answer[n], expected, np.abs(expected).max(), dtype)
            each = often * influence * (parts[0][n] ** 2 + parts[1][n] ** 2)
            total = np.asarray(sums[n].sum(axis=0))
            close(total[0], each.sum(), each.sum(), dtype)
            virial = plain._virial(each, k, alpha[n])
            xx, yy, zz, yz, xz, xy = total[1:]
            outer = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            close(total[0] / 2 * np.eye(3) - outer, virial, np.abs(outer).max(), dtype)


def of_group(order, devices=None):
    return lambda given: plain._of_all(Grid(SHAPES[order], order, devices), given)


@pytest.mark.parametrize("cell", CELLS)
@ORDERS
@PRECISIONS
def test_a_group_of_systems_is_as_in_jax(cell, order, dtype):
    with jax.enable_x64(dtype == np.float64):
        given = operands(cell, dtype)
        found = jax.jit(of_group(order))(given)
        with kernels.using(False):
            expected = jax.jit(of_group(order))(given)
        for one, other in zip(found, expected, strict=True):
            close(one, other, 30 * np.abs(other).max(), dtype)


@pytest.mark.parametrize("points", [1, 2 * 12 * 6 * 20])
def test_systems_are_the_same_alone_and_some_at_a_time(points, monkeypatch):
    monkeypatch.setattr(mesh_kernel, "POINTS_AT_ONCE", points)
    with jax.enable_x64(True):
        given = operands("triclinic", np.float64)
        together = jax.jit(of_group(6))(given)
        for n in range(SYSTEMS):
            alone = jax.jit(of_group(6))(tuple(a[n : n + 1] for a in given))
            for one, all_of_them in zip(alone, together, strict=True):
                np.testing.assert_allclose(one[0], all_of_them[n], rtol=1e-12, atol=1e-13)


def test_a_batch_and_a_loop_of_groups_are_groups_one_by_one():
    with jax.enable_x64(True):
        place, *rest = operands("box", np.float64)
        moved = jnp.stack([place, place + 0.01, place * 1.01])

        def group(place):
            return of_group(6)((place, *rest))

        alone = [jax.jit(group)(one) for one in moved]
        for together in (jax.vmap(group), lambda many: jax.lax.map(group, many)):
            for found, expected in zip(
                jax.jit(together)(moved), zip(*alone, strict=True), strict=True
            ):
                np.testing.assert_allclose(found, jnp.stack(expected), rtol=1e-12, atol=1e-13)


def backwards(energy, given):
    return jax.grad(energy)(given)


def forwards(energy, given):
    return jax.jvp(energy, (given,), (given,))


def twice(energy, given):
    return jax.jvp(jax.grad(energy), (given,), (given,))


@pytest.mark.parametrize("of", [backwards, forwards, pytest.param(twice, marks=LONG)])
def test_derivatives_are_those_of_the_jax_code(of):
    with jax.enable_x64(True):
        given = operands("triclinic", np.float64)

        def energy(given):
            energies, potential, forces, virial = of_group(4)(given)
            return energies.sum() + (potential**2).sum() + forces[..., 0].sum() + virial.sum()

        found = jax.jit(lambda g: of(energy, g))(given)
        with kernels.using(False):
            expected = jax.jit(lambda g: of(energy, g))(given)
        for f, e in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(f, e, rtol=1e-9, atol=1e-9 * np.abs(e).max())


def test_what_is_not_a_number_stays_in_its_system():
    with jax.enable_x64(True):
        place, *rest = operands("cubic", np.float64)
        for bad in (np.nan, np.inf, -np.inf):
            energy, _, forces, _ = jax.jit(of_group(6))((place.at[1, 7].set(bad), *rest))
            assert np.isnan(energy[1])
            assert np.isnan(forces[1]).any()
            assert np.isfinite(energy[::2]).all()
            assert np.isfinite(forces[::2]).all()


ALONE = """
import hashlib, os, sys
if sys.argv[1] == "one":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from instar.potentials.ewald.mesh import Grid, _of_all
rng = np.random.default_rng(0)
cell = np.diag([40.0, 42.0, 44.0])
given = (rng.random((1, 4096, 3)), rng.normal(size=(1, 4096)), np.linalg.inv(cell)[None],
         np.linalg.det(cell)[None], np.array([0.4]))
found = jax.jit(lambda g: _of_all(Grid((40, 42, 44), 6, None), g))(given)
print(hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in found)).hexdigest())
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a choice of cores")
def test_one_core_and_all_find_the_same_bits():
    told = [
        subprocess.run(
            [sys.executable, "-c", ALONE, cores], capture_output=True, text=True, check=True
        ).stdout
        for cores in ("one", "all")
    ]
    assert told[0] == told[1] != ""


def salt():
    side = np.arange(4)
    sites = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
    atoms = Atoms("NaCl" * 32, 2.82 * sites, cell=[11.28] * 3, pbc=True)
    atoms.set_initial_charges(1.0 - 2 * (sites.sum(axis=1) % 2))
    atoms.rattle(0.05, seed=0)
    return atoms


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_a_step_calls_the_kernels_on_a_cpu_and_nowhere_else(platform):
    with jax.enable_x64(True):
        coulomb = {"type": "coulomb", "accuracy": 1e-4, "method": "pme"}
        state, step = instar.md_state(salt(), coulomb), md.nve(0.1)
        allowed = [jax.export.DisabledSafetyCheck.custom_call(target(name)) for name in TARGETS]

        def lowered():
            told = jax.jit(lambda *given: step(*given))  # noqa: PLW0108 (a step has no hash)
            export = jax.export.export(told, platforms=[platform], disabled_checks=allowed)
            return export(jax.random.key(0), state).mlir_module()

        text = lowered()
        for name in ("sort", "spread", "convolve", "read"):
            called = f"instar_mesh_{name}_float64" in text
            assert called == (platform == "cpu" and kernels.status().used)
        with kernels.using(False):
            assert "instar_mesh" not in lowered()
