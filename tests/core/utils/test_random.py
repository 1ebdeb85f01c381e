"""Keys that the host makes are those of JAX, and so are the numbers drawn with them."""

import jax
import numpy as np
import pytest
from ase import Atoms

import instar
from instar.core.utils.random import folded, key_of
from instar.dynamics.streams import known_normals, normals


@pytest.mark.parametrize("seed", [-3, 0, 5, 2**32 - 1])
def test_a_key_is_that_of_jax(seed):
    assert key_of(seed) == jax.random.key(seed)


def test_all_bits_of_a_seed_count():
    seeds = (1, 2**32 + 1, 2**33 + 1, 2**63 + 1)
    assert len({tuple(jax.random.key_data(key_of(seed)).tolist()) for seed in seeds}) == len(seeds)
    assert key_of(2**40 + 3) == jax.random.fold_in(jax.random.key(3), 2**8)


@pytest.mark.parametrize("number", [0, 7, 2**32 - 1])
def test_a_number_is_folded_into_a_key_as_by_jax(number):
    key = jax.random.key(11)
    assert folded(key, number) == jax.random.fold_in(key, number)


def test_keys_of_other_kinds_are_folded_by_jax():
    key = jax.random.key(11, impl="rbg")
    assert folded(key, 3) == jax.random.fold_in(key, 3)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_numbers_drawn_on_the_host_are_those_drawn_in_compiled_code(precision):
    trap = {"type": "harmonic_trap", "stiffness": "0.1 eV/angstrom^2"}
    structures = [Atoms("Ar4", np.eye(4, 3)), Atoms("Ar32", np.ones((32, 3)))]
    state = instar.md_state(structures, trap, precision=precision, streams=[5, 3])
    data, stream = state.particles.data, np.asarray(state.systems.data.stream)
    columns = np.asarray(data.system.indices), np.asarray(data.number)
    with jax.enable_x64(precision == "float64"):
        key = jax.random.key(4)
        compiled = jax.jit(normals)(key, state)
    drawn = known_normals(key, stream, *columns, state.dtype)
    tight = 1e-13 if precision == "float64" else 1e-5
    np.testing.assert_allclose(drawn, compiled, rtol=0, atol=10 * tight)
    assert np.unique(drawn).size == drawn.size
